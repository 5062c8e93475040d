"""`regress history`: how each benchmark came to be as it is, from stored runs.

One series for each benchmark, metric, platform and way of measuring; one value for each run. A
point stands where its commit does in the history of ``HEAD`` (else where that commit was first
measured), so that an old commit that is measured again, as base of a comparison, makes no step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from regress.errors import RequestError
from regress.flows.machinery import THIS_HOST, Machinery
from regress.flows.progress import Progress
from regress.flows.readings import Raw, Readings, Wanted, known_metric, read, told
from regress.flows.remeasured import again, with_comparisons
from regress.flows.undertaking import ORDINARY, Means
from regress.flows.workplace import Workplace
from regress.record.history import SCHEMA, STATES, History, Point, Series
from regress.spec.benchmark import alternatives
from regress.store.runs import list_runs
from regress.verdict.history import series_of
from regress.verdict.readings import Key, Reading

_HASH = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True, kw_only=True)
class HistoryRequest:
    """What the user asked for."""

    benchmark: str | None = None
    """Label, or the name before its bracket; ``None``: all."""

    metric: str | None = None
    """Name; ``None``: those that can fail a build."""

    suite: str | None = None
    """Name; ``None``: all."""

    platform: str | None = None
    """Key; ``None``: all."""

    since: datetime | None = None
    """Only what was measured from then on."""

    anchor: str | None = None
    """Revision that drift is told from; ``None``: the newest tag that was measured."""

    fail_on: frozenset[str] = frozenset()
    """States that fail: ``regressed``, ``drifted``."""

    confirm: bool = False
    """Whether to measure the two commits around each suspected change again."""

    means: Means = ORDINARY
    """How that is measured."""


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """The fixed point that drift is told from."""

    name: str
    """As people know it; empty where there is none."""

    commit: str | None
    """Full hash."""


def history(
    workplace: Workplace,
    request: HistoryRequest,
    progress: Progress,
    machinery: Machinery = THIS_HOST,
) -> History:
    """Tell what stored runs say of each series; measure again where that is asked for.

    Raises:
        RequestError: There is no such suite, benchmark, metric, platform or anchor.
        StoreError: The store cannot be read.
        LaunchError: The machinery failed; what was measured is kept.
    """
    answer = _told(workplace, request, progress)
    if not request.confirm:
        return answer
    measured = again(workplace, answer, request.means, progress, machinery)
    if not measured:
        return answer
    return replace(_told(workplace, request, progress), remeasured=measured)


def _told(workplace: Workplace, request: HistoryRequest, progress: Progress) -> History:
    repository = workplace.repository
    lineage = repository.history() if repository else None
    order = None if lineage is None else {commit: place for place, commit in enumerate(lineage)}
    wanted = Wanted(
        benchmark=request.benchmark,
        metric=request.metric,
        suite=request.suite,
        platform=request.platform,
        since=request.since,
    )
    _refuse_unknown_suite(workplace, request.suite)
    progress.say("reading the stored runs")
    found = read(workplace.project.store, workplace.cache, wanted, order, in_git=repository is not None)
    _refuse_unknown(request, found)
    anchor = _anchor(workplace, request.anchor, found)
    progress.say("looking for changes")
    series = [with_comparisons(workplace, each, found.pairs) for each in _series(found, order, anchor)]
    return _answer(request, found, anchor, sorted(series, key=_alarm))


def _series(found: Readings, order: Mapping[str, int] | None, anchor: Anchor) -> Iterator[Series]:
    raws = {
        key: each
        for key, each in found.raws.items()
        if key.metric == "step_s" or any(raw.point.value is not None for raw in each)
    }
    ranks = _ranks(found)
    last = None if order is None or anchor.commit is None else order.get(anchor.commit)
    for key, each in raws.items():
        by_git = order is not None and key.code == "commits"
        readings = [
            _reading(raw, _place(raw.point, order, ranks), anchor, last if by_git else None) for raw in each
        ]
        yield series_of(key, readings, by_git=by_git, ended=_ended(key, raws))


def _place(point: Point, order: Mapping[str, int] | None, ranks: Mapping[str, int]) -> int:
    """Where a commit stands in git's order, else in that of first measurements."""
    if order is not None and point.commit is not None and point.commit in order:
        return order[point.commit]
    return ranks[point.commit or point.run]


def _reading(raw: Raw, place: int, anchor: Anchor, last: int | None) -> Reading:
    """A point in its place; ``last`` is that of the anchor, where places are git's."""
    commit = raw.point.commit
    at_it = anchor.commit is not None and commit == anchor.commit
    return Reading(
        point=raw.point,
        place=place,
        later=raw.later,
        conditions=raw.conditions,
        agree=raw.agree,
        to_anchor=at_it or (last is not None and place <= last),
    )


