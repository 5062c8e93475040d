"""What a history lends: its variance, how well it is known, and whether launches have modes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regress.stats.prior import CAP, SD_FLOOR, Prior, borrow, paired, pooled, prior_of

logs = st.lists(st.floats(-1, 1), min_size=2, max_size=8)


def drawn(seed: int, size: int, sd: float = 0.01) -> list[float]:
    return [float(value) for value in np.random.default_rng(seed).normal(0, sd, size)]


def lenders(count: int, sds: list[float], size: int = 12) -> list[Prior]:
    found = [prior_of([drawn(seed, size, sds[seed % len(sds)])]) for seed in range(count)]
    return [prior for prior in found if prior is not None]


@given(st.lists(logs, min_size=1, max_size=5), st.floats(-5, 5))
def test_levels_of_groups_do_not_count(groups: list[list[float]], level: float) -> None:
    plain = prior_of(groups)
    moved = prior_of([[value + level * place for value in group] for place, group in enumerate(groups)])
    assert plain is not None
    assert moved is not None
    assert moved.sd == pytest.approx(plain.sd, abs=1e-9)
    assert moved.launches == plain.launches == sum(map(len, groups))
    assert plain.df <= min(CAP, sum(len(group) - 1 for group in groups))


def test_the_variance_is_pooled_over_the_groups() -> None:
    prior = prior_of([[0.0, 0.2], [1.0, 1.0, 1.0, 1.4]])
    assert prior is not None
    assert prior.sd == pytest.approx(math.sqrt((0.02 + 0.12) / 4))
    assert prior.df == 4
    assert prior.residuals == pytest.approx((-0.1, 0.1, -0.1, -0.1, -0.1, 0.3))


@pytest.mark.parametrize("groups", [[], [[0.1]], [[0.1], [0.2]]])
def test_single_launches_tell_nothing(groups: list[list[float]]) -> None:
    assert prior_of(groups) is None


def test_a_history_is_worth_ten_degrees_of_freedom_at_most_and_fewer_when_its_noise_changes() -> None:
    steady = prior_of([drawn(seed, 8) for seed in range(10)])
    restless = prior_of([drawn(seed, 8, 0.002 * 3 ** (seed % 4)) for seed in range(10)])
    assert steady is not None
    assert restless is not None
    assert steady.df == CAP
    assert 0.5 < restless.df < 4


def test_blocks_count_two_launches_each() -> None:
    prior = prior_of([drawn(1, 6)], launches_each=2)
    assert prior is not None
    assert prior.launches == 12


def test_other_benchmarks_lend_little_when_their_noise_lies_far_apart() -> None:
    alike = borrow(None, lenders(20, [0.01]))
    apart = borrow(None, lenders(20, [0.001, 0.004, 0.016, 0.064]))
    assert alike is not None
    assert apart is not None
    assert alike.df == CAP
    assert apart.df < 2.5
    assert alike.sd == pytest.approx(0.01, rel=0.2)
    assert (alike.launches, alike.residuals) == (0, ())


def test_few_benchmarks_or_short_ones_lend_nothing() -> None:
    assert borrow(None, lenders(9, [0.01])) is None
    assert borrow(None, lenders(20, [0.01], size=9)) is None


def test_a_short_history_takes_what_others_lend_and_a_long_one_does_not() -> None:
    others = lenders(20, [0.01])
    short, long = prior_of([drawn(50, 4, 0.002)]), prior_of([drawn(51, 30, 0.002)])
    assert short is not None
    assert long is not None
    lent = borrow(short, others)
    assert lent is not None
    assert short.sd < lent.sd < 0.01
    assert (lent.launches, lent.residuals, lent.df) == (4, short.residuals, CAP)
    assert borrow(long, others) is long


def test_launches_with_modes_or_spikes_vouch_for_nobody() -> None:
    draw = np.random.default_rng(3)

    def plain(make: object) -> bool:
        others = [prior_of([make().tolist()]) for _ in range(40)]  # type: ignore[operator]
        lent = borrow(None, [each for each in others if each is not None])
        assert lent is not None
        return lent.plain

    assert plain(lambda: draw.normal(0, 0.01, 12))
    assert not plain(lambda: draw.normal(0, 0.001, 12) + 0.05 * (draw.random(12) < 0.5))
    assert not plain(lambda: draw.normal(0, 0.001, 12) + 0.05 * (draw.random(12) < 0.08))
    assert not plain(lambda: 0.01 * draw.standard_t(2, 12))


def test_the_difference_of_two_launches_is_noisier_by_the_root_of_two() -> None:
    prior = paired(Prior(sd=0.01, df=3, launches=4, residuals=(0.01, -0.01)))
    assert prior.sd == pytest.approx(0.01 * math.sqrt(2))
    assert prior.residuals == pytest.approx((0.01 * math.sqrt(2), -0.01 * math.sqrt(2)))


@pytest.mark.parametrize(
    ("squares", "freedom", "prior", "expected"),
    [
        (2 * 0.02**2, 2, Prior(sd=0.01, df=6, launches=7), ((2 * 4e-4 + 6 * 1e-4) / 8, 8, 0)),
        (0.0, 0, Prior(sd=0.01, df=6, launches=7), (1e-4, 6, 0)),
        (3e-4, 3, None, (1e-4, 3, 0)),
        (4 * 0.01**2, 4, Prior(sd=0.001, df=10, launches=20), (1e-4, 4, 1)),
    ],
    ids=["by degrees of freedom", "history alone", "no history", "history far quieter than today"],
)
def test_variances_are_pooled(
    squares: float, freedom: int, prior: Prior | None, expected: tuple[float, float, int]
) -> None:
    assert pooled(squares, freedom, prior) == pytest.approx(expected)


def test_a_history_without_noise_has_the_least_that_is_believed() -> None:
    variance, _, conflict = pooled(0.0, 2, Prior(sd=0.0, df=8, launches=9))
    assert variance == pytest.approx(0.8 * SD_FLOOR**2)
    assert not conflict
