"""Noise, bias and sight from differences within blocks, against cases with a known answer."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from scipy import stats as reference

from regress.errors import StatsError
from regress.stats.calibration import (
    MOST_BLOCKS,
    Share,
    between_days,
    bias,
    effect,
    enough,
    mean_of,
    pooled,
    resampled,
    sight,
    spread,
    within,
)


def slower(base: Sequence[float], head: Sequence[float]) -> bool:
    return sum(head) > sum(base)


def test_a_mean_has_the_interval_of_student() -> None:
    values = [0.01, -0.02, 0.03, 0.015, 0.0]
    found = mean_of(values)
    assert found is not None
    low, high = found.bounds(0.9)
    sem = reference.sem(values)
    expected = reference.t.interval(0.9, 4, loc=sum(values) / 5, scale=sem)
    assert (low, high) == pytest.approx(expected)
    assert mean_of([0.01]) is None
    assert mean_of(values, fitted=4) is None


def test_bias_is_told_from_the_slowdown_that_falls_on_either_side() -> None:
    """The second side is slower by 1 %, whichever of them is slowed down by 20 %."""
    arm = [(0.01 + sign * 0.2, sign) for sign in (1, -1, 1, -1, 1)]
    found = bias([[(0.01, 0)] * 4, arm])
    assert found is not None
    assert found.mean == pytest.approx(0.01)
    assert found.sd == pytest.approx(0.0, abs=1e-12)
    assert (found.number, found.df) == (9, 7)  # one mean, one effect


def test_an_arm_that_was_slowed_on_one_side_alone_says_nothing_of_bias() -> None:
    assert bias([[(0.21, 1), (0.2, 1), (0.22, 1)]]) is None
    found = bias([[(0.0, 0), (0.02, 0)], [(0.21, 1), (0.2, 1)]])
    assert found is not None
    assert found.mean == pytest.approx(0.01)
    assert found.number == 2


def test_bias_covers_the_truth_as_often_as_it_says() -> None:
    draw = random.Random(5)
    hits = 0
    for _ in range(1000):
        arms = [
            [(0.02 + sign * 0.1 + draw.gauss(0, 0.03), sign) for sign in [0] * 6],
            [(0.02 + sign * 0.1 + draw.gauss(0, 0.03), sign) for sign in [1, -1] * 3],
        ]
        found = bias(arms)
        assert found is not None
        low, high = found.bounds(0.9)
        hits += low < 0.02 < high
    assert 870 <= hits <= 930


def test_an_effect_is_that_of_the_slowed_side() -> None:
    found = effect([(0.05, 1), (-0.07, -1), (0.06, 1), (9.0, 0)])
    assert found is not None
    assert found.mean == pytest.approx(0.06)
    assert found.number == 3


def test_within_a_launch_one_stall_is_no_noise() -> None:
    quiet = [math.exp(0.01 * z) for z in (-1, -0.5, 0, 0.5, 1)]
    expected = 1.4826 * 0.005
    assert within([quiet]) == pytest.approx(expected)
    assert within([[*quiet[:-1], 100.0]]) == pytest.approx(expected)
    assert within([quiet, [1.0, 1.0, 1.0], quiet, [1.0]]) == pytest.approx(expected)
    assert within([[1.0, 2.0]]) is None


def test_between_launches_scale_does_not_matter() -> None:
    values = [1.0, 1.1, 0.95, 1.02]
    assert spread(values) == pytest.approx(spread([1000 * value for value in values]))
    assert spread([1.0]) is None


def test_days_of_one_code_are_compared_and_codes_are_not() -> None:
    levels = [
        ("a", "2026-01-01", 1.0),
        ("a", "2026-01-01", 1.0),
        ("a", "2026-01-02", math.exp(0.02)),
        ("b", "2026-01-01", 50.0),
        ("b", "2026-01-03", 50.0 * math.exp(0.02)),
        ("c", "2026-01-04", 7.0),
    ]
    found = between_days(levels)
    assert found is not None
    assert found[0] == pytest.approx(0.02 / math.sqrt(2))
    assert found[1] == 4
    assert between_days([("a", "2026-01-01", 1.0), ("b", "2026-01-02", 2.0)]) is None


def test_more_blocks_see_more_and_enough_is_the_first_that_does() -> None:
    seen = [sight(0.03, blocks, level=0.01, min_change=0.01) for blocks in (5, 10, 20)]
    assert seen == sorted(seen, reverse=True)
    found = enough(0.03, fewest=5, level=0.01, min_change=0.01, must_see=0.04)
    assert found is not None
    assert sight(0.03, found, level=0.01, min_change=0.01) <= 0.04
    assert sight(0.03, found - 1, level=0.01, min_change=0.01) > 0.04
    assert enough(1e-4, fewest=5, level=0.01, min_change=0.01, must_see=0.04) == 5
    assert enough(0.5, fewest=5, level=0.01, min_change=0.01, must_see=0.04) is None
    assert MOST_BLOCKS >= 50


def test_bias_is_taken_off_what_is_seen() -> None:
    rule = {"level": 0.01, "min_change": 0.001}
    assert sight(0.03, 10, bias=0.02, **rule) == pytest.approx(sight(0.03, 10, **rule) + 0.02, abs=0.003)
    found = enough(0.03, fewest=5, must_see=0.05, bias=0.02, **rule)
    assert found is not None
    assert sight(0.03, found, bias=0.02, **rule) <= 0.05 < sight(0.03, found - 1, bias=0.02, **rule)


def test_all_subsets_are_compared_once_where_they_are_few() -> None:
    found = resampled([(1.0, 2.0), (1.0, 2.0), (9.0, 1.0)], slower, blocks=2, swapped=False)
    assert (found.found, found.resampled, found.independent) == (1, 3, 1)


def test_swapped_sides_are_called_slower_half_of_the_time() -> None:
    pairs = [(1.0, 1.0 + place / 1000) for place in range(1, 13)]
    found = resampled(pairs, slower, blocks=3, swapped=True, most=2000, seed=3)
    assert (found.resampled, found.independent) == (2000, 4)
    assert 900 < found.found < 1100
    assert resampled(pairs, slower, blocks=3, swapped=False, most=50).found == 50


def test_what_is_drawn_is_drawn_from_the_seed() -> None:
    pairs = [(1.0, 1.0 + place % 3 - 1) for place in range(1, 13)]
    rates = [resampled(pairs, slower, blocks=4, swapped=True, seed=seed).found for seed in (1, 1, 2)]
    assert rates[0] == rates[1] != rates[2]


def test_a_comparison_needs_its_blocks() -> None:
    with pytest.raises(StatsError, match="2 blocks make no comparison of 3"):
        resampled([(1.0, 1.0)] * 2, slower, blocks=3, swapped=False)


def test_the_interval_counts_independent_comparisons_and_not_drawn_ones() -> None:
    exact = reference.binomtest(2, 5).proportion_ci(0.95, method="exact")
    found = Share(found=80, resampled=200, independent=5).bounds
    assert found == pytest.approx((exact.low, exact.high))
    assert Share(found=0, resampled=200, independent=1).bounds == pytest.approx((0.0, 0.975))
    assert Share(found=200, resampled=200, independent=1).bounds == pytest.approx((0.025, 1.0))


def test_benchmarks_are_added_up() -> None:
    shares = [Share(found=1, resampled=200, independent=2), Share(found=5, resampled=100, independent=1)]
    assert pooled(shares) == Share(found=6, resampled=300, independent=3)
