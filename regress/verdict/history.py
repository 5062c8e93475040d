"""One series of a history: where its level moved, where conditions changed, and what it comes to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from regress.errors import StatsError
from regress.record.comparison import Difference
from regress.record.history import (
    STATES,
    Break,
    Change,
    Drifted,
    Level,
    Remeasured,
    Says,
    Series,
    State,
)
from regress.record.metric import Kind, Metric, metric
from regress.stats import drift as drifts
from regress.stats import series as steps
from regress.stats.series import SUSPECTED
from regress.verdict.readings import Key, Reading, ordered_by_conditions

FEWEST = SUSPECTED.shortest + SUSPECTED.newest
"""Points from which on a step of a noisy metric can be told."""

KEPT = 0.5
"""Share of a change that the newest level must keep for it to be open."""


def series_of(key: Key, readings: Sequence[Reading], *, by_git: bool, ended: str = "") -> Series:
    """Judge a series.

    Args:
        key: What its points have in common.
        readings: In any order, at least one.
        by_git: Whether places count the commits of a git history.
        ended: See `Series`.
    """
    about = metric(key.metric)
    ordered, starts = ordered_by_conditions(readings)
    kind: Kind = about.kind
    if kind == "exact" and not all(reading.agree for reading in ordered):
        kind = "timed"
    newest = starts[-1] if starts else 0
    anchor = max((i for i in range(newest, len(ordered)) if ordered[i].to_anchor), default=None)
    series = Series(
        suite=key.suite,
        benchmark=key.benchmark,
        metric=key.metric,
        unit=about.unit,
        direction=about.direction,
        kind=kind,
        platform=key.platform,
        mode=key.mode,
        code=key.code,
        environment=key.environment or None,
        state="steady",
        reason="",
        ended=ended,
        points=tuple(reading.point for reading in ordered),
        levels=(),
        changes=(),
        breaks=(),
        anchor=anchor,
        drift=None,
    )
    try:
        series = _judged(series, about, ordered, starts, by_git=by_git)
    except StatsError as error:
        series = replace(series, reason=str(error), state="short")
    return with_state(series)


def reviewed(series: Series, said: Mapping[int, Remeasured]) -> Series:
    """The series with what measuring again says of its suspected changes.

    Args:
        series: As it was judged.
        said: By index of the change.
    """
    changes = tuple(_reviewed(change, said.get(change.index)) for change in series.changes)
    return with_state(replace(series, changes=changes))


def with_state(series: Series) -> Series:
    """The series with the state that its changes, its drift and its newest run come to."""
    return replace(series, state=min(_states(series), key=STATES.index))


def says(verdict: str | None, change: Change, low: float | None, high: float | None) -> tuple[Says, str]:
    """What a comparison of the two commits around a change says of it, and why it says nothing.

    Args:
        verdict: Of the comparison; ``None`` where the metric is only shown.
        change: What was suspected.
        low: Lower end of the interval of the comparison's change, positive is worse.
        high: Upper end.

    Returns:
        ``confirmed``, ``refuted`` or ``undecided``, and a reason for the last one.
    """
    if verdict in (("regressed", "broken") if change.worse else ("improved",)):
        return "confirmed", ""
    if change.change is not None and low is not None and high is not None:
        half = change.change * KEPT
        if high < half if change.worse else low > half:
            return "refuted", ""
    return "undecided", verdict or "the metric is only shown"


def _reviewed(change: Change, said: Remeasured | None) -> Change:
    if said is None:
        return change
    state = change.state if said.says == "undecided" else said.says
    return replace(change, state="confirmed" if change.state == "confirmed" else state, remeasured=said)


def _states(series: Series) -> list[State]:
    newest = max(series.points, key=lambda point: point.started)
    found: list[State] = ["steady"]
    if newest.value is None and newest.failures:
        found.append("broken")
    if series.drift is not None:
        found.append("drifted")
    if series.reason:
        found.append("short")
    for change in series.changes:
        if change.open and change.worse and change.state != "refuted":
            found.append("regressed" if change.state == "confirmed" else "suspected")
        if change.open and not change.worse and change.state == "confirmed":
            found.append("improved")
    return found


def _judged(
    series: Series, about: Metric, ordered: Sequence[Reading], starts: Sequence[int], *, by_git: bool
) -> Series:
    """The series with all that its values say.

    Raises:
        StatsError: The values cannot be judged.
    """
    values = [reading.point.value for reading in ordered]
    found = (
        _exact_steps(values, about, starts)
        if series.kind == "exact"
        else steps.change_points(values, direction=about.direction, breaks=starts)
    )
    edges = sorted({*starts, *(point.index for point in found)})
    levels = tuple(
        Level(start=level.start, end=level.end, median=level.median) for level in steps.levels(values, edges)
    )
    newest = starts[-1] if starts else 0
    drift = None
    if series.anchor is not None and series.kind != "exact":
        drift = drifts.drift(values[newest:], anchor=series.anchor - newest, direction=about.direction)
    measured = sum(value is not None for value in values[newest:])
    least = 1 if series.kind == "exact" else FEWEST
    fresh = " under the newest conditions" if starts else ""
    return replace(
        series,
        levels=levels,
        changes=tuple(_change(point, about, ordered, levels, newest, by_git) for point in found),
        breaks=tuple(_break(start, ordered, levels) for start in starts),
        drift=None if drift is None else _drifted(drift, newest),
        reason="" if measured >= least else f"{measured} of {least} points that tell a step{fresh}",
    )


def _exact_steps(
    values: Sequence[float | None], about: Metric, starts: Sequence[int]
) -> list[steps.ChangePoint]:
    """Every change of a metric without noise, sure at once."""
    found = []
    for start, end in pairwise((0, *starts, len(values))):
        measured = [i for i in range(start, end) if values[i] is not None]
        for old, new in pairwise(measured):
            if values[old] != values[new]:
                change = _worsening(values[old], values[new], about)
                found.append(
                    steps.ChangePoint(index=new, change=change, low=change, high=change, state="confirmed")
                )
    return found


def _worsening(old: float | None, new: float | None, about: Metric) -> float:
    """How much worse, a fraction of the old value; infinite where that is 0."""
    if old is None or new is None or old == new:
        return 0.0
    sign = 1.0 if about.direction == "lower" else -1.0
    return sign * ((new - old) / old if old else math.inf)


def _change(
    point: steps.ChangePoint,
    about: Metric,
    ordered: Sequence[Reading],
    levels: Sequence[Level],
    newest: int,
    by_git: bool,
) -> Change:
    place = next(i for i, level in enumerate(levels) if level.start == point.index)
    before, after, last = levels[place - 1].median, levels[place].median, levels[-1].median
    old = next(each for each in reversed(ordered[: point.index]) if each.point.value is not None)
    new = ordered[point.index]
    commits = (old.point.commit, new.point.commit)
    kept = abs(_log_move(before, last)) >= KEPT * abs(_log_move(before, after))
    same = _log_move(before, last) * _log_move(before, after) > 0
    return Change(
        index=point.index,
        commits=f"{commits[0][:12]}..{commits[1][:12]}" if commits[0] and commits[1] else "",
        distance=new.place - old.place if by_git else 0 if commits[0] == commits[1] else None,
        subject=new.point.subject,
        started=new.point.started,
        before=before,
        after=after,
        change=_finite(point.change),
        low=_finite(point.low),
        high=_finite(point.high),
        worse=point.change > 0 if point.change else _worsening(before, after, about) > 0,
        state=point.state,
        open=point.index > newest and kept and same,
    )


def _log_move(old: float | None, new: float | None) -> float:
    """From one level to another, on the log scale; from 0 it is infinite."""
    if old is None or new is None or old == new:
        return 0.0
    if old == 0 or new == 0:
        return math.inf if old == 0 else -math.inf
    return math.log(new / old)


def _break(start: int, ordered: Sequence[Reading], levels: Sequence[Level]) -> Break:
    old, new = dict(ordered[start - 1].conditions), dict(ordered[start].conditions)
    place = next(i for i, level in enumerate(levels) if level.start == start)
    move = _log_move(levels[place - 1].median, levels[place].median)
    known = levels[place - 1].median is not None and levels[place].median is not None
    return Break(
        index=start,
        started=ordered[start].point.started,
        differences=tuple(
            Difference(field=field, base=old.get(field, ""), head=new.get(field, ""))
            for field in dict.fromkeys((*old, *new))
            if old.get(field) != new.get(field)
        ),
        change=math.expm1(move) if known and math.isfinite(move) else None,
    )


def _drifted(drift: drifts.Drift, newest: int) -> Drifted:
    return Drifted(
        index=drift.anchor + newest, change=drift.change, low=drift.low, high=drift.high, p=drift.p
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
