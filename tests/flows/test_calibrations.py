"""The last calibration, beside what is compared on the same platform."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from regress.flows.calibrations import last_calibration, summary, with_calibration
from regress.flows.compare import report
from regress.flows.schema import json_schema
from regress.flows.workplace import Workplace
from regress.launch.fake import PLATFORM
from regress.record.calibration import Slowdown
from regress.record.platform import Platform
from regress.record.run import Run
from regress.report import data
from regress.store.calibrations import write_calibration
from tests.flows.project import EQUAL, Fakes, measured, stored_runs
from tests.flows.test_calibrate import calibrated
from tests.report.factories import rate
from tests.report.test_calibration import KERNEL, STALL, benchmark, calibration, recovery, unknown


@pytest.fixture
def run(project: Path) -> Run:
    """A run with a launch alone and resident ones."""
    measured(project, Fakes(EQUAL))
    return stored_runs(project)[0]


def kept(project: Path, hour: int, **given: Any) -> None:
    """Keep a calibration of an hour."""
    known = {"calibration": f"{hour:08x}", "started": f"2026-01-01T{hour:02}:00:00+00:00"}
    answer = calibration(**({"suite": "commit", "platform": PLATFORM} | known | given))
    write_calibration(project / ".regress" / "store", answer)


def hour(project: Path, *runs: Run) -> int | None:
    found = last_calibration(Workplace.around(project), *runs)
    return None if found is None else int(found.calibration, 16)


def test_the_last_one_of_platform_and_mode_counts(project: Path, run: Run) -> None:
    assert hour(project, run) is None
    kept(project, 8, mode="alone")
    kept(project, 9, platform=replace(PLATFORM, cores=5))
    assert hour(project, run) is None
    kept(project, 4)
    kept(project, 6)
    kept(project, 5)
    assert hour(project, run) == 6


def test_one_of_the_suite_wins_over_later_ones_of_others(project: Path, run: Run) -> None:
    kept(project, 2, suite="other")
    assert hour(project, run) == 2
    kept(project, 1)
    assert hour(project, run) == 1


def test_launches_alone_have_calibrations_of_their_own(project: Path, run: Run) -> None:
    kept(project, 1, mode="alone")
    kept(project, 2)
    alone = replace(run, launches=tuple(launch for launch in run.launches if launch.alone))
    assert hour(project, alone) == 1
    assert hour(project, run) == 2
    assert hour(project, alone, run) == 2


def test_without_a_platform_there_is_none(project: Path, run: Run) -> None:
    kept(project, 1)
    nowhere = replace(run, launches=tuple(replace(each, platform=None) for each in run.launches))
    assert hour(project, nowhere) is None
    assert hour(project, replace(run, launches=())) is None


def test_other_hardware_of_the_same_short_name_has_another(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Platform, "key", "same")
    kept(project, 1)
    assert hour(project, run) == 1
    kept(project, 2, platform=replace(PLATFORM, cores=5))
    assert hour(project, run) is None


def test_in_brief_the_worst_bias_and_most_blocks_stand(project: Path) -> None:
    first, second = benchmark("a"), benchmark("b", recommended=9)
    assert first.bias is not None
    second = replace(second, bias=replace(first.bias, low=-0.02))
    brief = summary(calibration(benchmarks=(first, second), notes=("busy",)))
    assert brief.notes == ("busy",)
    assert (brief.benchmarks, brief.recommended, brief.bias_bound) == (2, 9, 0.02)


def test_in_brief_no_number_of_blocks_suffices_where_it_does_not_for_one(project: Path) -> None:
    assert summary(calibration(benchmarks=(benchmark(), benchmark(recommended=None)))).recommended is None


def test_in_brief_rates_are_those_of_all_benchmarks(project: Path) -> None:
    found = recovery(KERNEL, "step_s", 0.02, detection=rate(30, 200, 0.1, 0.2))
    missed = recovery(KERNEL, "step_s", 0.02, detection=rate(10, 100, 0.1, 0.2))
    each = (benchmark("a", planted=(found,)), benchmark("b", planted=(missed,)), unknown("c"))
    brief = summary(calibration(benchmarks=each, slowdowns=(KERNEL, STALL)))
    (alarms, kernel) = brief.rates  # nobody knows of stalls
    assert (alarms.slowdown, alarms.rate.found, alarms.rate.resampled) == (None, 4, 400)
    assert (kernel.slowdown, kernel.rate.found, kernel.rate.resampled) == (KERNEL, 40, 300)
    assert kernel.rate.independent == 6
    assert kernel.rate.low < 40 / 300 < kernel.rate.high


def test_nothing_is_known_where_every_benchmark_failed(project: Path) -> None:
    brief = summary(
        calibration(benchmarks=(unknown("a"),), slowdowns=(Slowdown(kind="sleep", fraction=1.0),))
    )
    assert (brief.bias_bound, brief.rates, brief.recommended) == (None, (), None)


def test_it_stands_beside_an_answer(project: Path) -> None:
    answer = measured(project, Fakes(EQUAL))
    assert with_calibration(answer, None).calibration is None
    assert with_calibration(answer, calibration()).calibration == summary(calibration())


def test_it_stands_in_every_answer_from_then_on(project: Path) -> None:
    assert measured(project, Fakes(EQUAL)).calibration is None
    found = calibrated(project)
    answer = measured(project, Fakes(EQUAL))
    assert answer.calibration == summary(found)
    Draft202012Validator(json_schema("comparison")).validate(json.loads(data.render(answer)))
    again = report(Workplace.around(project), answer.base.run, answer.head.run)
    assert again.calibration == summary(found)
