"""Change points of a history: where the level of a series moved, by how much, and how sure that is.

A step is `suspected` from its third point on, and `confirmed` when the levels on both sides
last and are far enough apart: eight new points at the end, seven elsewhere. docs/method.md
has the error rates.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regress.errors import RequestError, StatsError
from regress.stats.interval import Direction, as_fraction, t_quantile
from regress.stats.segments import Rules, Segmentation, segmentation
from regress.stats.trace import PRIOR, REACH, Trace, trace

State = Literal["suspected", "confirmed"]
"""``suspected`` may be noise, or is small beside what the series does; ``confirmed`` stands."""

CONFIDENCE = 0.9
"""Of the interval of a change."""

SUSPECTED = Rules(shortest=5, newest=3, penalty=3.0, young_penalty=3.0, z=4.0, min_change=0.005, share=0.0)
"""What makes a step worth a word."""

CONFIRMED = Rules(shortest=7, newest=8, penalty=6.5, young_penalty=3.0, z=4.75, min_change=0.005, share=0.25)
"""What makes a step stand. Chosen on labelled series; neighbouring values do as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """One step of the level; changes are fractions of the old level, positive is worse."""

    index: int
    """The first point of the new level, counted in the values that were given."""

    change: float
    """New against old level near the step; infinite where the old level is zero."""

    low: float
    """Lower end of the 90 % interval of ``change``."""

    high: float
    """Upper end."""

    state: State
    """How sure it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A stretch of a series between two boundaries."""

    start: int
    """Its first point."""

    end: int
    """The point after its last."""

    median: float | None
    """Of its values, in their unit; ``None`` where it holds none."""


def change_points(
    values: Sequence[float | None] | NDArray[np.float64],
    *,
    direction: Direction = "lower",
    min_change: float = 0.005,
    share: float = CONFIRMED.share,
    breaks: Sequence[int] = (),
) -> tuple[ChangePoint, ...]:
    """Find the steps in the level of a history: one value per commit, in their order.

    Args:
        values: Not negative, in any one unit; ``None`` and NaN are gaps.
        direction: Which way is better, ``"lower"`` or ``"higher"``.
        min_change: Smallest step worth a word, a fraction of the old level.
        share: A step under 2 % is confirmed only if it is at least this share of what the
            series spans around it, from its 5th to its 95th percentile; otherwise it stays
            suspected. 0 asks for nothing.
        breaks: Points at which another platform begins. Levels are not compared across one,
            and no change is reported there.

    Returns:
        In the order of their index.

    Raises:
        StatsError: A value is infinite, negative or no number.
        RequestError: An argument is out of its range.
    """
    if not 0 <= min_change < 1:
        raise RequestError(f"min_change is {min_change!r}; it is a fraction in [0, 1), 0.01 for 1 %")
    if not 0 <= share <= 1:
        raise RequestError(f"share is {share!r}; it is a fraction in [0, 1], 0.25 for a quarter")
    suspected = replace(SUSPECTED, min_change=min_change)
    confirmed = replace(CONFIRMED, min_change=min_change, share=share)
    return points(values, suspected, confirmed, direction=direction, breaks=breaks)


def points(
    values: Sequence[float | None] | NDArray[np.float64],
    suspected: Rules,
    confirmed: Rules,
    *,
    direction: Direction = "lower",
    breaks: Sequence[int] = (),
) -> tuple[ChangePoint, ...]:
    """The same with rules of one's own."""
    if direction not in ("lower", "higher"):
        raise RequestError(f"direction is {direction!r}; it is 'lower' or 'higher', whichever is better")
    numbers = as_numbers(values)
    found: list[ChangePoint] = []
    for start, end in pairwise(_edges(len(numbers), breaks, "break")):
        measured = start + np.flatnonzero(~np.isnan(numbers[start:end]))
        found += _piece(numbers[measured], measured, suspected, confirmed, direction)
    return tuple(found)


def levels(values: Sequence[float | None] | NDArray[np.float64], starts: Sequence[int]) -> tuple[Level, ...]:
    """The level of each stretch between boundaries, for a chart.

    Args:
        values: As for `change_points`.
        starts: Points at which a new level begins, such as the index of a change point or a
            break; in any order.

    Raises:
        StatsError: A value is infinite, negative or no number.
        RequestError: A start lies outside the series.
    """
    numbers = as_numbers(values)
    found = []
    for start, end in pairwise(_edges(len(numbers), starts, "start")):
        stretch = numbers[start:end]
        found.append(Level(start=start, end=end, median=_median(stretch[~np.isnan(stretch)])))
    return tuple(found)


