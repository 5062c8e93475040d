"""How many steps a benchmark warms up for, found in a bounded search.

Steps are settled when they get no faster: the median of the newest ones is not below the second fastest of
those before by more than a little. So noise of any size seldom looks like warming up. The first steps of a
launch, which the suite names, are not asked: they may compile. Steps that stay slow for longer than both
windows look settled; `regress.verdict.steadiness` sees that in the timed steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

WINDOW = 5
"""Steps whose median is compared with as many before."""

CLOSE = 0.05
"""Share by which their median may be faster than the second fastest of those before."""

WarmUp = Callable[[int], Sequence[float]]
"""Runs so many steps and tells the time of each on its slowest rank; nothing once the launch has failed."""


def is_settled(steps_s: Sequence[float]) -> bool:
    """Whether the newest steps are no faster than those before them."""
    if len(steps_s) < 2 * WINDOW:
        return False
    before = sorted(steps_s[-2 * WINDOW : -WINDOW])
    return median(steps_s[-WINDOW:]) >= (1 - CLOSE) * before[1]


def search(warm_up: WarmUp, *, least: int, most: int) -> int:
    """Go on warming up until the steps are settled, window by window.

    Args:
        warm_up: Asked for more steps.
        least: Steps that were done before.
        most: Steps in all, at most.

    Returns:
        Steps done in all.
    """
    done, steps_s = least, list[float]()
    while done < most and not is_settled(steps_s):
        more = min(WINDOW, most - done)
        seen = warm_up(more)
        if not seen:
            break
        steps_s += seen
        done += more
    return done