def _ranks(found: Readings) -> dict[str, int]:
    """Where each commit, else each run, was first measured among all."""
    raws = sorted(
        (raw for each in found.raws.values() for raw in each),
        key=lambda raw: (raw.point.started, raw.later),
    )
    ranks: dict[str, int] = {}
    for raw in raws:
        ranks.setdefault(raw.point.commit or raw.point.run, len(ranks))
    return ranks


def _ended(key: Key, raws: Mapping[Key, Sequence[Raw]]) -> str:
    """The platform that went on with a series after its last point; empty where none did."""
    last = max(raw.point.started for raw in raws[key])
    later = {
        max(raw.point.started for raw in each): other.platform
        for other, each in raws.items()
        if replace(other, platform=key.platform) == key and min(raw.point.started for raw in each) > last
    }
    return later[max(later)] if later else ""


def _anchor(workplace: Workplace, asked: str | None, found: Readings) -> Anchor:
    """The point that drift is told from.

    Raises:
        RequestError: There is no such revision, or nothing was measured at it or before.
    """
    repository = workplace.repository
    measured = {raw.point.commit for each in found.raws.values() for raw in each} - {None}
    if asked is None:
        tags = repository.tags() if repository else ()
        name, commit = next((tag for tag in tags if tag[1] in measured), ("", None))
        return Anchor(name=name, commit=commit)
    if repository is not None:
        return Anchor(name=asked, commit=repository.resolve(asked).commit)
    commits = [each for each in measured if each and _HASH.fullmatch(asked) and each.startswith(asked)]
    if len(commits) != 1:
        raise RequestError(f"no commit {asked!r:.80} was measured; `regress list` names those that were")
    return Anchor(name=asked, commit=commits[0])


def _answer(request: HistoryRequest, found: Readings, anchor: Anchor, series: Sequence[Series]) -> History:
    """The answer as a whole.

    Raises:
        RequestError: The anchor that was asked for is before all that was measured.
    """
    if request.anchor is not None and series and not any(each.anchor is not None for each in series):
        raise RequestError(
            f"nothing was measured at {request.anchor!r:.80} or before it under the newest conditions; "
            f"measure it, with `regress run --side`, or name a later anchor"
        )
    current = [each for each in series if not each.ended]
    measured = any(point.value is not None for each in series for point in each.points)
    return History(
        schema=SCHEMA,
        verdict=min((each.state for each in current), key=STATES.index) if measured else "unmeasured",
        exit_status=_status(request.fail_on, current, measured=measured, unreadable=bool(found.unreadable)),
        anchor=anchor.name,
        runs=found.runs,
        series=tuple(series),
        remeasured=(),
        left_out=tuple(told(found.left_out)),
        unreadable=tuple(found.unreadable),
    )


def _status(fail_on: frozenset[str], current: Sequence[Series], *, measured: bool, unreadable: bool) -> int:
    """1 where something failed that was asked for, 3 where nothing can be told, else 0."""
    failed = any(each.state in ("broken", "regressed") for each in current)
    drifted = any(each.drift is not None for each in current)
    if ("regressed" in fail_on and failed) or ("drifted" in fail_on and drifted):
        return 1
    return 3 if not measured or (fail_on and unreadable) else 0


def _alarm(series: Series) -> tuple[bool, int, float, str, str, str]:
    """Sort key: what ended last, then by state, then by how much worse is sure."""
    sure = [change.low or 0.0 for change in series.changes if change.open and change.worse]
    sure += [series.drift.low] if series.drift else []
    return (
        bool(series.ended),
        STATES.index(series.state),
        -max(sure, default=0.0),
        series.benchmark,
        series.metric,
        series.platform,
    )


def _refuse_unknown_suite(workplace: Workplace, suite: str | None) -> None:
    names = {folder.parent.name for folder in list_runs(workplace.project.store)}
    if suite is not None and names and suite not in names:
        raise RequestError(f"no run of suite {suite!r:.80} is stored{alternatives(suite, names)}")


def _refuse_unknown(request: HistoryRequest, found: Readings) -> None:
    """Refuse names that mean nothing, where there is anything that they could mean."""
    if request.metric is not None and not known_metric(request.metric):
        raise RequestError(
            f"unknown metric {request.metric!r:.80}{alternatives(request.metric, found.metrics)}"
        )
    if not found.labels:
        return
    names = found.labels | {label.partition("[")[0] for label in found.labels}
    if request.benchmark is not None and request.benchmark not in names:
        raise RequestError(
            f"no stored run has a benchmark {request.benchmark!r:.80}{alternatives(request.benchmark, names)}"
        )
    if request.platform is not None and request.platform not in found.platforms:
        raise RequestError(
            f"no stored run is of platform {request.platform!r:.80}"
            f"{alternatives(request.platform, found.platforms)}"
        )
    if request.metric is not None and found.metrics and request.metric not in found.metrics:
        raise RequestError(
            f"{request.metric!r:.80} was not measured{alternatives(request.metric, found.metrics)}"
        )
