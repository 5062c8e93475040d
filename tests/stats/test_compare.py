"""The rule: Holm, the four answers and their reasons."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import regress
from regress.errors import RequestError, StatsError
from regress.stats.compare import Answer, Criteria, compare, decide, holm
from regress.stats.interval import Direction, paired_estimate

FLIPPED: dict[Answer, Answer] = {
    "regressed": "improved",
    "improved": "regressed",
    "unchanged": "unchanged",
    "inconclusive": "inconclusive",
}
p_values = st.lists(st.floats(0, 1), max_size=8)


def launches(count: int, level: float = 0.1, noise: float = 0.01, seed: int = 1) -> list[float]:
    draw = random.Random(seed)
    return [level * math.exp(draw.gauss(0, noise)) for _ in range(count)]


def test_the_package_offers_compare() -> None:
    assert regress.compare is compare


def test_holm_on_the_textbook_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


@given(p_values)
def test_holm_rejects_what_its_step_down_rejects(values: list[float]) -> None:
    for level in (0.01, 0.2):
        rejected, left = set(), sorted(range(len(values)), key=lambda place: values[place])
        while left and values[left[0]] * len(left) <= level:
            rejected.add(left.pop(0))
        assert {place for place, p in enumerate(holm(values)) if p <= level} == rejected


@pytest.mark.parametrize("value", [math.nan, -0.1, 1.1])
def test_holm_refuses_what_is_no_probability(value: float) -> None:
    with pytest.raises(StatsError, match=r"outside \[0, 1\]"):
        holm([0.5, value])


@pytest.mark.parametrize("direction", ["lower", "higher"])
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(
    ("head", "if_lower"),
    [(0.1 * 1.05, "regressed"), (0.1 / 1.05, "improved"), (0.1, "unchanged")],
)
def test_the_three_answers(head: float, if_lower: Answer, paired: bool, direction: Direction) -> None:
    answer = compare(
        launches(8, noise=0.002),
        launches(8, level=head, noise=0.002, seed=2),
        paired=paired,
        direction=direction,
    )
    assert answer.verdict == (if_lower if direction == "lower" else FLIPPED[if_lower])
    assert answer.low < answer.change < answer.high
    assert answer.design == ("paired" if paired else "unpaired")
    assert answer.confidence == 0.9
    assert any("noise model" in note for note in answer.notes) == (answer.verdict != "unchanged")


@given(
    st.lists(st.tuples(st.floats(0.5, 2), st.floats(0.5, 2)), min_size=2, max_size=10),
    st.booleans(),
    st.sampled_from(("lower", "higher")),
)
def test_swapping_the_sides_flips_the_answer(
    pairs: list[tuple[float, float]], paired: bool, direction: Direction
) -> None:
    base, head = zip(*pairs, strict=True)
    forth = compare(base, head, paired=paired, min_change=0, direction=direction)
    back = compare(head, base, paired=paired, min_change=0, direction=direction)
    assert back.verdict == FLIPPED[forth.verdict]


@given(
    st.lists(st.tuples(st.floats(0.5, 2), st.floats(0.5, 2)), min_size=2, max_size=10),
    st.floats(0, 0.2),
    st.booleans(),
)
def test_the_answer_follows_from_the_numbers_beside_it(
    pairs: list[tuple[float, float]], min_change: float, paired: bool
) -> None:
    base, head = zip(*pairs, strict=True)
    answer = compare(base, head, paired=paired, min_change=min_change)
    enough = len(pairs) >= (5 if paired else 7)
    assert (answer.detectable is None) == (not enough)
    assert (answer.verdict == "regressed") == (answer.p <= 0.01 and answer.change >= min_change and enough)
    inside = -min_change <= answer.low and answer.high <= min_change
    assert (answer.verdict == "unchanged") == (inside and enough)
    assert answer.detectable is None or answer.detectable > min_change


@pytest.mark.parametrize(("paired", "fewest"), [(True, 5), (False, 7)])
def test_too_few_launches_claim_nothing(paired: bool, fewest: int) -> None:
    few = compare([0.1] * (fewest - 1), [0.2] * (fewest - 1), paired=paired)
    assert few.verdict == "inconclusive"
    assert few.reason.startswith("noise unknown: nothing is claimed on fewer than")
    assert few.detectable is None
    same = compare([0.1] * (fewest - 1), [0.1] * (fewest - 1), paired=paired)
    assert (same.verdict, same.detectable) == ("inconclusive", None)
    assert compare([0.1] * fewest, [0.2] * fewest, paired=paired).verdict == "regressed"


def test_a_test_that_cannot_see_says_so() -> None:
    blind = compare(launches(8, noise=0.05), launches(8, noise=0.05, seed=3), paired=True)
    assert blind.detectable is not None
    assert blind.detectable > 0.03
    assert blind.verdict == "inconclusive"
    assert blind.reason.startswith("blind: finds a worsening from ")
    assert "must see 3 %; needs " in blind.reason
    assert compare([1, 2, 1], [2, 1, 1], paired=True).reason.startswith("blind: nothing is claimed")


@pytest.mark.parametrize("change", [0.013, -0.013, 0.006, -0.006, 0.0])
def test_the_blocks_it_needs_would_be_enough(change: float) -> None:
    """With as many blocks as it asks for, and estimate and noise as they were, it decides."""
    alternating = [1.012 * (1 + change), (1 + change) / 1.012] * 3
    first = compare([1.0] * 6, alternating, paired=True)
    assert first.verdict == "inconclusive"
    more = int(first.reason.split("needs ")[1].split(" more")[0])
    estimate = paired_estimate([1.0] * 6, alternating, "lower")
    criteria = Criteria(min_change=0.01, must_see=10.0, false_alarms=0.01)
    for blocks, decided in ((6 + more, True), (6 + more - 1, False)):
        se, df = estimate.at(blocks)
        as_if = type(estimate)(
            worse=estimate.worse,
            sd=estimate.sd,
            se=se,
            df=df,
            launches=(blocks, blocks),
            design="paired",
            direction="lower",
        )
        decision = decide(as_if, criteria, p_worse=as_if.p_worse, p_better=as_if.p_better)
        if not first.reason.startswith("blind"):
            assert (decision.verdict != "inconclusive") == decided


def test_a_family_lowers_what_is_detectable() -> None:
    estimate = paired_estimate([1.0] * 8, launches(8, level=1.0), "lower")
    criteria = Criteria(min_change=0.01, must_see=0.03, false_alarms=0.01)
    one, many = (
        decide(estimate, criteria, p_worse=0.5, p_better=0.5, family=family).detectable for family in (1, 50)
    )
    assert one is not None
    assert many is not None
    assert one < many


def test_a_history_lends_its_noise() -> None:
    base, head = launches(8, noise=0.002), launches(8, noise=0.002, seed=2)
    quiet, noisy = launches(20, noise=0.002, seed=5), launches(20, noise=0.02, seed=5)
    alone, with_quiet, with_noisy = (compare(base, head, prior=prior) for prior in (None, quiet, noisy))
    assert with_quiet.high - with_quiet.low < alone.high - alone.low < with_noisy.high - with_noisy.low
    assert with_quiet.detectable is not None
    assert alone.detectable is not None
    assert with_quiet.detectable < alone.detectable


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("earlier", "fewest"), [(10, 3), (4, 3), (2, 4)])
def test_with_a_history_three_launches_a_side_may_claim_a_change(
    earlier: int, fewest: int, paired: bool
) -> None:
    prior = launches(earlier, noise=0.001, seed=3)
    for count in (fewest - 1, fewest):
        base = launches(count, noise=0.001)
        head = launches(count, level=0.12, noise=0.001, seed=2)
        found = compare(base, head, paired=paired, prior=prior)
        assert (found.verdict == "regressed") == (count == fewest)
        assert not any("noise model" in note for note in found.notes)


def test_launches_noisier_than_their_history_borrow_nothing() -> None:
    base, head = launches(5, noise=0.05), launches(5, noise=0.05, seed=2)
    found = compare(base, head, prior=launches(20, noise=0.001, seed=5))
    assert "noisier than its history" in found.notes[0]
    assert found.high - found.low == pytest.approx((without := compare(base, head)).high - without.low)


def test_two_modes_that_the_history_shows_are_no_regression() -> None:
    modes = [0.1, 0.11, 0.1, 0.11, 0.11, 0.1, 0.1, 0.11, 0.1, 0.11, 0.1, 0.11]
    assert compare([0.1] * 3, [0.11] * 3, prior=modes).verdict == "inconclusive"
    assert compare([0.1] * 3, [0.11] * 3, prior=[0.1] * 12).verdict == "regressed"


@pytest.mark.parametrize("paired", [True, False])
def test_one_outlying_launch_neither_hides_nor_makes_a_regression(paired: bool) -> None:
    base, head = launches(8, noise=0.003), launches(8, level=0.11, noise=0.003, seed=2)
    disturbed = [*base[:-1], 1.6 * base[-1]]
    found = compare(disturbed, head, paired=paired)
    assert found.verdict == "regressed"
    assert found.change == pytest.approx(0.1, abs=0.01)
    assert "left out" in found.notes[0]
    same = launches(8, noise=0.003, seed=4)
    made = compare(base, [*same[:-1], 1.6 * same[-1]], paired=paired)
    assert made.verdict == "unchanged"


def test_two_of_five_are_never_left_out() -> None:
    found = compare([0.1, 0.1001, 0.1002, 0.1003, 0.1004], [0.1, 0.1001, 0.1002, 0.15, 0.16], paired=True)
    assert not any("left out" in note for note in found.notes)


def test_a_prior_that_is_no_measurement_is_refused() -> None:
    with pytest.raises(StatsError, match="value 1 of prior is nan"):
        compare([1, 1, 1], [1, 1, 1], prior=[1.0, math.nan])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"min_change": 1.0}, "min_change is 1.0"),
        ({"min_change": -0.1}, "min_change is -0.1"),
        ({"min_change": math.nan}, "min_change is nan"),
        ({"false_alarms": 0.0}, "false_alarms is 0.0"),
        ({"false_alarms": 1.0}, "false_alarms is 1.0"),
        ({"direction": "less"}, "direction is 'less'"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(RequestError, match=text):
        compare([1, 1], [1, 1], **arguments)  # type: ignore[arg-type]
