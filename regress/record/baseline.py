"""A baseline: a run that was blessed for a suite and a platform, small enough to be read in a diff."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from regress.errors import RecordError
from regress.record.codec import decode, encode
from regress.record.environment import Environment
from regress.record.metric import Direction, metric
from regress.record.outcome import Outcome
from regress.record.platform import Platform
from regress.record.run import Launch, Manifest, Measurement, Run
from regress.record.sample import Sample
from regress.record.series import Workload, one_workload

SCHEMA = "regress.baseline/1"

_LINE = 110
"""Characters of an object or a list that stands on one line."""


@dataclass(frozen=True, kw_only=True)
class BlessedMetric:
    """One metric of one benchmark, in all launches."""

    metric: str
    """Name."""

    unit: str
    """Of the values."""

    direction: Direction
    """Which way is better."""

    median: float | None
    """For people; ``None`` where no launch has a value."""

    values: tuple[float | None, ...]
    """One for each launch of the benchmark; ``None`` where it was not measured."""


@dataclass(frozen=True, kw_only=True)
class BlessedBenchmark:
    """One benchmark in all launches in which it was measured."""

    label: str
    """For example ``fsdp[reshard=true,world=8]``."""

    definition: str
    """Hash of its definition."""

    workload: Workload | None
    """What was computed."""

    launches: tuple[int, ...]
    """Their places in `Baseline.launches`."""

    side_modules: tuple[int | None, ...]
    """For each of them; see `Measurement`."""

    metrics: tuple[BlessedMetric, ...]
    """In the order in which they were measured."""


@dataclass(frozen=True, kw_only=True)
class BlessedLaunch:
    """One launch, without what it measured."""

    block: int
    """The block it was measured in."""

    alone: bool
    """Whether the other side was not resident beside it."""

    world_size: int
    """Ranks."""

    attempt: int
    """Counts the launches of this block and world size."""

    started: str
    """UTC, ISO 8601."""

    seconds: float
    """From the request to the last rank's end."""

    foreign_cpu: float | None
    """Share of the host's cores that others used meanwhile."""

    platform: int | None
    """Place in `Baseline.platforms`."""

    environment: int | None
    """Place in `Baseline.environments`."""

    cores: tuple[str, ...] = ()
    """Cores that each rank was kept to."""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A run and why it was blessed, as its file tells."""

    suite: str
    """Name."""

    run: str
    """Identity of the run."""

    commit: str | None
    """Full hash; ``None`` when no revision was measured."""

    subject: str
    """First line of the commit's message; text from outside."""

    side: str
    """As the user wrote it."""

    measured: str
    """When the run was begun; UTC, ISO 8601."""

    blessed: str
    """UTC, ISO 8601."""

    reason: str
    """Why, in the user's words; may be empty."""

    replaces: str | None
    """Run of the baseline before this one."""

    platform: Platform
    """The host, with all its devices."""

    platforms: tuple[Platform, ...]
    """Of the launches."""

    environments: tuple[Environment, ...]
    """Of the launches."""

    benchmarks: tuple[BlessedBenchmark, ...]
    """In the order in which they were first measured."""

    launches: tuple[BlessedLaunch, ...]
    """As the run has them."""

    role: str
    """See `Manifest`, as all that follows."""

    comparison: str
    benchmarks_from: str
    regress: str
    plan: str


@dataclass(frozen=True, kw_only=True)
class Blessing:
    """What `regress baseline bless` did."""

    file: str
    """Where the baseline lies."""

    baseline: Baseline
    """It."""

    replaced: Baseline | None
    """The one that lay there before."""

    warnings: tuple[str, ...] = ()
    """What cannot be judged with it."""


def bless(
    run: Run, platform: Platform, *, blessed: str, reason: str = "", replaces: str | None = None
) -> Baseline:
    """Reduce a run to what a comparison needs of it.

    Left out are the steps behind each sample, the rank that a sample stands for, logs, and what
    names a machine rather than its kind: baselines are committed, often to public repositories.

    Raises:
        RecordError: A launch failed, a benchmark was not one and the same in all launches, or a
            metric is unknown: none of that can be written down here.
    """
    manifest = run.manifest
    launched = [None if launch.platform is None else _unnamed(launch.platform) for launch in run.launches]
    platforms = _distinct(launched)
    environments = _distinct(launch.environment for launch in run.launches)
    labels = dict.fromkeys(each.benchmark for launch in run.launches for each in launch.measurements)
    return Baseline(
        suite=manifest.suite,
        run=manifest.run,
        commit=manifest.commit,
        subject=manifest.subject,
        side=manifest.side,
        measured=manifest.started,
        blessed=blessed,
        reason=reason,
        replaces=replaces,
        platform=_unnamed(platform),
        platforms=tuple(platforms),
        environments=tuple(environments),
        benchmarks=tuple(_benchmark(run, label) for label in labels),
        launches=tuple(
            BlessedLaunch(
                block=launch.block,
                alone=launch.alone,
                world_size=launch.world_size,
                attempt=launch.attempt,
                started=launch.started,
                seconds=launch.seconds,
                foreign_cpu=launch.foreign_cpu,
                platform=None if host is None else platforms.index(host),
                environment=None if launch.environment is None else environments.index(launch.environment),
                cores=launch.cores,
            )
            for launch, host in zip(run.launches, launched, strict=True)
        ),
        role=manifest.role,
        comparison=manifest.comparison,
        benchmarks_from=manifest.benchmarks_from,
        regress=manifest.regress,
        plan=manifest.plan,
    )


def _unnamed(platform: Platform) -> Platform:
    """The kind of hardware, without the name of the host and the identities of its devices."""
    return replace(platform, host="", device_ids=())


