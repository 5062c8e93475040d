"""A calibration as people read it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from regress.record.calibration import (
    BenchmarkCalibration,
    Bias,
    Calibration,
    Noise,
    Recovery,
    Sight,
    Slowdown,
)
from regress.record.platform import Platform
from regress.report.calibration import brief, lacks_something, render
from regress.report.html import render as page
from tests.report.factories import (
    DDP,
    FSDP,
    HOSTILE,
    clean_suite,
    last_calibration,
    rate,
    regressed_suite,
)

KERNEL, STALL = Slowdown(kind="kernel", fraction=0.02), Slowdown(kind="stall", fraction=0.05)


def recovery(slowdown: Slowdown, metric: str, measured: float, **given: Any) -> Recovery:
    known: dict[str, Any] = {
        "slowdown": slowdown,
        "metric": metric,
        "blocks": 10,
        "planted": slowdown.fraction * 1.02,
        "measured": measured,
        "low": measured - 0.004,
        "high": measured + 0.004,
        "detection": rate(0, 210, 0.0, 0.975),
    }
    return Recovery(**(known | given))


def benchmark(label: str = DDP, **given: Any) -> BenchmarkCalibration:
    known: dict[str, Any] = {
        "benchmark": label,
        "definition": "0f0f",
        "step_s": 0.0412,
        "blocks": 10,
        "lost": 0,
        "noise": Noise(
            within_launch=0.031,
            between_launches=0.048,
            of_differences=0.011,
            df=28,
            between_days=0.067,
            days=4,
        ),
        "bias": Bias(mean=-0.0012, low=-0.0046, high=0.0022, blocks=30),
        "sights": tuple(
            Sight(blocks=blocks, detectable=size) for blocks, size in ((3, 0.141), (5, 0.061), (10, 0.0562))
        ),
        "recommended": 5,
        "false_alarms": rate(2, 200, 0.0, 0.98),
        "planted": (recovery(KERNEL, "step_s", 0.019), recovery(STALL, "step_mean_s", 0.047)),
    }
    return BenchmarkCalibration(**(known | given))


def unknown(label: str) -> BenchmarkCalibration:
    """A benchmark that failed in nearly all blocks."""
    nothing = Noise(within_launch=None, between_launches=None, of_differences=None, df=0, between_days=None)
    return benchmark(
        label,
        step_s=None,
        blocks=1,
        lost=29,
        noise=nothing,
        bias=None,
        sights=(),
        recommended=None,
        false_alarms=None,
        planted=(),
    )


def calibration(**given: Any) -> Calibration:
    known: dict[str, Any] = {
        "calibration": "5c11d0aa",
        "suite": "smoke",
        "platform": Platform(host="n", cpu="c", cores=4, memory_bytes=16 << 30),
        "mode": "resident",
        "launcher": "local",
        "code": "4f1c0e9a7b2d",
        "regress": "0.1.0",
        "started": "2025-05-30T22:01:17+00:00",
        "seconds": 312.4,
        "rounds": 10,
        "planned": 10,
        "slowdowns": (KERNEL, STALL),
        "asked_min_change": 0.05,
        "min_change": 0.05,
        "must_see": 0.15,
        "level": 0.005,
        "benchmarks": (benchmark(), unknown(FSDP)),
        "folder": "store/calibrations",
        "notes": ("the machine was busy",),
    }
    return Calibration(**(known | given))


def test_it_reads_as_agreed(golden: Callable[[str, str], None]) -> None:
    golden("calibration.terminal.txt", render(calibration(), width=100, color=False))


@pytest.mark.parametrize("width", [40, 100, 200])
def test_it_keeps_to_the_width_and_shows_no_escape_of_a_label(width: int) -> None:
    hostile = calibration(suite=HOSTILE, benchmarks=(benchmark(HOSTILE),), notes=(HOSTILE,))
    text = render(hostile, width=width, color=False)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_it_says_that_the_budget_ended_it() -> None:
    assert "budget" not in render(calibration(), width=100, color=False)
    text = render(calibration(rounds=4), width=100, color=False)
    assert "the budget ended it after 4 of 10 rounds" in text


def test_something_is_lacking_where_nothing_is_known_of_a_benchmark() -> None:
    assert lacks_something(calibration())
    assert not lacks_something(calibration(benchmarks=(benchmark(),)))


def test_no_number_is_made_up_where_too_little_was_measured() -> None:
    text = render(calibration(benchmarks=(unknown(FSDP),)), width=100, color=False)
    for row in ("bias", "finds", "recommended", "false alarms"):
        assert f"  {row:12}  unknown\n" in text


def test_a_suite_that_asks_too_much_is_told_from_one_that_was_not_measured() -> None:
    blind = dict(brief(replace(last_calibration(), recommended=None)))
    assert blind["recommended"].startswith("no affordable number of blocks")
    untold = dict(brief(replace(last_calibration(), recommended=None, bias_bound=None)))
    assert (untold["recommended"], untold["bias"]) == ("unknown", "unknown")
    assert brief(None) == ()


def test_a_bias_that_is_shown_is_told_from_one_that_is_not_excluded() -> None:
    def told(low: float, high: float) -> str:
        bias = Bias(mean=(low + high) / 2, low=low, high=high, blocks=30)
        return render(calibration(benchmarks=(benchmark(bias=bias),)), width=100, color=False)

    assert "none is shown, at most 2 %" in told(math.log(0.99), math.log(1.02))
    for low, high in ((1.01, 1.02), (0.98, 0.99)):
        text = told(math.log(low), math.log(high))
        assert "at most 2" in text
        assert "none is shown" not in text


def test_how_the_machine_was_stands_in_brief_too() -> None:
    assert "meanwhile" not in dict(brief(last_calibration()))
    rows = dict(brief(replace(last_calibration(), notes=("busy \x1b[2J", "moved"))))
    assert rows["meanwhile"] == "busy"


def test_the_last_one_stands_on_the_page_and_is_explained_there() -> None:
    assert "calibration" not in page(regressed_suite())
    text = page(clean_suite())
    assert "<h3>Last calibration</h3>" in text
    assert "<dt>planted kernel 15 %</dt><dd>134 of 135 comparisons of 6 blocks" in text
    assert "<dt>last calibration</dt>" in text
