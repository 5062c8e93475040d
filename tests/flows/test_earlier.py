"""What the store tells of the noise reaches the manifests and the verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from regress.flows.compare import CompareRequest, compare, report
from regress.flows.progress import Silence
from regress.flows.undertaking import Means
from regress.flows.workplace import Workplace
from regress.launch.fake import PLATFORM, Pace, paced
from regress.record.calibration import Bias
from regress.store.calibrations import write_calibration
from tests.flows.project import DDP, EQUAL, SLOWER, Fakes, measured, step_of, stored_runs
from tests.report.test_calibration import benchmark, calibration


def calibrated(project: Path, bias: Bias, cores: int = PLATFORM.cores) -> None:
    """Keep a calibration in which identical sides of one benchmark differed so much."""
    found = calibration(
        suite="commit",
        platform=replace(PLATFORM, cores=cores),
        benchmarks=(replace(benchmark(DDP), bias=bias),),
    )
    write_calibration(project / ".regress" / "store", found)


def test_the_first_comparison_knows_nothing_and_the_next_knows_it(project: Path) -> None:
    measured(project, Fakes(EQUAL))
    first = stored_runs(project)
    assert [run.manifest.noise for run in first] == [(), ()]
    measured(project, Fakes(SLOWER))
    later = [
        run for run in stored_runs(project) if run.manifest.run not in {each.manifest.run for each in first}
    ]
    base, head = later
    assert base.manifest.noise == head.manifest.noise
    assert [(noise.benchmark, noise.design, noise.launches) for noise in base.manifest.noise] == [
        ("ddp[world=2]", "paired", 12),
        ("fsdp[world=2]", "paired", 12),
    ]


@pytest.mark.parametrize(
    ("bias", "cores", "known"),
    [
        (Bias(mean=0.02, low=0.01, high=0.03, blocks=10), PLATFORM.cores, 0.03),
        (Bias(mean=0.0, low=-0.03, high=0.03, blocks=10), PLATFORM.cores, None),  # not shown
        (Bias(mean=0.02, low=0.01, high=0.03, blocks=10), PLATFORM.cores + 1, None),  # other hardware
    ],
)
def test_a_bias_of_the_last_calibration_is_known_before_measuring(
    project: Path, bias: Bias, cores: int, known: float | None
) -> None:
    calibrated(project, bias, cores)
    answer = measured(project, Fakes(EQUAL))
    (base, _) = stored_runs(project)
    assert {noise.benchmark: noise.bias for noise in base.manifest.noise} == ({DDP: known} if known else {})
    assert answer.min_change == pytest.approx(0.12 if known else 0.05)
    assert any("identical sides differed" in note for note in answer.notes) == (known is not None)


def test_a_run_that_cannot_be_read_is_named_and_lends_nothing(project: Path) -> None:
    measured(project, Fakes(EQUAL))
    broken = stored_runs(project)[0]
    (Path(broken.folder) / "launch-1-w2-0.json").write_text("{}")
    said: list[str] = []

    class Telling(Silence):
        def say(self, text: str) -> None:
            said.append(text)

    request = CompareRequest(base="HEAD~1", head="HEAD", means=Means(seed=2))
    answer = compare(Workplace.around(project), request, Telling(), Fakes(EQUAL).machinery)
    assert [text for text in said if "not used to know the noise" in text and broken.folder in text]
    assert Path(answer.base.folder) != Path(broken.folder)


def test_two_stored_runs_are_judged_by_how_earlier_ones_differed(project: Path) -> None:
    """Head of one comparison against head of another: several sessions before tell how days differ."""

    def head_at(step_s: float) -> str:
        pace = Pace(step_s=step_s)
        return measured(project, Fakes(paced({"base": pace, "head": pace}, noise=0.002))).head.run

    here = Workplace.around(project)
    early = step_of(report(here, head_at(0.01), head_at(0.01002)), DDP)
    assert any("is unknown" in note for note in early.notes)
    for number in range(3):
        head_at(0.01 * (1 + 0.002 * number))
    known = step_of(report(here, head_at(0.01), head_at(0.013)), DDP)
    assert not any("is unknown" in note for note in known.notes)
    assert known.verdict == "regressed"
