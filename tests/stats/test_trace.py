"""What the tests see of a series."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regress.stats.trace import FAINTEST, REACH, trace


def test_spikes_are_clipped_and_steps_are_not() -> None:
    draw = np.random.default_rng(1)
    values = np.exp(draw.normal(0, 0.01, 100))
    values[50:] *= 1.5
    values[20] *= 10
    seen = trace(values)
    assert seen.logs[20] - seen.logs[19] < 0.1
    assert seen.logs[50:].mean() - seen.logs[:50].mean() == pytest.approx(math.log(1.5), abs=0.01)


def test_noise_is_that_of_the_points_whatever_the_steps() -> None:
    draw = np.random.default_rng(1)
    logs = draw.normal(0, 0.01, 400)
    assert trace(np.exp(logs)).noise.mean() == pytest.approx(0.01, rel=0.1)
    assert trace(np.exp(logs + np.repeat([0.0, 0.5, 0.2, 0.7], 100))).noise.mean() == pytest.approx(
        0.01, rel=0.2
    )


def test_noise_follows_the_place() -> None:
    draw = np.random.default_rng(1)
    noise = trace(np.exp(np.concatenate([draw.normal(0, 0.003, 200), draw.normal(0, 0.01, 200)]))).noise
    assert noise[:150].mean() == pytest.approx(0.003, rel=0.2)
    assert noise[250:].mean() == pytest.approx(0.01, rel=0.2)


def test_noise_is_never_less_than_rounding_or_belief() -> None:
    assert trace(np.full(50, 7.0)).noise.tolist() == [FAINTEST] * 50
    rounded = np.full(60, 100.0)
    rounded[30] = 101.0
    assert trace(rounded).noise.min() == pytest.approx(math.log(1.01) / math.sqrt(12))


def test_noise_of_values_that_are_mostly_equal() -> None:
    values = np.round(100 + 0.45 * np.random.default_rng(1).normal(size=400))
    assert np.median(np.abs(np.diff(values))) == 0
    assert trace(values).noise.mean() == pytest.approx(np.log(values).std(), rel=0.3)


def test_zeros_keep_their_order() -> None:
    seen = trace(np.array([0.0] * 10 + [4.0] * 10 + [8.0] * 10))
    assert np.diff(seen.logs[[0, 10, 20]]) == pytest.approx([math.log(2), math.log(2)])


def test_a_shift_looks_at_near_points_only() -> None:
    draw = np.random.default_rng(1)
    logs = draw.normal(0, 0.01, 200)
    logs[: 100 - REACH] += 0.1
    logs[100:] += 0.05
    shift = trace(np.exp(logs)).shift(0, 100, 200)
    assert shift.change == pytest.approx(0.05, abs=0.01)
    assert shift.se == pytest.approx(0.01 * math.sqrt(2 / REACH), rel=0.2)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_autocorrelation_is_estimated_around_the_levels(correlation: float) -> None:
    draw = np.random.default_rng(1)
    logs = draw.normal(0, 0.01, 2_000)
    for place in range(1, len(logs)):
        logs[place] += correlation * logs[place - 1]
    logs[1_000:] += 0.2
    seen = trace(np.exp(logs))
    assert seen.autocorrelation([1_000]) == pytest.approx(correlation, abs=0.06)
    assert seen.autocorrelation([]) > 0.7
    short = list(range(20, 2_000, 20))
    assert seen.autocorrelation(short) == pytest.approx(correlation, abs=0.06)
