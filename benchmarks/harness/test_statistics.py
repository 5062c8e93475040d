"""How long the statistics take, beside what other tools do with the same history."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.harness.conftest import Take
from regress.stats.compare import compare
from regress.stats.series import change_points
from tests.stats.peers import divisive_t, windowed_t

BENCHMARKS, LAUNCHES, POINTS = 1000, 20, 10_000


def history() -> list[float]:
    """A history whose level moves every thousand points."""
    draw = np.random.default_rng(1)
    levels = np.repeat(1 + 0.05 * draw.random(POINTS // 1000), 1000)
    values: list[float] = (levels * np.exp(draw.normal(0, 0.01, POINTS))).tolist()
    return values


def test_compare(take: Take) -> None:
    """A thousand benchmarks of twenty launches a side, with a history; the target is a second."""
    draw = np.random.default_rng(2)
    sides = np.exp(draw.normal(0, 0.01, (BENCHMARKS, 3, LAUNCHES))).tolist()
    take(
        "compare 1,000 x 20 launches",
        lambda: [compare(base, head, paired=True, prior=prior) for base, head, prior in sides],
        rounds=10,
    )


def test_change_points(take: Take) -> None:
    """The target is 50 ms of CPU."""
    values = history()
    take("history of 10,000 points", lambda: change_points(values), rounds=20)


@pytest.mark.parametrize("peer", [windowed_t, divisive_t])
def test_peers(take: Take, peer: Callable[[list[float]], list[int]]) -> None:
    """The same history by the methods of Mozilla and Otava, in lines of our own."""
    values = history()
    take(f"the same, {peer.__name__.replace('_', ' ')}", lambda: peer(values), rounds=3)
