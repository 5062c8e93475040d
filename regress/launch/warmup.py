"""How many steps a benchmark warms up for, found in a bounded search.

Steps are settled when the median of the newest ones is close to that of those before. The first steps of
a launch, which the suite names, are not asked: they may compile. Steps that stay slow for longer than both
windows look settled; `regress.verdict.steadiness` sees that in the timed steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

WINDOW = 5
"""Steps whose median is compared with that of as many before."""

CLOSE = 0.05
"""Share by which the two medians may differ."""

WarmUp = Callable[[int], Sequence[float]]
"""Runs so many steps and tells the time of each on its slowest rank; nothing once the launch has failed."""


def is_settled(steps_s: Sequence[float]) -> bool:
    """Whether the newest steps take what those before them took."""
    if len(steps_s) < 2 * WINDOW:
        return False
    newest, before = median(steps_s[-WINDOW:]), median(steps_s[-2 * WINDOW : -WINDOW])
    return abs(newest - before) <= CLOSE * before


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
