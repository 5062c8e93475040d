"""A series as its tests see it: logs with single spikes clipped, and the noise around each point."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEIGHBOURHOOD = 5
"""Points of the running median that a spike is measured from: up to two odd points in a row vanish."""

CLIP = 4.0
"""Standard deviations that a point may lie from that median; what lies further is moved there."""

NEARBY = 20
"""Points on each side that tell how noisy a place is."""

FAINTEST = 1e-4
"""Least noise of a point that is believed: better agreement shows the resolution of a clock or luck."""

ROUNDING = 1 / math.sqrt(12)
"""Standard deviation of a rounding error, in steps of the last digit."""

MAD = 1.4826
"""Of a normal distribution: its standard deviation over its median absolute deviation."""

MEAN_ABSOLUTE = math.sqrt(math.pi / 2)
"""The same over its mean absolute deviation."""

PRIOR = 10
"""Degrees of freedom that the noise of the place has beside the points of a test."""

REACH = 30
"""Points on each side of a boundary that a test looks at: what lies further back is another story."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The difference of level between two neighbouring segments."""

    change: float
    """New less old level, log scale."""

    se: float
    """Its standard error, were the points independent."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """A series without gaps, on the log scale; all arrays that end in ``_sums`` start with a 0."""

    logs: Floats
    """One per point: spikes clipped, the median of the series taken away."""

    unclipped: Floats
    """The same with spikes as they were."""

    noise: Floats
    """Standard deviation around each point, from how far neighbours lie apart: a step does not count."""

    sums: Floats
    """Running sum of ``logs``."""

    square_sums: Floats
    """Running sum of their squares."""

    noise_sums: Floats
    """Running sum of ``noise``."""

    weight_sums: Floats
    """Running sum of the weights, which are ``1 / noise ** 2``."""

    weighted_sums: Floats
    """Running sum of weight times log."""

    def __len__(self) -> int:
        return len(self.logs)

    def shift(self, start: int, boundary: int, end: int) -> Shift:
        """How far the level moves at a boundary, from up to `REACH` points on each side.

        The variance is that of the points around their two levels, drawn towards the noise of
        the place by `PRIOR` degrees of freedom.

        Args:
            start: First point of the old level.
            boundary: First point of the new one.
            end: The point after its last.
        """
        start, end = max(start, boundary - REACH), min(end, boundary + REACH)
        old_n, new_n = boundary - start, end - boundary
        at_start, at_boundary, at_end = (float(self.sums[place]) for place in (start, boundary, end))
        old, new = (at_boundary - at_start) / old_n, (at_end - at_boundary) / new_n
        squares = float(self.square_sums[end] - self.square_sums[start]) - old_n * old**2 - new_n * new**2
        place = float(self.noise_sums[end] - self.noise_sums[start]) / (end - start)
        variance = (max(squares, 0.0) + PRIOR * place**2) / (end - start - 2 + PRIOR)
        return Shift(change=new - old, se=math.sqrt(variance * (1 / old_n + 1 / new_n)))

    def fit(self, start: int, places: NDArray[np.intp], end: int) -> Floats:
        """How well two levels that meet at each place fit the points from start to end.

        In weighted squares explained, up to a constant: what an independent point at one
        standard deviation costs is 1.
        """
        weights, sums = self.weight_sums, self.weighted_sums
        old = (sums[places] - sums[start]) ** 2 / (weights[places] - weights[start])
        new = (sums[end] - sums[places]) ** 2 / (weights[end] - weights[places])
        explained: Floats = old + new
        return explained

    def span(self, place: int, reach: int) -> float:
        """What the series spans within ``reach`` points of a place: from its 5th to its 95th percentile."""
        low, high = np.quantile(self.logs[max(0, place - reach) : place + reach], [0.05, 0.95])
        return float(high - low)

    def autocorrelation(self, cuts: list[int]) -> float:
        """Correlation of neighbours around the levels that ``cuts`` part.

        Each level is estimated, which makes neighbours look less alike by about one over the
        length of its segment; that is given back.

        Returns:
            In [0, 0.8].
        """
        edges = np.array([0, *cuts, len(self)])
        lengths = np.diff(edges)
        residuals = (self.logs - np.repeat(np.diff(self.sums[edges]) / lengths, lengths)) / self.noise
        products = residuals[1:] * residuals[:-1]
        total = float(residuals @ residuals)
        if total == 0:
            return 0.0
        estimate = float(products.sum()) / total + len(lengths) / len(self)
        return min(max(estimate, 0.0), 0.8)


def trace(values: Floats) -> Trace:
    """Read a series.

    Zeros have no logarithm: they count as half of the smallest positive value, which keeps
    their order and makes a step from nothing to something a large one.

    Args:
        values: At least two, finite and not negative, at least one positive.
    """
    smallest = values[values > 0].min()
    logs = np.log(np.where(values > 0, values, smallest)) - math.log(2) * (values == 0)
    logs -= np.median(logs)
    noise = _noise(logs)
    middle = _running_median(logs)
    unclipped, logs = logs, middle + np.clip(logs - middle, -CLIP * noise, CLIP * noise)
    weights = 1 / noise**2
    return Trace(
        logs=logs,
        unclipped=unclipped,
        noise=noise,
        sums=running_sum(logs),
        square_sums=running_sum(logs**2),
        noise_sums=running_sum(noise),
        weight_sums=running_sum(weights),
        weighted_sums=running_sum(weights * logs),
    )


def running_sum(values: Floats) -> Floats:
    """Sums of the first 0, 1, 2, ... values."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


def _noise(logs: Floats) -> Floats:
    """Standard deviation around each point, from the distances between neighbours.

    Two floors keep it true: that of rounding (the smallest move there is shows the last digit),
    and `FAINTEST`.
    """
    moves = np.abs(np.diff(logs))
    usual = MAD * float(np.median(moves)) / math.sqrt(2)
    # where most neighbours are equal, as after rounding, the median says nothing
    trimmed = np.minimum(moves, np.quantile(moves, 0.9))
    usual = max(usual, 0.8 * MEAN_ABSOLUTE * float(trimmed.mean()) / math.sqrt(2), FAINTEST)
    sums = running_sum(np.minimum(moves, 5 * usual))
    places = np.arange(len(logs))
    first, last = np.maximum(places - NEARBY, 0), np.minimum(places + NEARBY, len(moves))
    local = MEAN_ABSOLUTE * (sums[last] - sums[first]) / (last - first) / math.sqrt(2)
    smallest_move = float(moves[moves > 0].min(initial=math.inf))
    rounding = ROUNDING * smallest_move if math.isfinite(smallest_move) else 0.0
    noise: Floats = np.maximum(local, max(rounding, FAINTEST))
    return noise


def _running_median(logs: Floats) -> Floats:
    """The median of each point and its neighbours; the ends are mirrored."""
    reach = NEIGHBOURHOOD // 2
    if len(logs) <= reach:
        return np.full(len(logs), np.median(logs))
    mirrored = np.pad(logs, reach, mode="reflect")
    medians: Floats = np.median(sliding_window_view(mirrored, NEIGHBOURHOOD), axis=1)
    return medians
