"""Shares of the error rates, p-values over looks, and what can still be decided."""

from __future__ import annotations

import numpy as np
import pytest

from regress.stats.interval import as_log, paired_estimate
from regress.stats.prior import Prior
from regress.stats.sequential import best_chance, sequential_p, shares


@pytest.mark.parametrize("looks", [1, 2, 3, 6])
def test_the_shares_are_all_there_is(looks: int) -> None:
    assert sum(shares(looks)) == pytest.approx(1)
    assert len(shares(looks)) == looks
    assert min(shares(looks)) > 0


def test_over_looks_the_best_counts_at_the_price_of_its_share() -> None:
    assert sequential_p([0.004, 0.001], [0.5, 0.5]) == pytest.approx(0.002)
    assert sequential_p([0.001, 0.9], [0.25, 0.75]) == pytest.approx(0.004)
    assert sequential_p([0.9, 0.9], [0.5, 0.5]) == 1


def test_stopping_when_it_pleases_keeps_the_rate() -> None:
    draw, repeats, found = np.random.default_rng(2), 4000, 0
    for _ in range(repeats):
        values = draw.normal(0, 1, 8)
        p_values = [0.5 - abs(0.5 - draw.random()) for _ in range(3)] if values is None else []
        for look in (3, 5, 8):
            ratios = np.exp(0.01 * values[:look]).tolist()
            p_values.append(paired_estimate([1.0] * look, ratios, "lower").p_worse)
        found += sequential_p(p_values, shares(3)) <= 0.05
    assert found / repeats <= 0.06


def test_the_chance_of_a_decision_is_what_continuing_shows() -> None:
    prior = Prior(sd=0.01, df=10, launches=40, residuals=(0.0,) * 40)
    draw = np.random.default_rng(6)
    first = draw.normal(0.004, 0.01, 3)
    spent = (shares(2)[0], shares(2)[1])
    estimate = paired_estimate([1.0] * 3, np.exp(first).tolist(), "lower", prior=prior, shares=spent)
    chance = best_chance(estimate, min_change=0.02, level=0.01, confidence=0.9, launches=12)
    unchanged, repeats = 0, 3000
    true = draw.normal(estimate.worse, estimate.se, repeats)  # what is known of the true change now
    for change in true:
        later = np.concatenate([first, draw.normal(change, 0.01, 9)])
        done = paired_estimate(
            [1.0] * 12, np.exp(later).tolist(), "lower", prior=prior, shares=(spent[1], spent[1])
        )
        low, high = done.bounds(0.9)
        unchanged += low >= -0.02 and high <= 0.02
    assert chance == pytest.approx(unchanged / repeats, abs=0.08)


def test_without_hope_there_is_none() -> None:
    noisy = paired_estimate([1.0] * 5, [1.2, 0.8, 1.1, 0.9, 1.0], "lower")
    assert best_chance(noisy, min_change=0.01, level=0.01, confidence=0.9, launches=8) < 0.05
    clear = paired_estimate([1.0] * 5, [1.2, 1.21, 1.19, 1.2, 1.2], "lower")
    assert best_chance(clear, min_change=0.01, level=0.01, confidence=0.9, launches=8) > 0.99
    assert as_log(0.01, "lower") > 0
