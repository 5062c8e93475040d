"""The rates that the documentation states, on seeded noise."""

from __future__ import annotations

import numpy as np
import pytest

from regress.stats.compare import compare
from regress.stats.interval import Design, as_log
from regress.stats.power import detectable
from tests.stats.simulation import CASES, Case, alarms, normal, rate_interval

REPEATS = 2_000
QUICK = [case for case in CASES if case.noise is normal or case.family == 5]


@pytest.mark.parametrize(
    "case", QUICK, ids=lambda case: f"{case.family}-{case.design}-{case.launches}-{case.noise.__name__}"
)
def test_a_suite_that_did_not_change_rarely_regresses(case: Case) -> None:
    low, high = rate_interval(alarms(case, REPEATS, seed=7), REPEATS)
    assert low <= 0.01
    if case.noise is normal:  # there the rate is not only kept but spent
        assert high >= 0.01


def test_the_simulation_would_notice_a_rule_that_does_not_adjust() -> None:
    case = Case(family=20, launches=8, design="paired", noise=normal)
    low, _ = rate_interval(alarms(case, 500, seed=7, false_alarms=0.05), 500)
    assert low > 0.01


@pytest.mark.parametrize(
    ("design", "launches", "df"), [("paired", 5, 4), ("paired", 8, 7), ("unpaired", 8, 14)]
)
def test_a_detectable_worsening_is_called_regressed_nine_times_in_ten(
    design: Design, launches: int, df: int
) -> None:
    draw, sd, repeats = np.random.default_rng(3), 0.01, 1_000
    se = sd * np.sqrt(2 / launches)
    change = detectable(float(se), df, level=0.01, min_change=0.01, direction="lower")
    found = 0
    for _ in range(repeats):
        base, head = np.exp(draw.normal(0, sd, (2, launches)))
        head *= np.exp(as_log(change, "lower"))
        found += compare(base, head, paired=design == "paired").verdict == "regressed"
    low, high = rate_interval(found, repeats)
    assert low <= 0.9 <= high


def test_a_change_of_just_min_change_is_found_half_the_time() -> None:
    draw, repeats = np.random.default_rng(4), 400
    found = 0
    for _ in range(repeats):
        base, head = np.exp(draw.normal(0, 0.003, (2, 8)))
        found += compare(base, 1.03 * head, paired=True, min_change=0.03).verdict == "regressed"
    low, high = rate_interval(found, repeats)
    assert low <= 0.5 <= high
