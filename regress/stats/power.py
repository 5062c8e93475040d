"""What a test can see: the smallest true worsening that it finds most of the time.

It follows from the noise alone, never from the change that was observed.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from scipy import special

from regress.stats.interval import Direction, as_fraction, as_log, t_quantile

NODES = 256
"""Of the integral over the noise that a repeat would happen to show."""


def detectable(
    se: float, df: int, *, level: float, min_change: float, direction: Direction, power: float = 0.9
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

    Returns:
        A fraction of base.
    """
    bar = np.maximum(as_log(min_change, direction) / se, t_quantile(df, 1 - level) * _chi(df))
    low, high = float(bar.min()) - 10.0, float(bar.max()) + 10.0
    while high - low > 1e-6 * max(1.0, abs(high)):
        middle = (low + high) / 2
        if special.ndtr(middle - bar).mean() < power:
            low = middle
        else:
            high = middle
    return as_fraction(high * se, direction)


@functools.lru_cache(maxsize=256)
def _chi(df: int) -> NDArray[np.float64]:
    """Equally likely values of the ratio of an estimated to the true standard deviation."""
    probabilities = (np.arange(NODES) + 0.5) / NODES
    ratios: NDArray[np.float64] = np.sqrt(special.gammaincinv(df / 2, probabilities) * 2 / df)
    return ratios
