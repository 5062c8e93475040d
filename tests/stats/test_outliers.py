"""What is left out, and what is not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regress.stats.outliers import outlying
from regress.stats.prior import Prior
from tests.stats.simulation import rate_interval

CLOSE = (0.001, -0.002, 0.0, 0.002, -0.001)


def test_a_far_value_is_left_out_whichever_way_it_lies() -> None:
    assert outlying([*CLOSE, 0.3], None) == (5,)
    assert outlying([-0.3, *CLOSE], None) == (0,)


def test_four_values_keep_all_and_ten_lose_two_at_most() -> None:
    assert outlying([0.0, 0.001, 0.002, 5.0], None) == ()
    ten = [*CLOSE, *CLOSE, 0.5, 0.9, -0.7]
    assert len(outlying(ten, None)) <= 2
    assert sorted(outlying([*CLOSE, *CLOSE[:3], 0.5, 0.9], None)) == []  # two that hide each other stay


def test_a_history_shows_what_five_values_cannot() -> None:
    values = [0.01, -0.01, 0.005, -0.005, 0.12]
    assert outlying(values, None) == ()
    assert outlying(values, Prior(sd=0.01, df=10, launches=20)) == (4,)
    assert outlying(values, Prior(sd=0.06, df=10, launches=20)) == ()


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=12))
def test_at_most_one_in_five_goes(values: list[float]) -> None:
    assert len(outlying(values, None)) <= len(values) // 5


def test_normal_noise_loses_one_group_in_a_thousand() -> None:
    draw, repeats = np.random.default_rng(5), 4000
    lost = sum(bool(outlying(draw.normal(0, 1, 8).tolist(), None)) for _ in range(repeats))
    low, high = rate_interval(lost, repeats)
    assert low <= 1e-3 <= high
