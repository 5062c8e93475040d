"""What each stored run gives to a history: one value for each benchmark and metric."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from regress.errors import RegressError
from regress.flows.workplace import INSTALLED
from regress.record.history import Mode, Point
from regress.record.metric import METRICS, metric
from regress.record.run import Launch, Manifest, Measurement, Run
from regress.report.words import ended
from regress.store.runs import list_runs, read_run
from regress.verdict.readings import Key

GATES = tuple(each.name for each in METRICS.values() if each.role == "gate")
"""What is told of a benchmark where no metric is named: one question is asked once."""

INTERRUPTED = "not measured to the end"
UNCOMMITTED = "of uncommitted changes"
ELSEWHERE = "of commits that HEAD does not rest on"
"""Why a run gives no points."""

Code = Literal["commits", "uncommitted", "installed"]
"""See `regress.record.history.Series`."""

Pair = tuple[str, str, str, str]
"""Suite, commit of base, commit of head, and the environment of both."""


@dataclass(frozen=True, kw_only=True)
class Raw:
    """A point, before it is known where its commit stands."""

    point: Point
    """The point."""

    later: bool
    """See `Reading`."""

    conditions: tuple[tuple[str, str], ...]
    """See `Reading`."""

    agree: bool
    """See `Reading`."""


@dataclass(kw_only=True)
class Readings:
    """All that stored runs give."""

    raws: dict[Key, list[Raw]] = field(default_factory=dict)
    """The points of each series, oldest first."""

    runs: int = 0
    """Runs that gave points."""

    labels: set[str] = field(default_factory=set)
    """Every benchmark that was met, asked for or not."""

    metrics: set[str] = field(default_factory=set)
    """Every metric of the benchmarks that were asked for."""

    platforms: set[str] = field(default_factory=set)
    """Every platform that was met."""

    pairs: dict[Pair, list[tuple[str, str]]] = field(default_factory=dict)
    """Runs of base and head that were measured together, oldest first."""

    left_out: Counter[str] = field(default_factory=Counter)
    """Runs that gave no points, by why."""

    unreadable: list[str] = field(default_factory=list)
    """Runs that cannot be read, each with why."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is asked for; ``None`` is everything."""

    benchmark: str | None = None
    """Label, or name of all labels that begin with it."""

    metric: str | None = None
    """Name; ``None``: the gates."""

    suite: str | None = None
    """Name."""

    platform: str | None = None
    """Key."""

    since: datetime | None = None
    """Only runs begun then or later."""

    def has_label(self, label: str) -> bool:
        """Whether a benchmark is asked for."""
        return self.benchmark in (None, label, label.partition("[")[0])

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of those that are asked for."""
        return GATES if self.metric is None else (self.metric,)


def read(store: Path, wanted: Wanted, lineage: Collection[str] | None, *, in_git: bool) -> Readings:
    """Read the runs of a store.

    Args:
        store: Where they lie.
        wanted: What is asked for.
        lineage: Commits that may give points; ``None``: all.
        in_git: Whether the project is in a repository: then uncommitted code is no part of its history.

    Raises:
        StoreError: The store cannot be read.
    """
    found = Readings()
    together: dict[str, dict[str, Manifest]] = {}
    earliest = "" if wanted.since is None else f"{wanted.since.astimezone(timezone.utc):%Y%m%dT%H%M%SZ}"
    for folder in list_runs(store, wanted.suite):
        if folder.name < earliest:
            continue
        try:
            run = read_run(folder)
        except RegressError as error:
            found.unreadable.append(str(error))
            continue
        why = _why_not(run, lineage, in_git=in_git)
        if why:
            found.left_out[why] += 1
            continue
        together.setdefault(run.manifest.comparison, {})[run.manifest.role] = run.manifest
        _take(run, wanted, found)
    for roles in together.values():
        _pair(roles.get("base"), roles.get("head"), found)
    return found


def code_of(manifest: Manifest) -> Code:
    """What a run is of."""
    if manifest.commit is not None:
        return "commits"
    return "installed" if manifest.benchmarks_from == INSTALLED else "uncommitted"


def log_median(values: Sequence[float]) -> float:
    """The median on the log scale: between two middle values the geometric mean, where both have logs."""
    ordered = sorted(values)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    if low == high:
        return low
    return math.sqrt(low) * math.sqrt(high) if low > 0 else (low + high) / 2


def _why_not(run: Run, lineage: Collection[str] | None, *, in_git: bool) -> str:
    """Why a run gives no points; empty where it does."""
    if not run.complete:
        return INTERRUPTED
    if run.manifest.purpose != "comparison":
        return f"of a {run.manifest.purpose}"
    if in_git and code_of(run.manifest) == "uncommitted":
        return UNCOMMITTED
    commit = run.manifest.commit
    return ELSEWHERE if lineage is not None and commit is not None and commit not in lineage else ""


def _take(run: Run, wanted: Wanted, found: Readings) -> None:
    given = False
    mode: Mode = "alone" if all(launch.alone for launch in run.launches) else "resident"
    measured: dict[str, list[tuple[Launch, Measurement]]] = {}
    for launch in run.launches:
        for each in launch.measurements:
            measured.setdefault(each.benchmark, []).append((launch, each))
    for label, trials in measured.items():
        found.labels.add(label)
        platform = _platform(run.manifest, trials)
        found.platforms.add(platform)
        if not wanted.has_label(label) or wanted.platform not in (None, platform):
            continue
        found.metrics |= {sample.metric for _, each in trials for sample in each.samples}
        for name in wanted.metrics:
            counted = name in METRICS and METRICS[name].kind == "exact"
            tested = [trial for trial in trials if counted or trial[0].alone == (mode == "alone")]
            raw = _raw(run.manifest, name, tested)
            if raw is None:
                continue
            key = Key(
                suite=run.manifest.suite,
                benchmark=label,
                metric=name,
                platform=platform,
                mode="any" if counted else mode,
                code=code_of(run.manifest),
                environment=run.manifest.environment or "",
            )
            found.raws.setdefault(key, []).append(raw)
            given = True
    found.runs += given


def _platform(manifest: Manifest, trials: Sequence[tuple[Launch, Measurement]]) -> str:
    """Of the launches; a failure that did not tell it ran where the run did."""
    told = (launch.platform for launch, _ in trials)
    platform = next((each for each in told if each is not None), manifest.platform)
    return "unknown" if platform is None else platform.key


def _raw(manifest: Manifest, name: str, trials: Sequence[tuple[Launch, Measurement]]) -> Raw | None:
    """The point of a metric; ``None`` where nobody measured it and nothing failed."""
    values = [
        sample.value
        for _, each in trials
        for sample in each.samples
        if each.outcome.ok and sample.metric == name and sample.value is not None
    ]
    failed = [each.outcome for _, each in trials if not each.outcome.ok]
    if not values and not failed:
        return None
    reason = f"{ended(failed[0])}: {failed[0].message}".rstrip(": ") if failed else ""
    return Raw(
        point=Point(
            run=manifest.run,
            commit=manifest.commit,
            subject=manifest.subject,
            started=manifest.started,
            value=log_median(values) if values else None,
            launches=len(values),
            failures=len(failed),
            reason=reason,
        ),
        later=manifest.role == "head",
        conditions=_conditions(manifest, trials),
        agree=len(set(values)) < 2,
    )


def _conditions(
    manifest: Manifest, trials: Sequence[tuple[Launch, Measurement]]
) -> tuple[tuple[str, str], ...]:
    """Definition, workload and software of the first launch that ended well."""
    for launch, each in trials:
        if each.outcome.ok:
            workload: Mapping[str, str] = {} if each.workload is None else each.workload.fields()
            software = {} if launch.environment is None else launch.environment.fields()
            return (
                ("definition", each.definition[:12]),
                *workload.items(),
                *software.items(),
                ("regress", manifest.regress),
            )
    return ()


def _pair(base: Manifest | None, head: Manifest | None, found: Readings) -> None:
    if base is None or head is None or base.commit is None or head.commit is None:
        return
    if base.environment == head.environment:
        pair = (head.suite, base.commit, head.commit, head.environment or "")
        found.pairs.setdefault(pair, []).append((base.run, head.run))


def known_metric(name: str) -> bool:
    """Whether a metric has that name."""
    try:
        metric(name)
    except RegressError:
        return False
    return True


def told(counts: Mapping[str, int]) -> Iterator[str]:
    """Say how many runs gave no points, and why."""
    for why, number in counts.items():
        yield f"{number} {'run' if number == 1 else 'runs'} {why}"