def as_numbers(values: Sequence[float | None] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Read a history; gaps become NaN.

    Raises:
        StatsError: A value is infinite, negative or no number.
    """
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise StatsError(f"a history holds numbers, and None where there is none: {error}") from None
    if numbers.ndim != 1:
        raise StatsError(f"a history has one value per point, and this has {numbers.ndim} dimensions")
    wrong = np.flatnonzero(np.isinf(numbers) | (numbers < 0))
    if len(wrong):
        place = int(wrong[0])
        kind = "infinite" if math.isinf(numbers[place]) else "negative"
        raise StatsError(f"value {place} of the history is {float(numbers[place])!r}: {kind}")
    return numbers


def _edges(n: int, inner: Sequence[int], what: str) -> list[int]:
    """All boundaries of a series of n points, its ends among them."""
    for place in inner:
        if not 0 <= place <= n:
            raise RequestError(f"{what} {place!r} lies outside a history of {n} points")
    return sorted({0, n, *inner})


def _median(values: NDArray[np.float64]) -> float | None:
    """The middle of the two middle values, also of numbers whose sum is too large for a float."""
    if not len(values):
        return None
    ordered = np.sort(values)
    low, high = float(ordered[(len(values) - 1) // 2]), float(ordered[len(values) // 2])
    return low + (high - low) / 2


def _piece(
    values: NDArray[np.float64],
    indices: NDArray[np.intp],
    suspected: Rules,
    confirmed: Rules,
    direction: Direction,
) -> list[ChangePoint]:
    """The change points of a piece without gaps that one platform measured."""
    if len(values) < suspected.shortest + suspected.newest or not values.any():
        return []
    seen = trace(values)
    sure = segmentation(seen, confirmed)
    loose = segmentation(seen, suspected)
    fresh = _not_yet(loose.cuts, sure.cuts, len(values), suspected.shortest, confirmed.shortest)
    found = []
    states: list[tuple[Segmentation, Sequence[int], State]] = [
        (sure, sure.cuts, "confirmed"),
        (loose, fresh, "suspected"),
    ]
    cuts = sorted([*sure.cuts, *fresh])
    for source, places, state in states:
        for cut in places:
            start, end = _around(cuts, cut, len(values))
            change, low, high = _size(values, seen, (start, cut, end), source.autocorrelation, direction)
            point = ChangePoint(index=int(indices[cut]), change=change, low=low, high=high, state=state)
            found.append(point)
    return sorted(found, key=lambda point: point.index)


def _not_yet(loose: Sequence[int], sure: Sequence[int], n: int, near: int, lasting: int) -> list[int]:
    """The suspected boundaries that say something new.

    One that lies beside a confirmed one is the same step. A level that was left again before
    it lasted long enough to be confirmed was none.
    """
    edges = [0, *loose, n]
    fresh = []
    for before, cut, after in zip(edges, edges[1:], edges[2:], strict=False):
        passed = after < n and after - cut < lasting
        passing = before > 0 and cut - before < lasting
        at = bisect.bisect_left(sure, cut)
        distance = min((abs(cut - other) for other in sure[max(0, at - 1) : at + 1]), default=n)
        if not passed and not passing and distance > near:
            fresh.append(cut)
    return fresh


def _around(cuts: Sequence[int], cut: int, n: int) -> tuple[int, int]:
    at = bisect.bisect_left(cuts, cut)
    return (cuts[at - 1] if at else 0), (cuts[at + 1] if at + 1 < len(cuts) else n)


def _size(
    values: NDArray[np.float64],
    seen: Trace,
    place: tuple[int, int, int],
    autocorrelation: float,
    direction: Direction,
) -> tuple[float, float, float]:
    """Change with its interval, as fractions of the old level; positive is worse."""
    start, cut, end = place
    start, end = max(start, cut - REACH), min(end, cut + REACH)
    old, new = _median(values[start:cut]), _median(values[cut:end])
    sign = 1.0 if direction == "lower" else -1.0
    if old == 0 or new == 0:  # their logs are a convention, not a level
        change = sign * (-1.0 if old else math.inf if new else 0.0)
        return change, change, change
    shift = seen.shift(start, cut, end)
    widening = math.sqrt((1 + autocorrelation) / (1 - autocorrelation))  # of a mean of an AR(1) series
    reach = t_quantile(end - start - 2 + PRIOR, (1 + CONFIDENCE) / 2) * shift.se * widening
    worse = sign * shift.change
    return (
        as_fraction(worse, direction),
        as_fraction(worse - reach, direction),
        as_fraction(worse + reach, direction),
    )
