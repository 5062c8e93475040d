"""The rates that the documentation states, on seeded noise; a minute of `make calibration`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regress.stats.compare import compare
from regress.stats.interval import Design, as_log
from tests.stats.simulation import (
    LOOKS,
    Case,
    Noise,
    alarms,
    autocorrelated,
    bimodal,
    cost,
    days,
    heavy,
    lopsided,
    normal,
    rate_interval,
    spiky,
)

REPEATS = 2_000


def case(
    benchmarks: int,
    looks: tuple[int, ...],
    design: Design,
    noise: Noise,
    history: int = 0,
    min_change: float = 0.0,
    changed: int = 0,
) -> Case:
    return Case(
        benchmarks=benchmarks,
        looks=looks,
        design=design,
        noise=noise,
        history=history,
        min_change=min_change,
        changed=changed,
    )


QUICK = [
    case(1, (5,), "paired", normal),
    case(1, (5,), "paired", autocorrelated),
    case(1, (7,), "paired", bimodal),
    case(1, (3,), "paired", normal, 12),
    case(1, (3,), "unpaired", heavy, 12),
    case(1, (3,), "unpaired", bimodal, 12),
    case(1, (7,), "unpaired", bimodal),
    case(1, LOOKS, "paired", normal, 12, 1.0),
    case(5, (3,), "paired", spiky, 12),
    case(5, (3,), "unpaired", lopsided, 12),
    case(5, (5, 8), "paired", heavy, 0, 1.0),
    case(20, (3,), "paired", normal, 12),
    case(20, (7,), "paired", bimodal),
]


@pytest.mark.parametrize(
    "quick",
    QUICK,
    ids=lambda each: f"{each.benchmarks}-{each.design}-{each.looks}-{each.history}-{each.noise.__name__}",
)
def test_a_suite_that_did_not_change_rarely_regresses(quick: Case) -> None:
    low, _ = rate_interval(alarms(quick, REPEATS, seed=7), REPEATS)
    assert low <= 0.01


def test_the_rate_is_not_only_kept_but_spent() -> None:
    _, high = rate_interval(alarms(case(1, (8,), "paired", normal), REPEATS, seed=7), REPEATS)
    assert high >= 0.01


@pytest.mark.parametrize(
    ("broken", "noise"),
    [
        ("regress.stats.interval.unpaired_floor", bimodal),  # launches of two modes
        ("tests.stats.simulation.holm", normal),  # many benchmarks
        ("tests.stats.simulation.sequential_p", normal),  # many looks
    ],
)
def test_the_simulation_notices_a_rule_that_is_broken(
    broken: str, noise: Noise, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = {
        "unpaired_floor": lambda *_: 0.0,
        "holm": tuple,
        "sequential_p": lambda p_values, _: min(p_values),
    }[broken.rpartition(".")[2]]
    monkeypatch.setattr(broken, replaced)
    looks = tuple(range(5, 26, 4)) if "sequential" in broken else (7,)
    design: Design = "unpaired" if "unpaired" in broken else "paired"
    suite = case(1 if "sequential" in broken else 20, looks, design, noise)
    low, _ = rate_interval(alarms(suite, REPEATS, seed=7), REPEATS)
    assert low > 0.01


def test_what_changed_does_not_make_the_others_alarm() -> None:
    strong = case(5, LOOKS, "paired", normal, 12, 1.0, changed=3)
    low, _ = rate_interval(alarms(strong, REPEATS, seed=8), REPEATS)
    assert low <= 0.01


@pytest.mark.parametrize(
    ("design", "launches", "prior"),
    [("paired", 5, 0), ("paired", 8, 0), ("unpaired", 8, 0), ("paired", 3, 40), ("unpaired", 3, 40)],
)
def test_a_detectable_worsening_is_called_regressed_nine_times_in_ten(
    design: Design, launches: int, prior: int
) -> None:
    """The detectable worsening of one comparison says how often another of equal noise finds it."""
    draw, sd, repeats = np.random.default_rng(3), 0.01, 600
    history = np.exp(draw.normal(0, sd, prior)).tolist() or None
    paired = design == "paired"

    def drawn() -> tuple[list[float], list[float]]:
        base, head = np.exp(draw.normal(0, sd, (2, launches)))
        return base.tolist(), head.tolist()

    seen = [compare(*drawn(), paired=paired, prior=history).detectable for _ in range(200)]
    change = float(np.median([value for value in seen if value is not None]))
    found = 0
    for _ in range(repeats):
        base, head = drawn()
        slower = [value * math.exp(as_log(change, "lower")) for value in head]
        found += compare(base, slower, paired=paired, prior=history).verdict == "regressed"
    assert 0.8 <= found / repeats <= 0.97


def test_a_change_of_just_min_change_is_found_half_the_time() -> None:
    draw, repeats = np.random.default_rng(4), 400
    found = 0
    for _ in range(repeats):
        base, head = np.exp(draw.normal(0, 0.003, (2, 8))).tolist()
        found += compare(base, [1.03 * value for value in head], paired=True, min_change=0.03).verdict == (
            "regressed"
        )
    low, high = rate_interval(found, repeats)
    assert low <= 0.5 <= high


@pytest.mark.parametrize("change", [0.0, 5.0])
def test_steady_benchmarks_with_a_history_stop_at_six_tenths_of_the_fixed_plan(change: float) -> None:
    for noise in (0.1, 0.25, 0.4):
        bought = cost(noise, change, benchmarks=20, history=40, repeats=20, seed=9)
        assert bought.spent <= 0.6 * bought.fixed
        assert bought.right > 0.95


def test_noisy_benchmarks_are_given_up_early() -> None:
    hopeless = cost(2.0, 0.0, benchmarks=5, history=40, repeats=40, seed=9)
    assert hopeless.spent < 5
    assert hopeless.decided < 0.1


@pytest.mark.parametrize(("sessions", "between"), [(0, 1.0), (8, 1.0), (8, 3.0)])
def test_runs_of_two_days_rarely_regress(sessions: int, between: float) -> None:
    count = days(REPEATS, sessions=sessions, launches=8, between=between, seed=10)
    low, _ = rate_interval(count, REPEATS)
    assert low <= 0.01
