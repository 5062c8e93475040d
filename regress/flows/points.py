"""What a stored run gives to a history: one value for each benchmark and metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from regress.record.history import Mode
from regress.record.metric import METRICS
from regress.record.points import BenchmarkPoints, MetricPoint, RunPoints
from regress.record.run import Launch, Manifest, Measurement, Run
from regress.report.words import ended

Trial = tuple[Launch, Measurement]
"""A benchmark in one launch."""


def brief(run: Run) -> RunPoints:
    """A run in brief.

    Times are those of its resident launches where it has any: the launches alone before them warm
    caches, and there are few. What is counted is the same either way, and taken from all.
    """
    manifest = run.manifest
    mode: Mode = "alone" if all(launch.alone for launch in run.launches) else "resident"
    trials: dict[str, list[Trial]] = {}
    for launch in run.launches:
        for each in launch.measurements:
            trials.setdefault(each.benchmark, []).append((launch, each))
    return RunPoints(
        run=manifest.run,
        complete=run.complete,
        comparison=manifest.comparison,
        suite=manifest.suite,
        role=manifest.role,
        commit=manifest.commit,
        subject=manifest.subject,
        benchmarks_from=manifest.benchmarks_from,
        environment=manifest.environment,
        started=manifest.started,
        purpose=manifest.purpose,
        benchmarks=tuple(
            each for label, found in trials.items() for each in _benchmark(label, manifest, mode, found)
        ),
    )


def is_counted(metric: str) -> bool:
    """Whether it is no matter how the launch was."""
    return metric in METRICS and METRICS[metric].kind == "exact"


def log_median(values: Sequence[float]) -> float:
    """The median on the log scale: between two middle values the geometric mean, where both have logs."""
    ordered = sorted(values)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    if low == high:
        return low
    return math.sqrt(low) * math.sqrt(high) if low > 0 else (low + high) / 2


def _benchmark(
    label: str, manifest: Manifest, mode: Mode, trials: Sequence[Trial]
) -> Iterator[BenchmarkPoints]:
    """What is timed, in the mode of the run, and what is counted."""
    names = dict.fromkeys(sample.metric for _, each in trials for sample in each.samples)
    for way in (mode, "any"):
        tested = [trial for trial in trials if way == "any" or trial[0].alone == (mode == "alone")]
        failed = [each.outcome for _, each in tested if not each.outcome.ok]
        wanted = [name for name in names if is_counted(name) == (way == "any")]
        yield BenchmarkPoints(
            benchmark=label,
            platform=_platform(manifest, trials),
            mode=way,
            conditions=_conditions(manifest, tested),
            failures=len(failed),
            reason=f"{ended(failed[0])}: {failed[0].message}".rstrip(": ") if failed else "",
            metrics=tuple(_metrics(wanted, tested)),
        )


def _metrics(names: Sequence[str], trials: Sequence[Trial]) -> Iterator[MetricPoint]:
    for name in names:
        values = [
            sample.value
            for _, each in trials
            for sample in each.samples
            if each.outcome.ok and sample.metric == name and sample.value is not None
        ]
        if values:
            yield MetricPoint(
                metric=name, value=log_median(values), launches=len(values), agree=len(set(values)) == 1
            )


def _platform(manifest: Manifest, trials: Sequence[Trial]) -> str:
    """Of the launches; a failure that did not tell it ran where the run did."""
    told = (launch.platform for launch, _ in trials)
    platform = next((each for each in told if each is not None), manifest.platform)
    return "unknown" if platform is None else platform.key


def _conditions(manifest: Manifest, trials: Sequence[Trial]) -> tuple[tuple[str, str], ...]:
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
