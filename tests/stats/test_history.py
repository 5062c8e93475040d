"""The figures that the documentation states about histories, in short."""

from __future__ import annotations

import numpy as np
import pytest

from regress.stats.trace import Trace
from tests.stats.history import (
    NOISES,
    OURS,
    PEERS,
    alarms,
    confirmed,
    cost,
    covered,
    drift_alarms,
    per_hundred,
    reported,
    stepped,
)
from tests.stats.labels import (
    Labelled,
    count,
    data_path,
    hits,
    judged,
    load,
    resampled_f1,
    seen_by,
    shuffled_share,
)
from tests.stats.simulation import rate_interval

SERIES = 2_000


@pytest.fixture
def series() -> tuple[Labelled, ...]:
    found = load()
    if found is None:
        pytest.skip(f"the labelled series are absent: {data_path()} (set REGRESS_DATA)")
    return found


def test_changes_that_people_see_are_found_better_than_by_any_peer(series: tuple[Labelled, ...]) -> None:
    known = judged(series)
    counts = count(OURS.sure, known)
    assert counts.f1 >= 0.70
    low = np.quantile(resampled_f1(counts), 0.025)
    assert low > max(count(peer.sure, known).f1 for peer in PEERS)


def test_shuffled_series_raise_no_alarm(series: tuple[Labelled, ...]) -> None:
    assert shuffled_share(confirmed, series) <= 0.015


def test_changes_that_everybody_sees_are_seen_soon(series: tuple[Labelled, ...]) -> None:
    known = judged(series)
    assert seen_by(reported, known, 5) >= 0.75
    assert seen_by(confirmed, known, 12) >= 0.85


@pytest.mark.parametrize(("name", "suspected"), [("independent", 2.0), ("AR(1) 0.5", 10.0)])
def test_where_nothing_changes_alarms_are_rare(name: str, suspected: float) -> None:
    found = alarms(NOISES[name], series=SERIES, new_points=1, seed=7)
    assert per_hundred(found.suspected, found.new_points)[0] <= suspected
    assert per_hundred(found.confirmed, found.new_points)[0] <= 1.0


def test_thresholds_follow_the_autocorrelation(monkeypatch: pytest.MonkeyPatch) -> None:
    followed = alarms(NOISES["AR(1) 0.5"], series=100, new_points=10, seed=7)
    monkeypatch.setattr(Trace, "autocorrelation", lambda *_: 0.0)
    ignored = alarms(NOISES["AR(1) 0.5"], series=100, new_points=10, seed=7)
    assert ignored.suspected > 1.5 * followed.suspected
    assert ignored.confirmed > 1.5 * followed.confirmed


def test_the_interval_holds_the_size_nine_times_in_ten() -> None:
    inside, found = covered(NOISES["independent"], step=0.03, after=40, series=500, seed=7)
    assert found > 450
    low, high = rate_interval(inside, found)
    assert low <= 0.9 <= high
    inside, found = covered(NOISES["AR(1) 0.5"], step=0.03, after=40, series=500, seed=7)
    assert inside > 0.8 * found


@pytest.mark.parametrize("name", ["independent", "AR(1) 0.5"])
def test_a_level_that_stays_rarely_drifts(name: str) -> None:
    count = drift_alarms(NOISES[name], n=120, looks=SERIES, seed=7)
    assert rate_interval(count, SERIES)[0] <= 0.01


def test_a_level_that_comes_and_goes_rarely_drifts() -> None:
    assert drift_alarms(NOISES["wandering"], n=150, looks=500, seed=7) <= 0.04 * 500


def test_a_small_step_is_found_when_it_lasts() -> None:
    draw = np.random.default_rng(7)
    logs = draw.normal(0, 0.01, (150, 300)) + np.repeat([0.0, 0.013], 150)
    assert sum(bool(reported(np.exp(one).tolist())) for one in logs) >= 126


def test_a_slow_drift_is_found() -> None:
    assert drift_alarms(NOISES["independent"], n=120, looks=100, seed=7, slope=0.0003) >= 95
    assert drift_alarms(NOISES["independent"], n=120, looks=100, seed=7, slope=-0.0003) == 0


def test_a_long_history_is_cheap() -> None:
    seconds, megabytes = cost(reported, stepped(10_000), repeats=5)
    assert seconds < 0.05
    assert megabytes < 20
    longer, more = cost(reported, stepped(100_000), repeats=3)
    assert longer < 30 * seconds
    assert more < 15 * megabytes


def test_a_label_is_matched_once() -> None:
    assert hits([10, 12, 30], [11, 24]) == 1
    assert hits([10, 12], [7, 14]) == 2
    assert hits([16], [10]) == 0
