"""The points of each series, from all stored runs that are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from regress.errors import RegressError
from regress.flows.points import brief, is_counted
from regress.flows.workplace import INSTALLED
from regress.record.history import Point
from regress.record.metric import METRICS, metric
from regress.record.points import BenchmarkPoints, MetricPoint, RunPoints
from regress.store.points import read_points
from regress.store.runs import list_runs
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


def read(
    store: Path, cache: Path, wanted: Wanted, lineage: Collection[str] | None, *, in_git: bool
) -> Readings:
    """Read the runs of a store.

    Args:
        store: Where they lie.
        cache: Where what was made of them is kept.
        wanted: What is asked for.
        lineage: Commits that may give points; ``None``: all.
        in_git: Whether the project is in a repository: then uncommitted code is no part of its history.

    Raises:
        StoreError: The store cannot be read.
    """
    found = Readings()
    together: dict[str, dict[str, RunPoints]] = {}
    earliest = "" if wanted.since is None else f"{wanted.since.astimezone(timezone.utc):%Y%m%dT%H%M%SZ}"
    for folder in list_runs(store, wanted.suite):
        if folder.name < earliest:
            continue
        try:
            run = read_points(folder, cache, brief)
        except RegressError as error:
            found.unreadable.append(str(error))
            continue
        why = _why_not(run, lineage, in_git=in_git)
        if why:
            found.left_out[why] += 1
            continue
        together.setdefault(run.comparison, {})[run.role] = run
        _take(run, wanted, found)
    for roles in together.values():
        _pair(roles.get("base"), roles.get("head"), found)
    return found


def code_of(run: RunPoints) -> Code:
    """What a run is of."""
    if run.commit is not None:
        return "commits"
    return "installed" if run.benchmarks_from == INSTALLED else "uncommitted"


def _why_not(run: RunPoints, lineage: Collection[str] | None, *, in_git: bool) -> str:
    """Why a run gives no points; empty where it does."""
    if not run.complete:
        return INTERRUPTED
    if run.purpose != "comparison":
        return f"of a {run.purpose}"
    if in_git and code_of(run) == "uncommitted":
        return UNCOMMITTED
    elsewhere = lineage is not None and run.commit is not None and run.commit not in lineage
    return ELSEWHERE if elsewhere else ""


def _take(run: RunPoints, wanted: Wanted, found: Readings) -> None:
    given = False
    for each in run.benchmarks:
        found.labels.add(each.benchmark)
        found.platforms.add(each.platform)
        if not wanted.has_label(each.benchmark) or wanted.platform not in (None, each.platform):
            continue
        values = {value.metric: value for value in each.metrics}
        found.metrics |= values.keys()
        for name in wanted.metrics:
            if is_counted(name) == (each.mode == "any") and (name in values or each.failures):
                raw = _raw(run, each, values.get(name))
                found.raws.setdefault(_key(run, each, name), []).append(raw)
                given = True
    found.runs += given


def _key(run: RunPoints, each: BenchmarkPoints, metric: str) -> Key:
    return Key(
        suite=run.suite,
        benchmark=each.benchmark,
        metric=metric,
        platform=each.platform,
        mode=each.mode,
        code=code_of(run),
        environment=run.environment or "",
    )


def _raw(run: RunPoints, each: BenchmarkPoints, value: MetricPoint | None) -> Raw:
    return Raw(
        point=Point(
            run=run.run,
            commit=run.commit,
            subject=run.subject,
            started=run.started,
            value=None if value is None else value.value,
            launches=0 if value is None else value.launches,
            failures=each.failures,
            reason=each.reason,
        ),
        later=run.role == "head",
        conditions=each.conditions,
        agree=value is None or value.agree,
    )


def _pair(base: RunPoints | None, head: RunPoints | None, found: Readings) -> None:
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
