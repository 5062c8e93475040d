"""Drift in histories whose slope is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regress.errors import RequestError, StatsError
from regress.stats.drift import Drift, drift
from regress.stats.series import change_points

Value = float | None


def slope(per_point: float, points: int = 150, anchor: int = 40, noise: float = 0.01) -> list[float]:
    """Level 100 up to the anchor, and a constant slope from there."""
    draw = np.random.default_rng(4)
    return [
        100 * math.exp(per_point * max(0, place - anchor) + draw.normal(0, noise)) for place in range(points)
    ]


def test_a_drift_is_found_although_no_step_is_large() -> None:
    values = slope(0.0005)
    assert not any(point.state == "confirmed" and point.change > 0.04 for point in change_points(values))
    found = drift(values, anchor=40)
    assert isinstance(found, Drift)
    assert found.anchor == 40
    assert found.low < 0.05 < found.high  # the mean of the newest 20 of 110 points
    assert found.low < found.change < found.high
    assert found.p < 1e-4


def test_getting_better_is_no_drift() -> None:
    assert drift(slope(-0.0005), anchor=40) is None
    assert drift(slope(0.0005), anchor=40, direction="higher") is None
    found = drift(slope(-0.0005), anchor=40, direction="higher")
    assert found is not None
    assert found.change == pytest.approx(0.05, abs=0.02)


def test_a_level_that_stays_does_not_drift() -> None:
    assert drift(slope(0.0), anchor=40) is None


def test_less_than_min_change_is_no_drift() -> None:
    values = slope(0.0001, noise=0.0005)
    assert drift(values, anchor=40, min_change=0.02) is None
    assert drift(values, anchor=40, min_change=0.005) is not None


def test_the_rate_asked_for_counts() -> None:
    found = drift(slope(0.00015), anchor=40, min_change=0.0, false_alarms=0.2)
    assert found is not None
    assert drift(slope(0.00015), anchor=40, min_change=0.0, false_alarms=found.p / 2) is None


def test_the_level_at_the_anchor_is_what_counts() -> None:
    values = [120.0 * value / 100 for value in slope(0.0, points=60)] + slope(0.0, points=90)
    assert drift(values, anchor=59) is None  # it got better since
    assert drift(values[::-1], anchor=120) is None  # it had got worse before
    assert drift(values[::-1], anchor=60) is not None


def test_a_history_that_begins_with_the_anchor_is_compared_with_its_first_points() -> None:
    assert drift(slope(0.0005, anchor=0), anchor=0) is not None
    assert drift([100.0] + [120.0] * 19, anchor=0) is None


@pytest.mark.parametrize("points", [0, 7])
def test_too_few_points_since_the_anchor_tell_nothing(points: int) -> None:
    values = [100.0] * 60 + [120.0] * 8
    assert drift(values[: 60 + points], anchor=59) is None
    assert drift(values, anchor=59) is not None


def test_gaps_are_passed_over() -> None:
    values = slope(0.0005)
    gappy: list[Value] = []
    for value in values:
        gappy += [value, None]
    found, whole = drift(gappy, anchor=81), drift(values, anchor=40)
    assert found is not None
    assert whole is not None
    assert (found.change, found.p) == (whole.change, whole.p)
    assert drift([None] * 60, anchor=3) is None
    assert drift([0.0] * 60, anchor=3) is None


def test_spikes_make_no_drift() -> None:
    values = slope(0.0)
    values[-12::4] = [1000.0] * 3
    assert drift(values, anchor=40) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"anchor": 3}, "anchor 3 lies outside a history of 3 points"),
        ({"anchor": -1}, "anchor -1 lies outside"),
        ({"anchor": 0, "direction": "up"}, "direction is 'up'"),
        ({"anchor": 0, "min_change": -1.0}, "min_change is -1.0"),
        ({"anchor": 0, "false_alarms": 0.5}, "false_alarms is 0.5"),
    ],
)
def test_a_wrong_request_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        drift([1.0, 2.0, 3.0], **options)  # type: ignore[arg-type]


def test_what_is_no_history_is_refused() -> None:
    with pytest.raises(StatsError, match=r"value 1 of the history is -1\.0: negative"):
        drift([1.0, -1.0], anchor=0)
