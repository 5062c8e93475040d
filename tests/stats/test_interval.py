"""The estimates against scipy's own tests, and their symmetries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from regress.errors import StatsError
from regress.stats.interval import (
    Direction,
    Estimate,
    as_fraction,
    as_log,
    paired_estimate,
    unpaired_estimate,
)
from regress.stats.prior import SD_FLOOR

Estimator = Callable[[Sequence[float], Sequence[float], Direction], Estimate]
BOTH = pytest.mark.parametrize("estimator", [paired_estimate, unpaired_estimate])

BASE = (0.101, 0.099, 0.103, 0.100, 0.098, 0.102)
HEAD = (0.104, 0.103, 0.109, 0.101, 0.103, 0.105)

positive = st.floats(1e-3, 1e3)
pairs = st.lists(st.tuples(positive, positive), min_size=2, max_size=12)
directions = st.sampled_from(("lower", "higher"))


def test_paired_agrees_with_the_one_sample_t_test_of_scipy() -> None:
    differences = np.log(HEAD) - np.log(BASE)
    oracle = scipy.stats.ttest_1samp(differences, 0, alternative="greater")
    reach = scipy.stats.t.ppf(0.95, 5) * differences.std(ddof=1) / np.sqrt(6)
    estimate = paired_estimate(BASE, HEAD, "lower")
    assert estimate.p_worse == pytest.approx(oracle.pvalue, rel=1e-9)
    assert estimate.p_better == pytest.approx(1 - oracle.pvalue, rel=1e-9)
    assert estimate.change == pytest.approx(np.exp(differences.mean()) - 1, rel=1e-12)
    assert estimate.bounds(0.9) == pytest.approx(
        (np.expm1(differences.mean() - reach), np.expm1(differences.mean() + reach)), rel=1e-9
    )


def test_unpaired_agrees_with_students_t_test_of_scipy() -> None:
    oracle = scipy.stats.ttest_ind(np.log(HEAD), np.log(BASE[:4]), alternative="greater")
    interval = scipy.stats.ttest_ind(np.log(HEAD), np.log(BASE[:4])).confidence_interval(0.9)
    estimate = unpaired_estimate(BASE[:4], HEAD, "lower")
    assert replace(estimate, floors=(0.0, 0.0)).p_worse == pytest.approx(oracle.pvalue, rel=1e-9)
    assert estimate.bounds(0.9) == pytest.approx(np.expm1(interval), rel=1e-9)
    assert estimate.launches == (4, 6)
    assert estimate.df == 8


def test_a_rate_that_falls_is_worse_by_the_fraction_of_base_it_lost() -> None:
    estimate = paired_estimate([100, 200, 300], [90, 180, 270], "higher")
    assert estimate.change == pytest.approx(0.1)
    low, high = estimate.bounds(0.9)
    assert low < 0.1 < high < 1


@given(st.floats(-0.99, 0.99), directions)
def test_fractions_survive_the_log_scale(fraction: float, direction: Direction) -> None:
    assert as_fraction(as_log(fraction, direction), direction) == pytest.approx(fraction, abs=1e-12)


@BOTH
@given(pairs=pairs, direction=directions)
def test_swapping_the_sides_flips_the_sign(
    estimator: Estimator, pairs: list[tuple[float, float]], direction: Direction
) -> None:
    base, head = zip(*pairs, strict=True)
    forth, back = estimator(base, head, direction), estimator(head, base, direction)
    assert back.worse == pytest.approx(-forth.worse, abs=1e-9)
    assert back.p_better == pytest.approx(forth.p_worse, rel=1e-6, abs=1e-12)
    assert back.se == pytest.approx(forth.se)


@BOTH
@given(pairs=pairs, scale=positive, direction=directions)
def test_the_unit_does_not_matter(
    estimator: Estimator, pairs: list[tuple[float, float]], scale: float, direction: Direction
) -> None:
    base, head = zip(*pairs, strict=True)
    plain = estimator(base, head, direction)
    scaled = estimator([scale * value for value in base], [scale * value for value in head], direction)
    assert scaled.worse == pytest.approx(plain.worse, abs=1e-9)
    assert scaled.se == pytest.approx(plain.se, rel=1e-6, abs=1e-9)


@BOTH
@given(pairs=pairs, direction=directions)
def test_the_order_of_blocks_does_not_matter(
    estimator: Estimator, pairs: list[tuple[float, float]], direction: Direction
) -> None:
    shuffled = sorted(pairs, reverse=True)
    plain = estimator([b for b, _ in pairs], [h for _, h in pairs], direction)
    other = estimator([b for b, _ in shuffled], [h for _, h in shuffled], direction)
    assert other.worse == pytest.approx(plain.worse, abs=1e-9)
    assert other.p_worse == pytest.approx(plain.p_worse, abs=1e-9)


@BOTH
@given(pairs=pairs, factor=st.floats(1.001, 10))
def test_a_dearer_head_is_worse(
    estimator: Estimator, pairs: list[tuple[float, float]], factor: float
) -> None:
    base, head = zip(*pairs, strict=True)
    dearer = [factor * value for value in head]
    assert estimator(base, dearer, "lower").change > estimator(base, head, "lower").change
    assert estimator(base, dearer, "higher").change < estimator(base, head, "higher").change


@BOTH
def test_launches_that_agree_to_the_last_digit_keep_some_noise(estimator: Estimator) -> None:
    estimate = estimator([1.0] * 5, [1.0] * 5, "lower")
    assert estimate.sd == SD_FLOOR
    assert estimate.p_worse == pytest.approx(0.5)
    assert "0.01%" in estimate.notes[0]
    moved = estimator([1.0] * 5, [1.02] * 5, "lower")
    assert 0 < replace(moved, floors=(0.0, 0.0)).p_worse < 1e-6
    assert moved.p_worse == moved.floors[0] > 1e-4  # all alike: they could be of two modes


@BOTH
@pytest.mark.parametrize(
    ("base", "head", "text"),
    [
        ([1, math.nan, 1], [1, 1, 1], "value 1 of base is nan"),
        ([1, 1, 1], [1, 1, math.inf], "value 2 of head is inf"),
        ([1, 0.0, 1], [1, 1, 1], "value 1 of base is 0.0"),
        ([1, 1, 1], [-1, 1, 1], "value 0 of head is -1"),
        ([1, 1, 1], [1, "fast", 1], "value 1 of head is 'fast'"),
        ([1, 1, 1], [1, None, 1], "value 1 of head is None"),
        ([1], [1], "cannot show the noise; at least 2 are needed"),
        ([], [], "cannot show the noise; at least 2 are needed"),
    ],
)
def test_numbers_that_no_test_can_be_made_of(
    estimator: Estimator, base: list[float], head: list[float], text: str
) -> None:
    with pytest.raises(StatsError) as caught:
        estimator(base, head, "lower")
    assert text in str(caught.value)


def test_pairs_need_two_of_a_kind() -> None:
    with pytest.raises(StatsError, match="3 values of base and 2 of head cannot be paired"):
        paired_estimate([1, 1, 1], [1, 1], "lower")


@BOTH
def test_extreme_values_do_not_overflow(estimator: Estimator) -> None:
    estimate = estimator([1e-300, 1e300], [1e300, 1e-300], "lower")
    low, high = estimate.bounds(0.9)
    assert -1 <= low < high < math.inf
