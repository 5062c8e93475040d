"""Both commits around a suspected change, measured again side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from regress.errors import RegressError
from regress.flows.compare import CompareRequest, compare, report
from regress.flows.machinery import Machinery
from regress.flows.progress import Progress
from regress.flows.readings import Pair
from regress.flows.undertaking import Means
from regress.flows.workplace import INSTALLED, Workplace
from regress.record.comparison import SuiteComparison
from regress.record.history import Change, History, Point, Remeasured, RemeasuredChange, Series
from regress.record.run import Manifest
from regress.spec.benchmark import Benchmark
from regress.spec.plan import read_plan
from regress.store.runs import find_run, read_manifest
from regress.verdict.history import reviewed, says


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A change that measuring again could decide."""

    series: Series
    """What it is in."""

    change: Change
    """What is suspected."""

    old: Point
    """The last measured one of the old level."""

    new: Point
    """The first one of the new level."""

    @property
    def pair(self) -> Pair:
        """What a comparison that decides it is of."""
        series = self.series
        return series.suite, self.old.commit or "", self.new.commit or "", series.environment or ""


def suspects(series: Series) -> Iterator[Suspect]:
    """Changes that are suspected under the newest conditions, between two commits."""
    newest = series.breaks[-1].index if series.breaks else 0
    for change in series.changes:
        old = next(point for point in reversed(series.points[: change.index]) if point.value is not None)
        new = series.points[change.index]
        apart = old.commit is not None and new.commit is not None and old.commit != new.commit
        if change.state == "suspected" and change.index > newest and apart and not series.ended:
            yield Suspect(series=series, change=change, old=old, new=new)


def with_comparisons(
    workplace: Workplace, series: Series, pairs: Mapping[Pair, Sequence[tuple[str, str]]]
) -> Series:
    """The series with what stored comparisons say of its suspected changes: the newest one of each."""
    said = {}
    for suspect in suspects(series):
        if suspect.pair not in pairs:
            continue
        base, head = pairs[suspect.pair][-1]
        try:
            answer = report(workplace, f"run:{base}", f"run:{head}")
        except RegressError as error:
            said[suspect.change.index] = _undecided(base, head, str(error))
        else:
            said[suspect.change.index] = of_comparison(answer, suspect)
    return reviewed(series, said)


def again(
    workplace: Workplace, answer: History, means: Means, progress: Progress, machinery: Machinery
) -> tuple[RemeasuredChange, ...]:
    """Compare the two commits around each suspected change; the runs are kept as any others.

    Raises:
        RequestError: A suite is no more, or a commit is not in the repository.
        LaunchError: The machinery failed; what was measured is kept.
        StoreError: A run cannot be kept.
    """
    groups: dict[Pair, list[Suspect]] = {}
    for series in answer.series:
        for suspect in suspects(series):
            groups.setdefault(suspect.pair, []).append(suspect)
    if not groups:
        progress.say("nothing is suspected that measuring two commits again could decide")
    found = []
    for place, (pair, group) in enumerate(groups.items(), start=1):
        suite, old, new, _ = pair
        labels = ", ".join(dict.fromkeys(suspect.series.benchmark for suspect in group))
        progress.say(f"{place} of {len(groups)}: {labels} at {old[:12]} and {new[:12]}")
        comparison = compare(workplace, _request(workplace, group, means), progress, machinery)
        found += [
            RemeasuredChange(
                suite=suite,
                benchmark=suspect.series.benchmark,
                metric=suspect.series.metric,
                platform=suspect.series.platform,
                commits=suspect.change.commits,
                said=of_comparison(comparison, suspect),
            )
            for suspect in group
        ]
    return tuple(found)


def of_comparison(answer: SuiteComparison, suspect: Suspect) -> Remeasured:
    """What a comparison of the two commits says of a change."""
    asked = (suspect.series.benchmark, suspect.series.metric)
    base, head = answer.base.run, answer.head.run
    if answer.platform != suspect.series.platform:
        return _undecided(base, head, f"it was measured on {answer.platform}")
    one = next((each for each in answer.comparisons if (each.benchmark, each.metric) == asked), None)
    if one is None:
        return _undecided(base, head, "it was not measured")
    said, why = says(one.verdict, suspect.change, one.low, one.high)
    return Remeasured(
        says=said,
        base=base,
        head=head,
        change=one.change,
        low=one.low,
        high=one.high,
        reason=": ".join(filter(None, (why, one.reason))) if why else "",
    )


def _undecided(base: str, head: str, reason: str) -> Remeasured:
    return Remeasured(says="undecided", base=base, head=head, change=None, low=None, high=None, reason=reason)


def _request(workplace: Workplace, group: Sequence[Suspect], means: Means) -> CompareRequest:
    """Ask for both commits and the benchmarks concerned, as the new one was measured."""
    suite, old, new, environment = group[0].pair
    manifest = read_manifest(find_run(workplace.project.store, group[0].new.run))
    at = f"@{environment}" if environment else ""
    prefix = "env:" if environment else "git:"
    return CompareRequest(
        base=f"{prefix}{old}{at}",
        head=f"{prefix}{new}{at}",
        suite=suite,
        stored=False,
        benchmarks_from=_source(workplace, manifest),
        means=means,
        only=_benchmarks(manifest, [suspect.series.benchmark for suspect in group]),
    )


def _source(workplace: Workplace, manifest: Manifest) -> str | None:
    """Where the benchmark files came from, if they can still be had; else those of the new commit."""
    source, repository = manifest.benchmarks_from, workplace.repository
    if source == INSTALLED:
        return source
    return source if repository is not None and repository.has(source) else None


def _benchmarks(manifest: Manifest, labels: Sequence[str]) -> tuple[Benchmark, ...]:
    return tuple(each for each in read_plan(manifest.plan).benchmarks if each.label in labels)
