"""How likely launches of two kinds would look like the change that was seen.

A benchmark may have modes (a launch is fast or slow, by placement or memory layout) or spikes.
Then a handful of launches can fall on the slow side by chance, all alike, and a t test, which
sees no noise in them, would swear to a regression. What is computed here bounds its p-value
from below: launches count as slow or not, and nothing else is known of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

PAIR_RATE = 0.25
"""Largest chance that one block has its head slow and its base fast, whatever the modes: q · (1 - q)."""

SEEN_ALIKE = 0.75
"""Share of the change from which on an earlier launch counts as slow, too."""

WEIGHT = (0.25, 0.5)
"""Beta prior of the rate of slow launches: little weight, and most of it near none and all."""


def paired_floor(differences: Sequence[float], residuals: Sequence[float], sign: int) -> float:
    """Least believable p-value of a change in blocks.

    The chance that as many of the blocks have a difference of the sign of the change, when
    each has it at the rate that the history shows, and at `PAIR_RATE` at most.

    Args:
        differences: Of the blocks, log scale.
        residuals: Of earlier blocks.
        sign: +1 for "worse", -1 for "better".

    Returns:
        0 where the change has the other sign: the t test alone says enough.
    """
    change = sign * math.fsum(differences) / len(differences)
    if change <= 0:
        return 0.0
    count, size = sum(sign * value > 0 for value in differences), len(differences)
    largest = float(special.bdtrc(count - 1, size, PAIR_RATE)) if count else 1.0
    if not residuals:
        return largest
    before = sum(sign * value >= SEEN_ALIKE * change for value in residuals)
    return min(largest, slow_tail(count, size, before, len(residuals)))


def unpaired_floor(
    base: Sequence[float], head: Sequence[float], residuals: Sequence[float], sign: int
) -> float:
    """Least believable p-value of a change between two groups of launches.

    The chance that as many launches of one side lie beyond the middle between the sides, when
    launches do at the rate that the other side and the history show; the larger of both views,
    head's slow launches and base's fast ones.

    Args:
        base: Logs of its launches.
        head: The same of head.
        residuals: Of earlier launches.
        sign: +1 for "worse", -1 for "better"; logs grow with what is worse.

    Returns:
        0 where the change has the other sign.
    """
    change = sign * (math.fsum(head) / len(head) - math.fsum(base) / len(base))
    if change <= 0:
        return 0.0
    return max(
        _one_side(base, head, residuals, sign, change), _one_side(head, base, residuals, -sign, change)
    )


def _one_side(
    others: Sequence[float], side: Sequence[float], residuals: Sequence[float], sign: int, change: float
) -> float:
    centre = math.fsum(others) / len(others)
    count = sum(sign * (value - centre) >= change / 2 for value in side)
    before = sum(sign * (value - centre) >= change / 2 for value in others)
    before += sum(sign * value >= SEEN_ALIKE * change for value in residuals)
    return slow_tail(count, len(side), before, len(others) + len(residuals))


def slow_tail(count: int, size: int, before: int, total: int) -> float:
    """Chance of at least ``count`` slow launches of ``size``, after ``before`` of ``total``."""
    return float(slow_tails(size, total)[before, count])


@functools.lru_cache(maxsize=1024)
def slow_tails(size: int, total: int) -> NDArray[np.float64]:
    """The tails of the beta-binomial distribution that the rate of slow launches gives.

    The rate has the distribution that is left of `WEIGHT` after the earlier launches.

    Args:
        size: Launches.
        total: Earlier ones.

    Returns:
        Shape ``(total + 1, size + 1)``: by number of earlier slow ones and of slow ones, the
        chance of at least so many.
    """
    before = np.arange(total + 1)[:, None]
    slow, fast = WEIGHT[0] + before, WEIGHT[1] + total - before
    count = np.arange(size + 1)[None, :]
    ways = special.gammaln(size + 1) - special.gammaln(count + 1) - special.gammaln(size - count + 1)
    chances = np.exp(ways + special.betaln(slow + count, fast + size - count) - special.betaln(slow, fast))
    tails: NDArray[np.float64] = np.minimum(1.0, chances[:, ::-1].cumsum(axis=1)[:, ::-1])
    return tails
