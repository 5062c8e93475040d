"""What a test can see: the smallest true worsening that it finds most of the time.

It follows from the noise alone, never from the change that was observed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from regress.stats.interval import Design, Direction, as_fraction, as_log, t_quantile
from regress.stats.modes import PAIR_RATE, SEEN_ALIKE, slow_tails

NODES = 64
"""Of the integral over the noise that a repeat would happen to show."""

MANY = 32
"""Launches a side above which a change that the t test finds tells itself from modes as well."""

REPEATS = 2000
"""Of launches with normal noise, in which it is seen how often a change tells itself from modes."""

FAR = 64.0
"""Standard deviations beyond which nothing more is told apart."""


def detectable(
    se: float,
    df: float,
    *,
    level: float,
    min_change: float,
    direction: Direction,
    power: float = 0.9,
    bias: float = 0.0,
    least: float = 0.0,
) -> float:
    """Smallest true worsening that a repeat calls `regressed` with probability ``power``.

    A repeat says so when its one-sided t test rejects at ``level`` and its estimate reaches
    ``min_change``. Its estimate is normal around the true worsening and its standard error is
    ``se`` times a chi variable, independent of the estimate; the probability is integrated
    over that variable at the middles of equally likely parts.

    Args:
        se: Standard error of the estimate, log scale; taken as the true one.
        df: Degrees of freedom of ``se``.
        level: Of the test; of a family under Holm, the level of its first step.
        min_change: Smallest change worth a verdict, a fraction of base.
        direction: Which way is better.
        power: Probability wanted, in (0, 1).
        bias: How far identical sides may differ, log scale.
        least: Worsening on the log scale below which the launches could be of two modes; see
            `telling`.

    Returns:
        A fraction of base; infinite where no worsening is found so often.
    """
    bar = np.maximum(as_log(min_change, direction) / se, bias / se + t_quantile(df, 1 - level) * _chi(df))
    reach = 10.0 + float(bar.max() - bar.min())
    high = optimize.brentq(
        lambda true: float(np.add.reduce(special.ndtr(true - bar))) / NODES - power,
        float(bar.min()) - 10.0,
        float(bar.min()) + reach,
        xtol=1e-6,
    )
    worse = max(float(high) * se, least)
    return as_fraction(worse, direction) if math.isfinite(worse) else math.inf


@functools.lru_cache(maxsize=4096)
def telling(design: Design, launches: tuple[int, int], earlier: int, level: float, power: float) -> float:
    """Smallest worsening that launches of two modes would hardly ever imitate.

    That is where the floor of `regress.stats.modes` falls below ``level`` with probability
    ``power``, with normal noise.

    Args:
        design: How the sides are set against each other.
        launches: Of base and of head.
        earlier: Residuals that a history holds.
        level: Of the test.
        power: Probability wanted, in (0, 1).

    Returns:
        In standard deviations of a launch, or of a block's difference; infinite where so few
        launches never tell, 0 above `MANY`.
    """
    if min(launches) > MANY:
        return 0.0
    base, head = (min(count, MANY) for count in launches)
    if design == "paired":
        return _least(lambda change: _paired_chance(change, head, earlier, level), power)
    return _least(lambda change: _unpaired_chance(change, base, head, earlier, level), power)


def _least(chance: Callable[[float], float], power: float) -> float:
    if chance(FAR) < power:
        return math.inf
    low, high = 0.0, FAR
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) < power else (low, middle)
    return high


def _paired_chance(change: float, size: int, earlier: int, level: float) -> float:
    """How often the floor of so many blocks falls below the level; over repeats that are always the same."""
    values = change + _noise(size)
    count = (values > 0).sum(axis=1)
    never = special.bdtrc(np.arange(-1, size), size, PAIR_RATE)[count] <= level
    if not earlier:
        return float(np.mean(never & (count > 0)))
    return float(np.mean(np.where(never, 1.0, _alike(values.mean(axis=1), count, size, 0, earlier, level))))


def _unpaired_chance(change: float, base: int, head: int, earlier: int, level: float) -> float:
    noise = _noise(base + head)
    before, after = noise[:, :base], change + noise[:, base:]
    shown = after.mean(axis=1) - before.mean(axis=1)
    cut = before.mean(axis=1) + shown / 2
    slow, slow_before = (after >= cut[:, None]).sum(axis=1), (before >= cut[:, None]).sum(axis=1)
    return float(
        np.mean(
            _alike(shown, slow, head, slow_before, earlier, level, base)
            * _alike(shown, base - slow_before, base, head - slow, earlier, level, head)
        )
    )


def _alike(
    shown: NDArray[np.float64],
    count: NDArray[np.int64],
    size: int,
    before: NDArray[np.int64] | int,
    earlier: int,
    level: float,
    others: int = 0,
) -> NDArray[np.float64]:
    """Chance that few enough of the earlier launches look like the change that is shown.

    Args:
        shown: Of each repeat, in standard deviations.
        count: Launches of one side that are alike.
        size: Launches of that side.
        before: Launches of the other side that are alike, too.
        earlier: Residuals that a history holds.
        level: Of the test.
        others: Launches of the other side.
    """
    passing = (slow_tails(size, others + earlier) <= level).sum(
        axis=0
    )  # by count: so many may have been seen
    allowed = passing[count] - 1 - before
    rate = special.ndtr(-SEEN_ALIKE * shown)
    chances = special.bdtr(np.clip(allowed, 0, earlier), earlier, rate) if earlier else np.ones(len(shown))
    found: NDArray[np.float64] = np.where((allowed >= 0) & (shown > 0), chances, 0.0)
    return found


@functools.lru_cache(maxsize=64)
def _noise(size: int) -> NDArray[np.float64]:
    """Normal noise of as many launches, in `REPEATS` repeats that are always the same."""
    return np.random.default_rng(0).normal(0.0, 1.0, (REPEATS, size))


@functools.lru_cache(maxsize=1024)
def _chi(df: float) -> NDArray[np.float64]:
    """Equally likely values of the ratio of an estimated to the true standard deviation."""
    probabilities = (np.arange(NODES) + 0.5) / NODES
    ratios: NDArray[np.float64] = np.sqrt(special.gammaincinv(df / 2, probabilities) * 2 / df)
    return ratios
