"""Launches that have nothing to do with the others.

One disturbed launch of five hides a regression behind its variance. It is left out, and said
so, when it lies so far from the others that normal noise would hardly ever show it; more than
one in five never are: those are noise, or modes, or the change itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from scipy import special

from regress.stats.prior import SD_FLOOR, Prior, pooled

FEWEST = 5
"""Values of which one may be left out."""

LEVEL = 1e-3
"""Chance that normal noise loses a value, over all values of a group."""


def outlying(values: Sequence[float], prior: Prior | None) -> tuple[int, ...]:
    """Places of the values that are left out, at most one in `FEWEST`, farthest first.

    Each is tested against the mean of the others by its studentised residual: Grubbs (1950)
    with Bonferroni's bound, and the variance that is known beforehand pooled in.

    Args:
        values: Logs, of one side or of the blocks' differences.
        prior: What is known of their noise beforehand.
    """
    places: list[int] = []
    for _ in range(len(values) // FEWEST):
        kept = [place for place in range(len(values)) if place not in places]
        centre = fmean(values[place] for place in kept)
        place = max(kept, key=lambda each: abs(values[each] - centre))
        if not _is_far(values[place], [values[each] for each in kept if each != place], prior):
            break
        places.append(place)
    return tuple(places)


def _is_far(value: float, others: Sequence[float], prior: Prior | None) -> bool:
    centre = fmean(others)
    squares = math.fsum((other - centre) ** 2 for other in others)
    variance, freedom, _ = pooled(squares, len(others) - 1, prior)
    t = abs(value - centre) / math.sqrt(max(variance, SD_FLOOR**2) * (1 + 1 / len(others)))
    return 2 * (len(others) + 1) * float(special.stdtr(freedom, -t)) < LEVEL
