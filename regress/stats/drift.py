"""Slow drift: the newest points of a history against those of a fixed anchor, such as the last release.

A hundred commits of 0.05 % each show no step and cost 5 %. So the level of the newest points
is compared with the level at an anchor that does not move along.

The rule: the difference of the two means of logs (spikes clipped) must exceed ``min_change``,
and its one-sided t test must reject at ``false_alarms``. The standard error is the larger of
two. One takes the noise for an AR(1) series: variance and correlation follow from how far
points one and two apart differ, which neither steps nor drift touch much (the squares of such
differences average ``2 v (1 - r)`` and ``2 v (1 - r * r)``; one standard error is added to
r, since too small a one makes alarms). The other asks nothing of the noise: how far the means
of successive windows lie apart anywhere between anchor and end, the common trend taken away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from regress.errors import RequestError
from regress.stats.interval import Direction, as_fraction, as_log, t_quantile
from regress.stats.series import CONFIDENCE, as_numbers
from regress.stats.trace import FAINTEST, MAD, MEAN_ABSOLUTE, trace

WINDOW = 20
"""Points that tell the level, at the anchor and at the end."""

FEWEST = 8
"""Points below which a window tells no level."""

CLIP = 5.0
"""Standard deviations above which a difference counts as no more."""

BLOCKS = 6
"""Windows between anchor and end from which on their means tell the noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A worsening since the anchor; fractions of the level there."""

    anchor: int
    """The point that was asked about, counted in the values that were given."""

    change: float
    """How much worse the newest points are."""

    low: float
    """Lower end of the 90 % interval of ``change``."""

    high: float
    """Upper end."""

    p: float
    """One-sided, of "no worse than at the anchor"."""


def drift(
    values: Sequence[float | None] | NDArray[np.float64],
    *,
    anchor: int,
    direction: Direction = "lower",
    min_change: float = 0.01,
    false_alarms: float = 0.01,
) -> Drift | None:
    """Tell whether a history got worse since an anchor, be it in steps too small to see.

    The level at the anchor is that of the `WINDOW` points that end with it, or of the first
    ones of the history where it begins later; the level now is that of the newest ones.

    Args:
        values: Of one platform, not negative, in any one unit; ``None`` and NaN are gaps.
        anchor: A point of the history.
        direction: Which way is better, ``"lower"`` or ``"higher"``.
        min_change: Smallest worsening worth a word, a fraction.
        false_alarms: Chance that one look finds a drift where the level stayed.

    Returns:
        The drift, or ``None`` where none is shown: it is no proof that there is none. Also
        where fewer than `FEWEST` points were measured since.

    Raises:
        StatsError: A value is infinite, negative or no number.
        RequestError: An argument is out of its range.
    """
    numbers = as_numbers(values)
    _check(len(numbers), anchor, direction, min_change, false_alarms)
    measured = np.flatnonzero(~np.isnan(numbers))
    at = int(np.searchsorted(measured, anchor, side="right"))  # points up to the anchor
    start, stop = max(0, at - WINDOW), max(at, min(WINDOW, len(measured) - WINDOW))
    newest = max(stop, len(measured) - WINDOW)
    if stop - start < FEWEST or len(measured) - newest < FEWEST or not numbers[measured].any():
        return None
    logs = trace(numbers[measured]).logs
    worse = float(logs[newest:].mean() - logs[start:stop].mean()) * (1 if direction == "lower" else -1)
    se, df = _standard_error(logs[start:], (stop - start, len(logs) - newest))
    p = float(special.stdtr(df, -worse / se))
    if p > false_alarms or worse < as_log(min_change, direction):
        return None
    reach = t_quantile(df, (1 + CONFIDENCE) / 2) * se
    return Drift(
        anchor=anchor,
        change=as_fraction(worse, direction),
        low=as_fraction(worse - reach, direction),
        high=as_fraction(worse + reach, direction),
        p=p,
    )


def _check(n: int, anchor: int, direction: Direction, min_change: float, false_alarms: float) -> None:
    if not 0 <= anchor < n:
        raise RequestError(f"anchor {anchor!r} lies outside a history of {n} points")
    if direction not in ("lower", "higher"):
        raise RequestError(f"direction is {direction!r}; it is 'lower' or 'higher', whichever is better")
    if not 0 <= min_change < 1:
        raise RequestError(f"min_change is {min_change!r}; it is a fraction in [0, 1), 0.01 for 1 %")
    if not 0 < false_alarms < 0.5:
        raise RequestError(f"false_alarms is {false_alarms!r}; it is a rate in (0, 0.5), 0.01 for 1 in 100")


def _standard_error(logs: NDArray[np.float64], windows: tuple[int, int]) -> tuple[float, int]:
    """Of the difference of the means of the first and the last points, with degrees of freedom."""
    near, far = _mean_square(logs[1:] - logs[:-1]), _mean_square(logs[2:] - logs[:-2])
    correlation = min(max(far / near - 1 + 1 / math.sqrt(len(logs)), 0.0), 0.9) if near else 0.0
    variance = max(near / (2 * (1 - correlation)), FAINTEST**2)
    alike = (1 + correlation) / (1 - correlation)
    found = variance * sum(_of_mean(correlation, window) for window in windows)
    df = max(round(len(logs) / alike / 2), 3)
    blocks = len(logs) // WINDOW
    if blocks < BLOCKS:
        return math.sqrt(found), df
    means = logs[len(logs) % WINDOW :].reshape(blocks, WINDOW).mean(axis=1)
    moves = np.diff(means)
    free = _mean_square(moves - np.median(moves)) * WINDOW / 2 * sum(1 / window for window in windows)
    return (math.sqrt(free), blocks - 2) if free > found else (math.sqrt(found), df)


def _of_mean(correlation: float, points: int) -> float:
    """Variance of a mean of an AR(1) series, of variance 1."""
    gone = 1 - correlation
    tail = 2 * correlation * (1 - correlation**points) / (points * gone**2)
    return ((1 + correlation) / gone - tail) / points


def _mean_square(differences: NDArray[np.float64]) -> float:
    """Mean square, of differences clipped at `CLIP` standard deviations: a step hardly counts."""
    sizes = np.abs(differences)
    # where most neighbours are equal, as after rounding, the median says nothing
    trimmed = np.minimum(sizes, np.quantile(sizes, 0.9))
    usual = max(MAD * float(np.median(sizes)), MEAN_ABSOLUTE * float(trimmed.mean()), FAINTEST)
    return float((np.minimum(sizes, CLIP * usual) ** 2).mean())
