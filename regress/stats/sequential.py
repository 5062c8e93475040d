"""Looking more than once: after some blocks, and again after more, until the question is decided.

Looking after every block and stopping when a test rejects raises false alarms: 14.5 % for
5 % at eight looks. Here every look spends a share of the error rate that was fixed before the
first block was measured; the shares add up to one. So the smallest ``p / share`` over the
looks is a p-value under every rule of stopping (Bonferroni over looks: it needs no assumption
on how looks depend on each other, and at these few looks costs little; see docs/method.md),
and Holm over such p-values keeps the rate of a suite whose benchmarks stop at different looks.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from scipy import special

from regress.stats.interval import Estimate, as_log, t_quantile


def shares(looks: int) -> tuple[float, ...]:
    """Shares of the error rates, look by look: each has half of what is left, the last two the same.

    Most questions are easy, and each block of them that is not measured counts; a late look has
    the more blocks.
    """
    halves = [0.5 ** (place + 1) for place in range(looks - 1)]
    return (*halves, 1.0 - sum(halves))


def sequential_p(p_values: Sequence[float], spent: Sequence[float]) -> float:
    """One p-value for all looks so far.

    Args:
        p_values: Of each look.
        spent: Its share of the error rate.
    """
    return min(1.0, min(p / share for p, share in zip(p_values, spent, strict=True)))


def best_chance(
    estimate: Estimate, *, min_change: float, level: float, confidence: float, launches: int
) -> float:
    """The chance of the likeliest decision, once there are as many launches a side.

    The estimate that will be there is normal around the present one, with the variance that
    is still to come; the noise is taken as it is estimated now.

    Args:
        estimate: At the present look.
        min_change: Smallest change worth a verdict.
        level: Of the test, at the first step of Holm.
        confidence: Of the interval that must lie inside ±``min_change``.
        launches: A side, at the last look.
    """
    (se, df), share = estimate.at(launches), estimate.last_share
    bound = as_log(min_change, estimate.direction)
    least = max(bound, t_quantile(df, 1 - share * level) * se + estimate.bias)
    inside = bound - t_quantile(df, 1 - share * (1 - confidence) / 2) * se - estimate.bias
    spread = math.sqrt(max(estimate.se**2 - se**2, 1e-18))
    below = functools.partial(_below, estimate.worse, spread)
    unchanged = below(inside) - below(-inside) if inside > 0 else 0.0
    return max(1 - below(least), below(-least), unchanged)


def _below(centre: float, spread: float, value: float) -> float:
    return float(special.ndtr((value - centre) / spread))
