"""From points to a series: order, boundaries, what is open, what it comes to."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from regress.record.history import Change, Remeasured
from regress.record.metric import METRICS
from regress.verdict.history import reviewed, says, series_of
from tests.verdict.readings import AFTER, BEFORE, STEP, around, commit, reading, readings

COUNT = replace(STEP, metric="collective_count", mode="any")
STEPPED = [*around(0.010, 20), *around(0.0105, 20)]


def test_a_step_stands_with_its_commits_and_is_open() -> None:
    series = series_of(STEP, readings(STEPPED), by_git=True)
    (change,) = series.changes
    assert (change.index, change.state, change.open, change.worse) == (20, "confirmed", True, True)
    assert change.commits == f"{commit(19)[:12]}..{commit(20)[:12]}"
    assert (change.distance, change.subject, change.started[:10]) == (1, "Change 20", "2026-01-21")
    assert change.change == pytest.approx(0.05, abs=0.004)
    assert change.low == pytest.approx(0.0465, abs=0.004)
    assert change.high == pytest.approx(0.0499, abs=0.004)
    assert (change.before, change.after) == (series.levels[0].median, series.levels[1].median)
    assert [(level.start, level.end) for level in series.levels] == [(0, 20), (20, 40)]
    assert series.state == "regressed"


def test_without_git_nobody_counts_commits() -> None:
    (change,) = series_of(STEP, readings(STEPPED), by_git=False).changes
    assert change.distance is None


def test_a_step_that_went_back_is_told_and_not_open() -> None:
    values = [*STEPPED, *around(0.0101, 20)]
    series = series_of(STEP, readings(values), by_git=True)
    worse, better = series.changes
    assert (worse.worse, worse.open, worse.state) == (True, False, "confirmed")
    assert not better.worse
    assert series.state == "improved" if better.open else series.state == "steady"


@pytest.mark.parametrize(("back", "open_"), [(0.01035, True), (0.01015, False)])
def test_a_step_of_which_half_is_left_is_open(back: float, open_: bool) -> None:
    series = series_of(STEP, readings([*STEPPED, *around(back, 20, noise=0.001)]), by_git=True)
    assert series.changes[0].open is open_


def test_a_step_that_was_more_than_made_up_for_is_not_open() -> None:
    series = series_of(STEP, readings([*STEPPED, *around(0.0095, 20)]), by_git=True)
    assert [(change.worse, change.open) for change in series.changes] == [(True, False), (False, True)]
    assert series.state == "improved"


def test_more_is_better_where_the_metric_says_so() -> None:
    key = replace(STEP, metric="tokens_per_s")
    series = series_of(key, readings([*around(100.0, 20), *around(110.0, 20)]), by_git=True)
    assert series.state == "improved"
    assert not series.changes[0].worse


def test_the_order_of_readings_is_no_matter() -> None:
    values: list[float | None] = list(STEPPED)
    values[5] = values[25] = None
    ordered = [replace(each, conditions=each.conditions and (BEFORE if each.place < 20 else AFTER))
               for each in readings(values)]  # fmt: skip
    expected = series_of(STEP, ordered, by_git=True)
    assert [one.index for one in expected.breaks] == [20]
    for seed in range(5):
        mixed = list(ordered)
        random.Random(seed).shuffle(mixed)
        assert series_of(STEP, mixed, by_git=True) == expected


def test_an_old_commit_that_is_measured_again_stands_beside_its_first_point() -> None:
    again = [reading(5, 0.010, day=50 + n, run=f"a{n:07x}") for n in range(5)]
    series = series_of(STEP, [*readings(STEPPED), *again], by_git=True)
    assert [point.commit for point in series.points[5:11]] == [commit(5)] * 6
    (change,) = series.changes
    assert change.commits == f"{commit(19)[:12]}..{commit(20)[:12]}"


def test_base_stands_before_head_where_both_are_of_one_commit_and_moment() -> None:
    base, head = reading(3, 0.010, run="b"), reading(3, 0.011, run="h", later=True)
    series = series_of(STEP, [head, base], by_git=True)
    assert [point.run for point in series.points] == ["b", "h"]


def test_a_step_between_two_measurements_of_one_commit_says_so() -> None:
    first = readings(around(0.010, 20))
    second = [reading(19, value, day=20 + n) for n, value in enumerate(around(0.0105, 20))]
    (change,) = series_of(STEP, [*first, *second], by_git=True).changes
    assert change.distance == 0


def test_other_conditions_begin_a_new_level_and_are_no_alarm() -> None:
    before, after = STEPPED[:20], STEPPED[20:]
    series = series_of(
        STEP,
        [*readings(before), *(reading(20 + n, v, conditions=AFTER) for n, v in enumerate(after))],
        by_git=True,
    )
    assert (series.changes, series.state) == ((), "steady")
    (one,) = series.breaks
    assert (one.index, [(d.field, d.base, d.head) for d in one.differences]) == (
        20,
        [("torch", "2.13.0", "2.14.0")],
    )
    assert one.change == pytest.approx(0.05, abs=0.005)


def test_a_step_before_other_conditions_is_not_open() -> None:
    later = [reading(40 + n, v, conditions=AFTER) for n, v in enumerate(around(0.0105, 20))]
    series = series_of(STEP, [*readings(STEPPED), *later], by_git=True)
    assert [(change.index, change.open) for change in series.changes] == [(20, False)]
    assert series.state == "steady"


def test_old_conditions_met_again_cut_nothing() -> None:
    new = [reading(20 + n, v, conditions=AFTER) for n, v in enumerate(around(0.010, 20))]
    old_again = [reading(3, 0.010, day=60, conditions=BEFORE)]
    series = series_of(STEP, [*readings(around(0.010, 20)), *new, *old_again], by_git=True)
    assert [one.index for one in series.breaks] == [21]


def test_going_back_to_old_conditions_makes_these_the_newest() -> None:
    new = [reading(20 + n, v, conditions=AFTER) for n, v in enumerate(around(0.010, 3))]
    back = [reading(23 + n, v) for n, v in enumerate(around(0.010, 5))]
    series = series_of(STEP, [*readings(around(0.010, 20)), *new, *back], by_git=True)
    assert [one.index for one in series.breaks] == [3]
    assert series.points[-1].commit == commit(27)


def test_a_failure_stands_among_its_neighbours_and_breaks_the_series_only_as_the_newest() -> None:
    values: list[float | None] = list(around(0.010, 20))
    values[7] = None
    series = series_of(STEP, readings(values), by_git=True)
    assert (series.breaks, series.state, series.points[7].value) == ((), "steady", None)
    series = series_of(STEP, readings([*values, None]), by_git=True)
    assert (series.breaks, series.state) == ((), "broken")


def test_few_points_are_no_answer() -> None:
    series = series_of(STEP, readings(around(0.010, 7)), by_git=True)
    assert series.state == "short"
    assert "7 of 8" in series.reason
    assert series_of(STEP, readings(around(0.010, 8)), by_git=True).state == "steady"


def test_few_points_under_new_conditions_are_no_answer() -> None:
    new = [reading(20 + n, v, conditions=AFTER) for n, v in enumerate(around(0.010, 2))]
    series = series_of(STEP, [*readings(around(0.010, 20)), *new], by_git=True)
    assert series.state == "short"
    assert "newest conditions" in series.reason


def test_a_count_that_changes_is_confirmed_at_once() -> None:
    series = series_of(COUNT, readings([300, 300, None, 302]), by_git=True)
    (change,) = series.changes
    assert (change.index, change.state, change.low, change.high) == (3, "confirmed", 2 / 300, 2 / 300)
    assert (change.commits, change.distance) == (f"{commit(1)[:12]}..{commit(3)[:12]}", 2)
    assert (series.kind, series.state) == ("exact", "regressed")


def test_a_count_from_zero_has_no_fraction() -> None:
    (change,) = series_of(COUNT, readings([0, 0, 5]), by_git=True).changes
    assert (change.change, change.low, change.high, change.worse, change.open) == (
        None,
        None,
        None,
        True,
        True,
    )
    (change,) = series_of(COUNT, readings([5, 5, 0]), by_git=True).changes
    assert (change.change, change.worse, change.open) == (-1.0, False, True)


def test_a_count_on_which_launches_disagree_is_judged_as_noisy() -> None:
    one = [reading(0, 300, agree=False), *readings([300, 302])[1:]]
    series = series_of(COUNT, one, by_git=True)
    assert (series.kind, series.changes, series.state) == ("timed", (), "short")


def test_values_that_cannot_be_judged_say_why() -> None:
    series = series_of(replace(STEP, metric="loss"), readings([*around(2.0, 10), -1.0]), by_git=True)
    assert "negative" in series.reason
    assert (series.state, series.changes) == ("short", ())


def drifting(share: float = 0.05) -> list[float]:
    draw = random.Random(3)
    return [0.010 * (1 + share * place / 99) * (1 + draw.gauss(0, 0.004)) for place in range(100)]


def test_drift_is_told_from_the_anchor() -> None:
    points = [replace(each, to_anchor=each.place <= 25) for each in readings(drifting())]
    series = series_of(STEP, points, by_git=True)
    assert series.anchor == 25
    assert series.drift is not None
    assert (series.drift.index, series.state in ("drifted", "regressed")) == (25, True)
    assert series_of(STEP, readings(drifting()), by_git=True).drift is None


def test_an_anchor_under_other_conditions_is_none() -> None:
    points = [
        replace(each, to_anchor=each.place <= 25, conditions=BEFORE if each.place < 30 else AFTER)
        for each in readings(drifting())
    ]
    series = series_of(STEP, points, by_git=True)
    assert (series.anchor, series.drift) == (None, None)


def test_the_anchor_counts_from_the_newest_conditions() -> None:
    points = [
        replace(each, to_anchor=each.place <= 35, conditions=BEFORE if each.place < 10 else AFTER)
        for each in readings(drifting())
    ]
    series = series_of(STEP, points, by_git=True)
    assert series.drift is not None
    assert (series.anchor, series.drift.index) == (35, 35)


SUSPECTED = series_of(STEP, readings([*around(0.010, 20), *around(0.0105, 4)]), by_git=True)


def said(word: str) -> Remeasured:
    return Remeasured(
        says=word,  # type: ignore[arg-type]
        base="b", head="h", change=0.05, low=0.04, high=0.06, reason="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "state", "of_series"),
    [
        ("confirmed", "confirmed", "regressed"),
        ("refuted", "refuted", "steady"),
        ("undecided", "suspected", "suspected"),
    ],
)
def test_measuring_again_decides_what_is_suspected(word: str, state: str, of_series: str) -> None:
    assert SUSPECTED.state == "suspected"
    series = reviewed(SUSPECTED, {SUSPECTED.changes[0].index: said(word)})
    assert (series.changes[0].state, series.state) == (state, of_series)
    assert series.changes[0].remeasured == said(word)


def test_what_is_confirmed_stays_so() -> None:
    series = series_of(STEP, readings(STEPPED), by_git=True)
    assert reviewed(series, {20: said("refuted")}).state == "regressed"


WORSE = SUSPECTED.changes[0]
BETTER = replace(WORSE, change=-0.05, worse=False)


@pytest.mark.parametrize(
    ("verdict", "change", "low", "high", "word"),
    [
        ("regressed", WORSE, 0.04, 0.06, "confirmed"),
        ("broken", WORSE, None, None, "confirmed"),
        ("unchanged", WORSE, -0.01, 0.01, "refuted"),
        ("unchanged", WORSE, 0.0, 0.04, "undecided"),
        ("improved", WORSE, -0.06, -0.04, "refuted"),
        ("inconclusive", WORSE, -0.02, 0.06, "undecided"),
        ("improved", BETTER, -0.06, -0.04, "confirmed"),
        ("regressed", BETTER, 0.04, 0.06, "refuted"),
        ("unchanged", BETTER, -0.01, 0.01, "refuted"),
        ("unchanged", BETTER, -0.04, 0.0, "undecided"),
        (None, WORSE, 0.04, 0.06, "undecided"),
        ("inconclusive", replace(WORSE, change=None), -0.01, 0.01, "undecided"),
    ],
)
def test_a_comparison_confirms_by_its_verdict_and_refutes_by_its_interval(
    verdict: str | None, change: Change, low: float | None, high: float | None, word: str
) -> None:
    assert says(verdict, change, low, high)[0] == word


def test_of_a_count_of_which_more_is_better_less_is_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(METRICS["collective_count"], direction="higher")
    monkeypatch.setitem(METRICS, "collective_count", other)
    (change,) = series_of(COUNT, readings([300, 300, 270]), by_git=True).changes
    assert (change.change, change.worse) == (0.1, True)
