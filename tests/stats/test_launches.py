"""What the documentation says of real launches, on few splits of each group."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stats.labels import data_path
from tests.stats.launches import (
    DATA,
    SUITE,
    Split,
    load,
    lower_limit,
    ours,
    rates,
    rejected,
    splits,
    student,
)
from tests.stats.simulation import rate_interval

pytestmark = pytest.mark.skipif(
    not data_path(DATA).exists(), reason="no real launches here; REGRESS_DATA names their folder"
)
REPEATS = 8


@pytest.fixture(scope="module")
def taken() -> dict[int, list[list[Split]]]:
    groups = load()
    return {launches: splits(groups, launches, REPEATS, seed=launches) for launches in (3, 4, 5)}


@pytest.mark.parametrize("launches", [3, 4, 5])
def test_identical_sides_are_rarely_rejected(taken: dict[int, list[list[Split]]], launches: int) -> None:
    trials = REPEATS * len(taken[launches])
    low, _ = rate_interval(round(trials * rejected(taken[launches], ours).mean()), trials)
    assert low <= 0.01


@pytest.mark.parametrize(
    ("launches", "change", "family", "least"),
    [
        (3, 0.01, 1, 0.85),
        (5, 0.01, 1, 0.9),
        (3, 0.02, 1, 0.95),
        (5, 0.01, SUITE, 0.8),
        (3, 0.02, SUITE, 0.85),
    ],
)
def test_small_slowdowns_are_found(
    taken: dict[int, list[list[Split]]], launches: int, change: float, family: int, least: float
) -> None:
    """Up to what few splits can tell: two standard errors within the groups."""
    found = rates(taken[launches], change, ours, family)
    slack = 2 * np.sqrt(np.mean(found * (1 - found)) / (REPEATS * len(found)))
    assert found.mean() >= least - slack


@pytest.mark.parametrize("launches", [3, 5])
def test_students_t_finds_no_more(taken: dict[int, list[list[Split]]], launches: int) -> None:
    for change, family in ((0.01, 1), (0.01, SUITE)):
        mine = rates(taken[launches], change, ours, family)
        theirs = rates(taken[launches], change, student, family)
        difference = theirs - mine
        assert difference.mean() <= 2 * difference.std(ddof=1) / np.sqrt(len(difference))


def test_the_lower_limit_lies_below_the_mean_and_above_what_few_groups_do() -> None:
    assert 0.55 < lower_limit(np.array([0.0, 1.0] * 50 + [1.0] * 50)) < 0.667
