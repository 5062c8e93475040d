"""Change points of histories whose steps are known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import regress
from regress.errors import RequestError, StatsError
from regress.stats.interval import Direction
from regress.stats.series import Level, change_points, levels

Value = float | None


def noisy(*stretches: tuple[float, int], noise: float = 0.01, seed: int = 1) -> list[float]:
    """A history of stretches, each a level and its number of points."""
    draw = np.random.default_rng(seed)
    return [level * math.exp(draw.normal(0, noise)) for level, points in stretches for _ in range(points)]


def found(values: Sequence[Value], **options: object) -> list[tuple[int, str]]:
    return [(point.index, point.state) for point in change_points(values, **options)]  # type: ignore[arg-type]


def test_the_package_hands_it_on() -> None:
    assert regress.change_points is change_points
    assert isinstance(change_points(noisy((100, 30), (110, 30)))[0], regress.ChangePoint)


@pytest.mark.parametrize("direction", ["lower", "higher"])
@pytest.mark.parametrize("new", [105.0, 95.0])
def test_a_step_is_reported_with_place_size_and_interval(new: float, direction: Direction) -> None:
    (point,) = change_points(noisy((100, 60), (new, 60)), direction=direction)
    worse = (new - 100) / 100 if direction == "lower" else (100 - new) / 100
    assert abs(point.index - 60) <= 1
    assert point.state == "confirmed"
    assert point.change == pytest.approx(worse, abs=0.01)
    assert point.low < worse < point.high
    assert 0.003 < point.high - point.low < 0.02


def test_each_step_of_a_staircase_is_measured_against_its_own_neighbours() -> None:
    points = change_points(noisy((100, 20), (110, 20), (99, 20), (99 * 1.2, 20)))
    assert [point.index for point in points] == [20, 40, 60]
    assert [point.change for point in points] == pytest.approx([0.1, -0.1, 0.2], abs=0.015)


@pytest.mark.parametrize(
    ("after", "states"),
    [(1, []), (2, []), (3, ["suspected"]), (7, ["suspected"]), (8, ["confirmed"]), (20, ["confirmed"])],
)
def test_a_step_is_suspected_from_its_third_point_and_confirmed_from_its_eighth(
    after: int, states: list[str]
) -> None:
    values = noisy((100, 50), (110, 20))[: 50 + after]
    assert [state for _, state in found(values)] == states


@pytest.mark.parametrize("place", [0, 1, 30, 58, 59])
@pytest.mark.parametrize("size", [0.0, 0.5, 0.9, 1.1, 1.5, 1000.0])
def test_a_single_spike_is_no_change(place: int, size: float) -> None:
    values = noisy((100, 60))
    values[place] *= size
    assert found(values) == []


@pytest.mark.parametrize("place", [0, 30, 58])
def test_two_odd_points_in_a_row_are_no_change(place: int) -> None:
    values = noisy((100, 60))
    values[place : place + 2] = [150.0, 151.0]
    assert found(values) == []


def test_among_three_newest_points_two_odd_ones_are_no_change() -> None:
    values = noisy((100, 60))
    for odd in ((-3, -2), (-3, -1), (-2, -1)):
        spiky = list(values)
        for place in odd:
            spiky[place] *= 1.1
        assert found(spiky) == []


def test_a_level_that_was_left_again_soon_was_none() -> None:
    values = noisy((100, 50), (110, 6), (100, 40))
    assert found(values[:56]) == [(50, "suspected")]
    assert found(values) == []


def test_nobody_knows_how_long_the_first_level_had_lasted() -> None:
    assert found(noisy((100, 6), (120, 30))) == [(6, "suspected")]
    assert found(noisy((100, 7), (120, 30))) == [(7, "confirmed")]


def test_the_first_point_of_the_new_level_is_named() -> None:
    exact = sum(
        found(noisy((100, 100), (103, 100), seed=seed)) == [(100, "confirmed")] for seed in range(300)
    )
    assert exact >= 0.84 * 300


def test_a_level_that_lasted_is_two_changes() -> None:
    assert found(noisy((100, 50), (110, 15), (100, 40))) == [(50, "confirmed"), (65, "confirmed")]


def test_gaps_do_not_shift_the_index() -> None:
    values: list[Value] = [
        None if place % 3 == 1 else value for place, value in enumerate(noisy((100, 60), (110, 60)))
    ]
    values[:0] = [None, math.nan, None]
    (point,) = change_points(values)
    assert point.index == 63
    assert change_points(np.array(values, dtype=float)) == (point,)


def test_nothing_is_compared_across_platforms() -> None:
    values = noisy((100, 40), (106, 40), (200, 40), (212, 40))
    assert found(values, breaks=[80]) == [(40, "confirmed"), (120, "confirmed")]
    assert (80, "confirmed") in found(values)
    assert found(noisy((100, 40), (200, 40)), breaks=[40, 40, 0]) == []


@pytest.mark.parametrize("level", [1e-310, 1e-12, 1e12, 1e307])
def test_the_unit_does_not_matter(level: float) -> None:
    (ordinary,) = change_points(noisy((100, 40), (105, 40)))
    (scaled,) = change_points([value * (level / 100) for value in noisy((100, 40), (105, 40))])
    assert scaled.index == ordinary.index
    assert scaled.change == pytest.approx(ordinary.change, abs=1e-6)


@pytest.mark.parametrize("value", [0.0, 5.0, 1e-320, 1e308])
@pytest.mark.parametrize("points", [0, 1, 2, 3, 7, 8, 9, 17, 18, 19, 200])
def test_a_constant_history_has_no_change(value: float, points: int) -> None:
    assert found([value] * points) == []
    assert found([None] * points) == []


def test_short_histories_have_no_change() -> None:
    values = noisy((100, 3), (200, 4))
    for points in range(8):
        assert found(values[:points]) == []


def test_a_step_of_a_constant_history_is_seen_however_small() -> None:
    assert found([100.0] * 15 + [101.0] * 15) == [(15, "confirmed")]
    assert found([100.0] * 15 + [101.0] * 4) == [(15, "suspected")]
    assert found([100.0] * 15 + [101.0] * 4, min_change=0.02) == []
    assert found([1000.0] * 15 + [1001.0] * 15) == []
    assert found([1000.0] * 15 + [1001.0] * 15, min_change=0.0) == [(15, "confirmed")]


def test_from_nothing_to_something_is_infinitely_worse() -> None:
    (point,) = change_points([0.0] * 15 + [5.0] * 15)
    assert (point.index, point.change, point.low, point.high) == (15, math.inf, math.inf, math.inf)
    (point,) = change_points([0.0] * 15 + [5.0] * 15, direction="higher")
    assert point.change == -math.inf


def test_from_something_to_nothing_all_is_gone() -> None:
    (point,) = change_points([5.0] * 15 + [0.0] * 15)
    assert (point.index, point.change) == (15, -1.0)
    (point,) = change_points([5.0] * 15 + [0.0] * 15, direction="higher")
    assert point.change == 1.0


@pytest.mark.parametrize("quiet_first", [True, False])
def test_noise_that_changes_is_no_change_of_level(quiet_first: bool) -> None:
    quiet, loud = noisy((100, 100), noise=0.003), noisy((100, 100), noise=0.03, seed=2)
    assert found([*quiet, *loud] if quiet_first else [*loud, *quiet]) == []


def test_noise_is_that_of_the_place() -> None:
    quiet, loud = noisy((100, 40), (103, 60), noise=0.003), noisy((103, 40), (106, 60), noise=0.04, seed=2)
    assert found([*quiet, *loud]) == [(40, "confirmed")]


def test_rounded_values_make_no_change_and_hide_none() -> None:
    draw = np.random.default_rng(3)
    flat = np.round(50 + 0.4 * draw.normal(size=300))
    assert found(flat.tolist()) == []
    assert found([*flat[:100], *(flat[100:] + 2)]) == [(100, "confirmed")]


def test_a_small_step_beside_large_movements_stays_suspected() -> None:
    values = noisy((100, 60), (130, 60), (132, 60), noise=0.002)
    assert found(values) == [(60, "confirmed"), (120, "suspected")]
    assert found(values, share=0.0) == [(60, "confirmed"), (120, "confirmed")]
    assert found(noisy((130, 60), (132, 60), noise=0.002)) == [(60, "confirmed")]


def test_a_step_of_two_percent_is_large_beside_any_movement() -> None:
    assert found(noisy((100, 60), (200, 60), (206, 60), noise=0.002))[1] == (120, "confirmed")


def test_the_question_is_not_changed() -> None:
    listed, array = noisy((100, 40), (105, 40)), np.array(noisy((100, 40), (105, 40)))
    first = change_points(listed)
    assert change_points(array) == first == change_points(listed)
    assert listed == array.tolist() == noisy((100, 40), (105, 40))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, math.inf], "value 1 of the history is inf: infinite"),
        ([1.0, 2.0, -3.0], "value 2 of the history is -3.0: negative"),
        (["fast"], "a history holds numbers"),
        ([[1.0], [2.0]], "2 dimensions"),
        ([10**400], "a history holds numbers"),
    ],
)
def test_what_is_no_history_is_refused(values: list[float], words: str) -> None:
    with pytest.raises(StatsError, match=words):
        change_points(values)
    with pytest.raises(StatsError, match=words):
        levels(values, [])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"direction": "up"}, "direction is 'up'"),
        ({"min_change": -0.1}, "min_change is -0.1"),
        ({"min_change": 1.0}, "min_change is 1.0"),
        ({"min_change": math.nan}, "min_change is nan"),
        ({"share": 1.5}, "share is 1.5"),
        ({"breaks": [4]}, "break 4 lies outside a history of 3 points"),
        ({"breaks": [-1]}, "break -1 lies outside"),
    ],
)
def test_a_wrong_request_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        change_points([1.0, 2.0, 3.0], **options)  # type: ignore[arg-type]


def test_levels_are_medians_between_boundaries() -> None:
    assert levels([1.0, 9.0, 2.0, None, 5.0, 7.0, math.nan], [6, 4]) == (
        Level(start=0, end=4, median=2.0),
        Level(start=4, end=6, median=6.0),
        Level(start=6, end=7, median=None),
    )
    assert levels([], []) == ()
    assert levels([1e308, 1.5e308], [])[0].median == pytest.approx(1.25e308)
    with pytest.raises(RequestError, match="start 3 lies outside a history of 2 points"):
        levels([1.0, 2.0], [3])


values_of = st.one_of(
    st.none(),
    st.sampled_from([0.0, 1.0, 2.0, 5e-324, 1e308, math.nan]),
    st.floats(min_value=0.0, allow_infinity=False),
)


@given(st.lists(values_of, max_size=60), st.sampled_from(["lower", "higher"]), st.data())
def test_any_history_gets_a_defined_answer(
    values: list[Value], direction: Direction, data: st.DataObject
) -> None:
    breaks = data.draw(st.lists(st.integers(0, len(values)), max_size=3))
    points = change_points(values, direction=direction, breaks=breaks)
    indices = [point.index for point in points]
    assert indices == sorted(set(indices))
    assert not set(indices) & set(breaks)
    for point in points:
        assert values[point.index] is not None
        assert point.low <= point.change <= point.high
    assert points == change_points(values, direction=direction, breaks=breaks)
