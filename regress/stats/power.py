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
        passing = _paired_passing(head, earlier, level)
        return _least(lambda change: _paired_chance(change, passing, head, earlier), power)
    passing = slow_tails(head, base + earlier) <= level
    return _least(lambda change: _unpaired_chance(change, passing, base, head, earlier), power)


def _least(chance: Callable[[float], float], power: float) -> float:
    if chance(FAR) < power:
        return math.inf
    low, high = 0.0, FAR
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) < power else (low, middle)
    return high


def _paired_passing(size: int, earlier: int, level: float) -> NDArray[np.bool_]:
    """Whether the floor is below the level, for each number of like earlier blocks and of worse ones."""
    largest = special.bdtrc(np.arange(-1, size), size, PAIR_RATE)
    largest[0] = 1.0
    floors = np.minimum(largest, slow_tails(size, earlier)) if earlier else largest[None, :]
    passing: NDArray[np.bool_] = floors <= level
    return passing


def _paired_chance(change: float, passing: NDArray[np.bool_], size: int, earlier: int) -> float:
    worse = _binomial(size, float(special.ndtr(change)))
    alike = _binomial(earlier, float(special.ndtr(-SEEN_ALIKE * change)))
    return float(alike @ passing @ worse)


def _unpaired_chance(change: float, passing: NDArray[np.bool_], base: int, head: int, earlier: int) -> float:
    beyond = _binomial(head, float(special.ndtr(change / 2)))
    alike = _binomial(earlier, float(special.ndtr(-SEEN_ALIKE * change)))
    before = np.convolve(_binomial(base, float(special.ndtr(-change / 2))), alike)
    return float(before @ passing @ beyond)


def _binomial(size: int, rate: float) -> NDArray[np.float64]:
    counts = np.arange(size + 1)
    chances: NDArray[np.float64] = special.binom(size, counts) * rate**counts * (1 - rate) ** (size - counts)
    return chances


@functools.lru_cache(maxsize=1024)
def _chi(df: float) -> NDArray[np.float64]:
    """Equally likely values of the ratio of an estimated to the true standard deviation."""
    probabilities = (np.arange(NODES) + 0.5) / NODES
    ratios: NDArray[np.float64] = np.sqrt(special.gammaincinv(df / 2, probabilities) * 2 / df)
    return ratios
