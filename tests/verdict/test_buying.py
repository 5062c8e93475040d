"""Whether more blocks are worth their time."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from regress.stats.compare import Criteria
from regress.stats.interval import Estimate
from regress.verdict.buying import hopeless

CRITERIA = Criteria(min_change=0.05, must_see=0.15, false_alarms=0.01)


def estimate(worse: float, sd: float, blocks: int = 5) -> Estimate:
    return Estimate(
        worse=worse,
        sd=sd,
        se=sd / math.sqrt(blocks),
        df=blocks - 1,
        launches=(blocks, blocks),
        design="paired",
        direction="lower",
        share=0.5,
        last_share=0.5,
    )


@pytest.mark.parametrize(
    ("worse", "sd"),
    [(0.0, 0.02), (0.1, 0.03), (-0.1, 0.03), (0.03, 0.03), (0.1, 0.1)],
    ids=["unchanged", "regressed", "improved", "either", "blind, and large enough to be found"],
)
def test_while_a_decision_has_a_chance_there_is_hope(worse: float, sd: float) -> None:
    assert hopeless(estimate(worse, sd), CRITERIA, 1, 8) is None


def test_between_two_verdicts_more_blocks_are_futile() -> None:
    """4.6 % worse: too near to 5 % for `unchanged`, and too far below for `regressed`."""
    reason = hopeless(estimate(0.045, 0.01), CRITERIA, 1, 8)
    assert reason == "futile: neither decision has a chance of 10 % within 8 blocks"
    assert hopeless(estimate(0.045, 0.01), CRITERIA, 1, 100) is None


def test_noise_beyond_what_the_plan_can_see_is_blind() -> None:
    reason = hopeless(estimate(0.0, 0.1), CRITERIA, 1, 8)
    assert reason == "blind: even 8 blocks would find a worsening only from 19.9 %, and must see 15 %"
    assert hopeless(estimate(0.0, 0.1), CRITERIA, 1, 13) is None  # they see enough to pass


def test_what_is_blind_now_and_sees_at_the_end_goes_on() -> None:
    """Without a decision it can still show that nothing large was missed."""
    assert hopeless(estimate(0.0, 0.06), CRITERIA, 1, 8) is None
    seeing = replace(CRITERIA, must_see=0.25)
    assert (hopeless(estimate(0.0, 0.06), seeing, 1, 8) or "").startswith("futile: ")


def test_of_many_questions_each_has_less_hope() -> None:
    assert hopeless(estimate(0.1, 0.1), CRITERIA, 1, 8) is None
    assert (hopeless(estimate(0.1, 0.1), CRITERIA, 50, 8) or "").startswith("blind: ")


def test_where_nothing_can_be_found_it_says_so() -> None:
    """Five blocks without a history could all be of two modes, at the level of 50 questions."""
    reason = hopeless(estimate(0.0, 0.06, blocks=3), CRITERIA, 50, 5)
    assert reason == "blind: even 5 blocks would find nothing, and must see 15 %"
