"""What one code took on earlier days: of stored runs those launches that were measured alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from regress.flows.levels import Levels, levels_of_code
from regress.launch.fake import PLATFORM, Pace, failing, paced
from regress.launch.launcher import Job
from regress.record.calibration import Mode
from regress.record.outcome import Outcome
from regress.record.run import Run
from regress.record.series import RankSeries
from regress.spec.benchmark import Benchmark
from regress.store.calibrations import write_calibration
from tests.flows.project import DDP, Fakes, measured, stored_runs
from tests.report.test_calibration import benchmark, calibration

DDP_PLACE = (DDP, "digest of ddp")


def slower_alone(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
    pace = Pace(step_s=0.05 if job.alone else 0.01)
    return paced({side: pace}, noise=0.0)(job, side, benchmark)


@pytest.fixture
def base(project: Path) -> Run:
    measured(project, Fakes(slower_alone))
    return stored_runs(project)[0]


def levels(project: Path, *runs: Run, mode: Mode = "resident", cores: int = PLATFORM.cores) -> Levels:
    return levels_of_code(project / "store", runs, replace(PLATFORM, cores=cores), mode)


@pytest.mark.parametrize(("mode", "step_s"), [("resident", 0.01), ("alone", 0.05)])
def test_a_run_has_one_level_of_each_mode(project: Path, base: Run, mode: Mode, step_s: float) -> None:
    found = levels(project, base, mode=mode)
    ((code, day, level),) = found[DDP_PLACE]
    assert (code, day) == (base.manifest.commit, base.manifest.started[:10])
    assert level == pytest.approx(step_s)
    assert {label for label, _ in found} == {"ddp[world=2]", "fsdp[world=2]"}


def test_another_platform_has_none(project: Path, base: Run) -> None:
    assert levels(project, base, cores=3) == {}


def test_another_definition_is_another_benchmark(project: Path, base: Run) -> None:
    changed = tuple(
        replace(launch, measurements=tuple(replace(each, definition="x") for each in launch.measurements))
        for launch in base.launches
    )
    found = levels(project, base, replace(base, launches=changed))
    assert len(found[DDP_PLACE]) == len(found[DDP, "x"]) == 1


def test_what_failed_has_none(project: Path) -> None:
    crash = Outcome(kind="died", rank=0, status=-9, message="")
    measured(project, Fakes(failing(slower_alone, crash, name="ddp")))
    assert DDP_PLACE not in levels(project, *stored_runs(project))


def test_code_without_a_name_has_none_and_installed_benchmarks_are_named_by_their_version(
    project: Path, base: Run
) -> None:
    unnamed = replace(base, manifest=replace(base.manifest, commit=None))
    assert levels(project, unnamed) == {}
    installed = replace(base, manifest=replace(unnamed.manifest, benchmarks_from="installed", regress="9.9"))
    assert levels(project, installed)[DDP_PLACE][0][0] == "installed 9.9"


def test_calibrations_tell_too(project: Path) -> None:
    write_calibration(project / "store", calibration(platform=PLATFORM, benchmarks=(benchmark(DDP),)))
    assert levels(project) == {(DDP, "0f0f"): [("4f1c0e9a7b2d", "2025-05-30", 0.0412)]}
    assert levels(project, mode="alone") == {}
    assert levels(project, cores=3) == {}
