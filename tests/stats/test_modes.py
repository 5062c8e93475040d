"""What launches of two kinds would imitate, against counting by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from regress.stats.interval import Design
from regress.stats.modes import WEIGHT, paired_floor, slow_tail, unpaired_floor
from regress.stats.power import MANY, telling


@given(size=st.integers(1, 10), total=st.integers(0, 20), data=st.data())
def test_the_tail_is_that_of_the_beta_binomial(size: int, total: int, data: st.DataObject) -> None:
    before, count = data.draw(st.integers(0, total)), data.draw(st.integers(0, size))
    oracle = stats.betabinom(size, WEIGHT[0] + before, WEIGHT[1] + total - before)
    assert slow_tail(count, size, before, total) == pytest.approx(oracle.sf(count - 1), rel=1e-6, abs=1e-12)


def test_blocks_all_worse_are_as_likely_as_four_to_the_minus_their_number() -> None:
    assert paired_floor([0.1] * 5, (), 1) == pytest.approx(4**-5)
    assert paired_floor([0.1] * 5, (), -1) == 0
    assert paired_floor([-0.1] * 5, (), -1) == pytest.approx(4**-5)
    one_not = paired_floor([0.1, 0.1, 0.1, 0.1, -0.01], (), 1)
    assert one_not == pytest.approx(stats.binom(5, 0.25).sf(3))


def test_a_long_history_without_the_like_lowers_the_floor_and_one_with_it_does_not() -> None:
    quiet = paired_floor([0.1] * 3, [0.001, -0.001] * 20, 1)
    seen = paired_floor([0.1] * 3, [0.1, -0.1] * 20, 1)
    assert quiet < 1e-4 < 4**-3 == pytest.approx(seen)


def test_three_against_three_tell_little_until_a_history_does() -> None:
    base, head = [0.0, 0.001, 0.002], [0.1, 0.101, 0.102]
    alone = unpaired_floor(base, head, (), 1)
    known = unpaired_floor(base, head, [0.001, -0.001] * 20, 1)
    modes = unpaired_floor(base, head, [0.05, -0.05, 0.1, -0.1] * 10, 1)
    assert known < 1e-4 < 5e-3 < alone < modes


def test_a_slow_launch_of_base_counts_as_well() -> None:
    head = [0.1] * 7
    assert unpaired_floor([0.0] * 7, head, (), 1) < 1e-4
    assert unpaired_floor([0.0] * 6 + [0.1], head, (), 1) > 1e-4


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=8), st.lists(st.floats(-1, 1), min_size=2, max_size=8))
def test_swapping_the_sides_swaps_the_floors(base: list[float], head: list[float]) -> None:
    for sign in (1, -1):
        assert unpaired_floor(base, head, (), sign) == pytest.approx(unpaired_floor(head, base, (), -sign))


@pytest.mark.parametrize(
    ("design", "launches", "earlier", "level"),
    [("paired", 5, 0, 0.01), ("paired", 3, 40, 0.0005), ("unpaired", 7, 0, 0.01), ("unpaired", 4, 30, 0.001)],
)
def test_what_is_telling_passes_nine_times_in_ten(
    design: Design, launches: int, earlier: int, level: float
) -> None:
    change = telling(design, (launches, launches), earlier, level, 0.9)
    draw, passed, repeats = np.random.default_rng(1), 0, 3000
    for _ in range(repeats):
        history = draw.normal(0, 1, earlier).tolist()
        if design == "paired":
            floor = paired_floor(draw.normal(change, 1, launches).tolist(), history, 1)
        else:
            base, head = draw.normal(0, 1, launches).tolist(), draw.normal(change, 1, launches).tolist()
            floor = unpaired_floor(base, head, history, 1)
        passed += floor <= level
    assert passed / repeats == pytest.approx(0.9, abs=0.06)


def test_so_few_launches_never_tell_and_many_always_do() -> None:
    assert telling("paired", (3, 3), 0, 0.01, 0.9) == math.inf
    assert telling("paired", (MANY + 1, MANY + 1), 0, 1e-9, 0.9) == 0