def as_run(baseline: Baseline) -> Run:
    """Make a run of it again, which is judged as the run that was blessed would be.

    What a baseline does not hold is missing: steps, ranks of samples, logs, and the order of the
    benchmarks within a launch. Its folder is the file of the baseline.

    Raises:
        RecordError: The baseline contradicts itself.
    """
    _check(baseline)
    manifest = Manifest(
        run=baseline.run,
        comparison=baseline.comparison,
        suite=baseline.suite,
        side=baseline.side,
        role=baseline.role,
        commit=baseline.commit,
        subject=baseline.subject,
        benchmarks_from=baseline.benchmarks_from,
        started=baseline.measured,
        plan=baseline.plan,
        regress=baseline.regress,
        platform=baseline.platform,
    )
    launches = tuple(_launch(baseline, place) for place in range(len(baseline.launches)))
    return Run(
        manifest=manifest,
        launches=launches,
        folder=place_of(baseline.suite, baseline.platform),
        complete=True,
    )


def place_of(suite: str, platform: Platform) -> str:
    """Where the baseline of a suite and a platform lies in the project."""
    name = re.sub(r"[^a-z0-9._+-]+", "-", platform.key.lower()).lstrip(".")
    return f"baselines/{suite}/{name}.json"


def encode_baseline(baseline: Baseline) -> bytes:
    """Write a baseline as JSON for people: what a reviewer compares stands on one line.

    Raises:
        RecordError: It holds a number that is not finite.
    """
    return (_laid_out(json.loads(encode(SCHEMA, baseline)), "") + "\n").encode()


def decode_baseline(text: bytes) -> Baseline:
    """Read what `encode_baseline` wrote, whatever its layout.

    Raises:
        RecordError: It is no JSON, was damaged, has another schema, or contradicts itself.
    """
    baseline = decode(SCHEMA, Baseline, text)
    _check(baseline)
    return baseline


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(value for value in values if value is not None))


def _benchmark(run: Run, label: str) -> BlessedBenchmark:
    found = [
        (place, each)
        for place, launch in enumerate(run.launches)
        for each in launch.measurements
        if each.benchmark == label
    ]
    measurements = [each for _, each in found]
    first = measurements[0]
    if not all(each.outcome.ok for each in measurements):
        raise RecordError(f"{label} failed, and failures cannot be blessed")
    told = [each.workload for each in measurements if each.workload is not None]
    workload = one_workload(told)
    if any(each.definition != first.definition for each in measurements) or (told and workload is None):
        raise RecordError(f"{label} was not one and the same in all launches")
    names = dict.fromkeys(sample.metric for each in measurements for sample in each.samples)
    return BlessedBenchmark(
        label=label,
        definition=first.definition,
        workload=workload,
        launches=tuple(place for place, _ in found),
        side_modules=tuple(each.side_modules for each in measurements),
        metrics=tuple(_metric(name, measurements) for name in names),
    )


def _metric(name: str, measurements: Sequence[Measurement]) -> BlessedMetric:
    values = tuple(
        {sample.metric: sample.value for sample in each.samples}.get(name) for each in measurements
    )
    known = [value for value in values if value is not None]
    about = metric(name)
    return BlessedMetric(
        metric=name,
        unit=about.unit,
        direction=about.direction,
        median=median(known) if known else None,
        values=values,
    )


def _launch(baseline: Baseline, place: int) -> Launch:
    kept = baseline.launches[place]
    return Launch(
        run=baseline.run,
        block=kept.block,
        attempt=kept.attempt,
        world_size=kept.world_size,
        alone=kept.alone,
        started=kept.started,
        seconds=kept.seconds,
        platform=None if kept.platform is None else baseline.platforms[kept.platform],
        environment=None if kept.environment is None else baseline.environments[kept.environment],
        measurements=tuple(
            _measurement(each, each.launches.index(place))
            for each in baseline.benchmarks
            if place in each.launches
        ),
        foreign_cpu=kept.foreign_cpu,
        cores=kept.cores,
    )


def _measurement(kept: BlessedBenchmark, place: int) -> Measurement:
    return Measurement(
        benchmark=kept.label,
        definition=kept.definition,
        outcome=Outcome(kind="ok"),
        workload=kept.workload,
        samples=tuple(Sample(metric=each.metric, value=each.values[place]) for each in kept.metrics),
        side_modules=kept.side_modules[place],
    )


def _check(baseline: Baseline) -> None:
    """Refuse what `bless` cannot have written: a checksum does not keep out a wrong program."""
    for each in baseline.benchmarks:
        lengths = {len(each.launches), len(each.side_modules), *(len(m.values) for m in each.metrics)}
        known = range(len(baseline.launches))
        if len(lengths) > 1 or not all(place in known for place in each.launches):
            raise RecordError(f"{each.label!r:.80} does not fit the launches")
    for launch in baseline.launches:
        for place, kinds in (
            (launch.platform, baseline.platforms),
            (launch.environment, baseline.environments),
        ):
            if place is not None and place not in range(len(kinds)):
                raise RecordError(f"the launch of block {launch.block} does not fit the rest")


def _laid_out(value: Any, indent: str) -> str:
    flat = json.dumps(value, allow_nan=False)
    items = (
        list(value.items() if isinstance(value, dict) else value) if isinstance(value, dict | list) else []
    )
    row = isinstance(value, dict) and bool(value.keys() & {"values", "block"})
    if not items or row or (len(indent + flat) <= _LINE and "{" not in flat[1:]):
        return flat
    inner = indent + " "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(name)}: {_laid_out(item, inner)}" for name, item in items]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(f"{inner}{_laid_out(item, inner)}" for item in items) + f"\n{indent}]"
