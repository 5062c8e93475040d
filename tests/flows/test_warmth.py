"""How the first block decides for how long all later ones warm up, and which caches launches find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from regress.errors import LaunchError
from regress.flows.calibrate import CalibrateRequest, calibrate
from regress.flows.progress import Silence
from regress.flows.run import RunRequest, run
from regress.flows.warmth import known_warmups
from regress.flows.workplace import Workplace
from regress.launch.fake import Pace, failing, paced
from regress.launch.launcher import Job
from regress.record.outcome import Outcome
from regress.record.run import Launch, Measurement
from regress.record.series import RankSeries
from regress.spec.benchmark import Benchmark
from regress.spec.plan import Block
from tests.flows.project import BLOCKS, DDP, FSDP, SUITE, Fakes, git, measured, stored_runs

SLOW_TO_SETTLE = paced({"base": Pace(settled=9), "head": Pace(settled=23), "only": Pace(settled=11)})
CRASH = Outcome(kind="died", rank=0, status=-9, message="ended by SIGKILL")


def launch(block: int, *warmups: tuple[str, int | None]) -> Launch:
    return Launch(
        run="0" * 8,
        block=block,
        attempt=0,
        world_size=2,
        alone=True,
        started="2026-01-01T00:00:00+00:00",
        seconds=1.0,
        platform=None,
        environment=None,
        measurements=tuple(
            Measurement(benchmark=label, definition="0", outcome=Outcome(kind="ok"), warmup=warmup)
            for label, warmup in warmups
        ),
    )


def block(index: int) -> Block:
    return Block(index=index, alone=False, counted=False, sides=("base", "head"), benchmarks=(DDP,))


def test_the_larger_of_both_sides_counts() -> None:
    sides = ([launch(0, (DDP, 9), (FSDP, 12))], [launch(0, (DDP, 23), (FSDP, 7))])
    assert known_warmups(block(3), sides) == ((DDP, 23), (FSDP, 12))


def test_only_the_first_block_that_tells_and_none_that_is_not_over() -> None:
    side = [launch(2, (DDP, 40)), launch(1, (DDP, 15)), launch(0, (DDP, None)), launch(1, (FSDP, 8))]
    assert known_warmups(block(3), [side]) == ((DDP, 15), (FSDP, 8))
    assert known_warmups(block(1), [side]) == ()


def told(job: Job) -> dict[str, int]:
    return dict(job.warmups)


def test_blocks_after_the_first_warm_up_alike(project: Path) -> None:
    fakes = Fakes(SLOW_TO_SETTLE)
    measured(project, fakes)
    first, *others = fakes.launchers[0].jobs
    assert first.warmups == ()
    assert all(told(job) == {DDP: 23, FSDP: 23} for job in others)
    assert len(others) == BLOCKS - 1
    base, head = stored_runs(project)
    for stored, alone in ((base, 9), (head, 23)):
        counts = {
            (each.block, measurement.warmup) for each in stored.launches for measurement in each.measurements
        }
        assert counts == {(0, alone), *((index, 23) for index in range(1, BLOCKS))}


def test_one_side_warms_up_as_its_first_launch_says(project: Path) -> None:
    fakes = Fakes(SLOW_TO_SETTLE)
    run(Workplace.around(project), RunRequest(suite="commit", side="HEAD"), Silence(), fakes.machinery)
    first, *others = fakes.launchers[0].jobs
    assert first.warmups == ()
    assert others
    assert all(told(job) == {DDP: 11, FSDP: 11} for job in others)


def test_a_calibration_asks_its_first_block(project: Path) -> None:
    def script(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        return paced({request.side: Pace(settled=17) for request in job.requests})(job, side, benchmark)

    fakes = Fakes(script)
    calibrate(
        Workplace.around(project), CalibrateRequest(suite="commit", blocks=3), Silence(), fakes.machinery
    )
    first, *others = fakes.launchers[0].jobs
    assert first.warmups == ()
    assert all(told(job) == {DDP: 17, FSDP: 17} for job in others)


def test_what_failed_in_the_first_block_is_searched_for_in_the_next(project: Path) -> None:
    fakes = Fakes(failing(SLOW_TO_SETTLE, CRASH, name="ddp", blocks=[0]))
    measured(project, fakes)
    by_block = {job.block: told(job) for job in fakes.launchers[0].jobs}
    assert by_block[1] == {FSDP: 23}
    assert by_block[2] == {DDP: 23, FSDP: 23}


def interrupted(script: Callable[..., object], after: int) -> Callable[..., object]:
    asked = []

    def stopping(job: Job, side: str, benchmark: Benchmark) -> object:
        asked.append(job)
        if len(asked) > after:
            raise LaunchError("the server has ended")
        return script(job, side, benchmark)

    return stopping


@pytest.mark.parametrize("after", [2, 4, 9])
def test_a_measurement_that_goes_on_warms_up_as_it_did(project: Path, after: int) -> None:
    with pytest.raises(LaunchError):
        measured(project, Fakes(interrupted(SLOW_TO_SETTLE, after)))  # type: ignore[arg-type]
    fakes = Fakes(SLOW_TO_SETTLE)
    measured(project, fakes)
    jobs = fakes.launchers[0].jobs
    assert {index: told(job) for job in jobs if (index := job.block)} == {
        index: {DDP: 23, FSDP: 23} for index in range(max(1, after // 4), BLOCKS)
    }


def test_a_suite_may_switch_the_search_off(project: Path) -> None:
    suite = SUITE.replace("warmup: 2", "warmup: 2, warmup_most: 2")
    (project / "configs" / "commit.yaml").write_text(suite)
    git(project, "commit", "--quiet", "--all", "--message", "No search")
    measured(project, Fakes(SLOW_TO_SETTLE))
    assert {
        measurement.warmup
        for stored in stored_runs(project)
        for each in stored.launches
        for measurement in each.measurements
    } == {2}


def suited(project: Path, line: str) -> None:
    """Add a line to the suite."""
    (project / "configs" / "commit.yaml").write_text(SUITE + line)
    git(project, "commit", "--quiet", "--all", "--message", "Another suite")


def caches(fakes: Fakes) -> dict[str, set[Path | None]]:
    """The folders that launches of each side were given."""
    found: dict[str, set[Path | None]] = {}
    for job in fakes.launchers[-1].jobs:
        for request in job.requests:
            found.setdefault(request.side, set()).add(request.caches)
    return found


def filling(script: Callable[..., object]) -> Callable[..., object]:
    """Do what a script does, and compile something."""

    def compiling(job: Job, side: str, benchmark: Benchmark) -> object:
        for request in job.requests:
            if request.side == side and request.caches is not None:
                request.caches.mkdir(parents=True, exist_ok=True)
                (request.caches / "kernel").write_text(benchmark.label)
        return script(job, side, benchmark)

    return compiling


def test_each_side_keeps_a_folder_of_what_it_compiles(project: Path) -> None:
    fakes = Fakes(filling(SLOW_TO_SETTLE))  # type: ignore[arg-type]
    measured(project, fakes)
    (base,), (head,) = (caches(fakes)[side] for side in ("base", "head"))
    assert base is not None
    assert head is not None
    assert base != head
    assert len(str(base)) == len(str(head))
    assert base.parent.parent == Workplace.around(project).cache
    assert not base.parent.exists()  # it went with the measurement


def test_all_sides_of_a_calibration_do(project: Path) -> None:
    def script(job: Job, side: str, benchmark: Benchmark) -> object:
        return paced({request.side: Pace() for request in job.requests})(job, side, benchmark)

    fakes = Fakes(filling(script))  # type: ignore[arg-type]
    calibrate(
        Workplace.around(project), CalibrateRequest(suite="commit", blocks=3), Silence(), fakes.machinery
    )
    found = caches(fakes)
    folders = {folder for each in found.values() for folder in each}
    assert len(folders) == len(found) == 6
    assert len({len(str(folder)) for folder in folders}) == 1
    assert not any(folder is None or folder.parent.exists() for folder in folders)


def test_a_measurement_that_goes_on_finds_what_it_compiled(project: Path) -> None:
    stopped = Fakes(interrupted(filling(SLOW_TO_SETTLE), 6))  # type: ignore[arg-type]
    with pytest.raises(LaunchError):
        measured(project, stopped)
    (kept,) = caches(stopped)["base"]
    assert kept is not None
    assert (kept / "kernel").exists()
    fakes = Fakes(SLOW_TO_SETTLE)
    measured(project, fakes)
    assert caches(fakes) == caches(stopped)
    assert not kept.parent.exists()


def test_cold_launches_are_given_nothing(project: Path) -> None:
    suited(project, "caches: cold\n")
    fakes = Fakes(filling(SLOW_TO_SETTLE))  # type: ignore[arg-type]
    measured(project, fakes)
    assert caches(fakes) == {"base": {None}, "head": {None}}


def test_what_began_with_warm_caches_does_not_go_on_with_cold_ones(project: Path) -> None:
    suited(project, "caches: warm\n")
    with pytest.raises(LaunchError):
        measured(project, Fakes(interrupted(SLOW_TO_SETTLE, 6)), "HEAD~1", "HEAD~1")  # type: ignore[arg-type]
    text = (project / "configs" / "commit.yaml").read_text()
    (project / "configs" / "commit.yaml").write_text(text.replace("caches: warm", "caches: cold"))
    fakes = Fakes(SLOW_TO_SETTLE)
    measured(project, fakes, "HEAD~1", "HEAD~1")
    assert {job.block for job in fakes.launchers[0].jobs} == set(range(BLOCKS))
