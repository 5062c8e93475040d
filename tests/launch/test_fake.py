"""The fake launcher keeps the contract of `Launcher`, so that what is tested with it is true of real ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest

from regress.errors import LaunchError
from regress.launch.fake import FakeLauncher, Pace, Script, failing, paced
from regress.launch.launcher import Code, Job, Launcher, Report, Request
from regress.record.outcome import Outcome
from regress.record.series import RankSeries, launch_samples
from regress.spec.benchmark import Benchmark
from regress.spec.plan import Limits, Steps

A, B, C = (Benchmark(name=name, world_size=2, digest="d") for name in "abc")
CODE = Code(python="python", variables=(), path=(), benchmarks="benchmarks")
EQUAL = paced({"base": Pace(), "head": Pace()})
CRASH = Outcome(kind="raised", rank=1, message="ValueError: no")


def job(
    scratch: Path,
    *,
    alone: bool = False,
    counted: bool = True,
    block: int = 0,
    asked: Sequence[tuple[str, tuple[Benchmark, ...]]] = (("base", (A, B, C)), ("head", (A, B, C))),
) -> Job:
    return Job(
        block=block,
        attempt=0,
        alone=alone,
        counted=counted,
        world_size=2,
        requests=tuple(Request(side=side, code=CODE, benchmarks=names) for side, names in asked),
        files=tuple((each.name, "x.py") for each in (A, B, C)),
        torch_modules=(),
        turns=tuple((each.label, ("base", "head", "head", "base")) for each in (A, B, C)),
        steps=Steps(warmup=2, burst=3, turns=2),
        limits=Limits(build_s=1.0, step_s=1.0),
        seed=1234,
        scratch=scratch,
    )


def launched(script: Script, job: Job) -> dict[str, Report]:
    launcher: Launcher = FakeLauncher(script)
    with launcher:
        return {report.side: report for report in launcher.run(job, lambda *_: None)}


def tried(report: Report) -> list[tuple[str, str]]:
    return [(measured.benchmark.name, measured.outcome.kind) for measured in report.measured]


def test_everything_is_measured_when_nothing_fails(tmp_path: Path) -> None:
    reports = launched(EQUAL, job(tmp_path))
    assert list(reports) == ["base", "head"]
    for report in reports.values():
        assert tried(report) == [("a", "ok"), ("b", "ok"), ("c", "ok")]
        assert all(len(measured.ranks) == 2 for measured in report.measured)
        assert report.platform is not None
        assert report.environment is not None


def test_beside_a_failing_side_the_other_finishes_the_benchmark_at_hand(tmp_path: Path) -> None:
    reports = launched(failing(EQUAL, CRASH, sides=["base"], name="b"), job(tmp_path))
    assert tried(reports["base"]) == [("a", "ok"), ("b", "raised")]
    assert tried(reports["head"]) == [("a", "ok"), ("b", "ok")]
    assert reports["base"].measured[1].ranks == ()


def test_alone_each_side_goes_on_by_itself(tmp_path: Path) -> None:
    reports = launched(failing(EQUAL, CRASH, sides=["base"], name="b"), job(tmp_path, alone=True))
    assert tried(reports["base"]) == [("a", "ok"), ("b", "raised")]
    assert tried(reports["head"]) == [("a", "ok"), ("b", "ok"), ("c", "ok")]


def test_a_side_is_asked_only_for_what_it_was_requested(tmp_path: Path) -> None:
    asked = (("head", (B, A)), ("base", (A,)))
    reports = launched(EQUAL, job(tmp_path, asked=asked))
    assert tried(reports["head"]) == [("b", "ok"), ("a", "ok")]
    assert tried(reports["base"]) == [("a", "ok")]


def test_the_culprits_log_lies_in_scratch(tmp_path: Path) -> None:
    reports = launched(failing(EQUAL, CRASH, sides=["head"]), job(tmp_path))
    outcome = reports["head"].measured[0].outcome
    assert Path(outcome.log).is_relative_to(tmp_path)
    assert Path(outcome.log).read_text() == "ValueError: no\n"


def test_nobody_to_blame_leaves_no_log(tmp_path: Path) -> None:
    reports = launched(failing(EQUAL, Outcome(kind="hung")), job(tmp_path))
    assert reports["head"].measured[0].outcome == Outcome(kind="hung")


def test_scratch_must_be_empty(tmp_path: Path) -> None:
    launched(EQUAL, job(tmp_path))
    with pytest.raises(FileExistsError):
        launched(EQUAL, job(tmp_path))


@pytest.mark.parametrize("end", [KeyboardInterrupt, LaunchError])
def test_what_a_script_raises_passes_through(tmp_path: Path, end: type[BaseException]) -> None:
    def ending(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        raise end

    launcher = FakeLauncher(ending)
    with pytest.raises(end), launcher:
        launcher.run(job(tmp_path), lambda *_: None)
    assert not launcher.open


def test_progress_reaches_the_whole(tmp_path: Path) -> None:
    told: list[tuple[str, str, float]] = []
    FakeLauncher(EQUAL).run(job(tmp_path), lambda *news: told.append(news))
    assert [share for _, _, share in told] == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1.0])
    assert told[0][:2] == ("base", A.label)


def test_paces_are_what_the_samples_say(tmp_path: Path) -> None:
    script = paced({"base": Pace(step_s=0.01), "head": Pace(step_s=0.02, peak_allocated_bytes=7)})
    reports = launched(script, job(tmp_path))
    samples = {
        side: {sample.metric: sample for sample in launch_samples(report.measured[0].ranks)}
        for side, report in reports.items()
    }
    assert samples["base"]["step_s"].value == pytest.approx(0.01, rel=0.02)
    assert samples["head"]["step_s"].value == pytest.approx(0.02, rel=0.02)
    assert len(samples["base"]["step_s"].steps) == 6  # two turns of three steps
    assert samples["head"]["peak_allocated_bytes"].value == 7
    assert len(samples["head"]["loss"].steps) == 2


def test_nothing_is_counted_where_the_job_does_not_count(tmp_path: Path) -> None:
    reports = launched(EQUAL, job(tmp_path, counted=False))
    metrics = {sample.metric for sample in launch_samples(reports["base"].measured[0].ranks)}
    assert "step_s" in metrics
    assert not metrics & {"peak_allocated_bytes", "collective_count"}


def test_noise_differs_between_launches_and_repeats_with_the_seed(tmp_path: Path) -> None:
    def steps(block: int, seed: int, folder: str) -> float:
        scratch = tmp_path / folder
        script = paced({"base": Pace(), "head": Pace()}, seed=seed)
        report = launched(script, job(scratch, block=block))["base"]
        return median(step for burst in report.measured[0].ranks[0].bursts for step in burst.steps_s)

    assert steps(0, 1, "x") == steps(0, 1, "y")
    assert len({steps(block, seed, f"{block}{seed}") for block in (0, 1) for seed in (1, 2)}) == 4


def test_failures_only_in_the_blocks_named(tmp_path: Path) -> None:
    script = failing(EQUAL, CRASH, blocks=[1])
    assert tried(launched(script, job(tmp_path / "0"))["head"])[0] == ("a", "ok")
    assert tried(launched(script, job(tmp_path / "1", block=1))["head"])[0] == ("a", "raised")
