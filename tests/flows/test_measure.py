"""How a plan becomes jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regress.errors import LaunchError, RequestError
from regress.flows.compare import CompareRequest, compare
from regress.flows.machinery import launcher_of
from regress.flows.progress import Silence
from regress.flows.undertaking import Means
from regress.flows.workplace import Workplace
from regress.launch.fake import PLATFORM, Pace, Script, failing, paced
from regress.launch.launcher import Job
from regress.launch.local import LocalLauncher
from regress.launch.lock import HostLock
from regress.launch.torchrun import TorchrunLauncher
from regress.record.outcome import Outcome
from regress.record.series import RankSeries
from regress.spec.benchmark import Benchmark, Catalog, Definition
from tests.flows.project import BLOCKS, CATALOG, EQUAL, SUITE, Fakes, git, measured, step_of, stored_runs

WIDE = Definition(
    name="wide",
    world_sizes=(2, 4),
    file="wide.py",
    line=1,
    digest="digest of wide",
    torch_modules=("torch.distributed.fsdp",),
)
CRASH = Outcome(kind="died", rank=0, status=-9, message="ended by SIGKILL")


def two_world_sizes(project: Path) -> Catalog:
    """A suite with a benchmark at two world sizes beside one at one."""
    suite = SUITE.replace("name: fsdp\n    world_size: [2]", "name: wide")
    (project / "configs" / "commit.yaml").write_text(suite)
    git(project, "commit", "--quiet", "--all", "--message", "Two world sizes")
    return replace(CATALOG, definitions=(CATALOG.definitions[0], WIDE))


def test_each_world_size_is_a_launch_of_its_own(project: Path) -> None:
    catalog = two_world_sizes(project)
    fakes = Fakes(EQUAL, base=catalog, head=catalog)
    answer = measured(project, fakes)
    assert {each.benchmark for each in answer.comparisons} == {
        "ddp[world=2]",
        "wide[world=2]",
        "wide[world=4]",
    }
    jobs = fakes.launchers[0].jobs
    assert len(jobs) == 2 * BLOCKS
    for job in jobs:
        assert {each.world_size for request in job.requests for each in request.benchmarks} == {
            job.world_size
        }
        assert {name for name, _ in job.files} == {each.name for each in job.requests[0].benchmarks}
        assert job.torch_modules == ("torch.distributed.fsdp",)  # of the whole plan: one server serves all
    for kept in stored_runs(project):
        assert sorted((launch.block, launch.world_size) for launch in kept.launches) == [
            (block, world_size) for block in range(BLOCKS) for world_size in (2, 4)
        ]


def test_attempts_are_counted_for_each_world_size(project: Path) -> None:
    catalog = two_world_sizes(project)
    fakes = Fakes(failing(EQUAL, CRASH, name="ddp", blocks=[1]), base=catalog, head=catalog)
    measured(project, fakes)
    attempts = {(job.world_size, job.attempt) for job in fakes.launchers[0].jobs if job.block == 1}
    assert {attempt for world_size, attempt in attempts if world_size == 4} == {0}


def test_sides_take_turns_but_for_the_block_alone(project: Path) -> None:
    fakes = Fakes(EQUAL)
    measured(project, fakes)
    first, *others = fakes.launchers[0].jobs
    assert first.alone
    assert not any(job.alone for job in others)
    for job in fakes.launchers[0].jobs:
        assert [request.benchmarks for request in job.requests[:1]] == [
            request.benchmarks for request in job.requests[1:]
        ]
        for _, turns in job.turns:
            assert sorted(turns) == ["base"] * 3 + ["head"] * 3
    assert {turns for _, turns in first.turns} <= {
        ("base",) * 3 + ("head",) * 3,
        ("head",) * 3 + ("base",) * 3,
    }
    orders = {tuple(request.side for request in job.requests) for job in others}
    assert orders == {("base", "head"), ("head", "base")}


def test_exact_metrics_are_counted_alone_and_once_beside_the_other_side(project: Path) -> None:
    fakes = Fakes(EQUAL)
    answer = measured(project, fakes)
    assert [job.counted for job in fakes.launchers[0].jobs] == [True, True] + [False] * (BLOCKS - 2)
    (memory,) = (
        each
        for each in answer.comparisons
        if (each.benchmark, each.metric) == ("ddp[world=2]", "peak_allocated_bytes")
    )
    assert (memory.base.launches, memory.design, memory.verdict) == (2, "exact", "unchanged")


def test_on_cuda_every_block_is_alone(project: Path) -> None:
    catalog = replace(CATALOG, device="cuda")
    fakes = Fakes(paced({"base": Pace(), "head": Pace(step_s=0.02)}), base=catalog, head=catalog)
    answer = measured(project, fakes)
    assert all(job.alone for job in fakes.launchers[0].jobs)
    assert step_of(answer, "ddp[world=2]").verdict == "regressed"


def test_scratch_is_gone_afterwards(project: Path) -> None:
    fakes = Fakes(failing(EQUAL, CRASH, name="ddp", blocks=[0]))
    measured(project, fakes)
    assert not any(job.scratch.exists() for job in fakes.launchers[0].jobs)


def test_a_crash_before_anything_else_still_ends(project: Path) -> None:
    """Every benchmark fails on both sides: each is tried once, and the flow ends."""
    fakes = Fakes(failing(EQUAL, CRASH))
    answer = measured(project, fakes)
    assert answer.exit_status == 3
    assert len(answer.outcomes) == 2 * 2 * BLOCKS
    assert all(kept.complete for kept in stored_runs(project))


def test_the_cores_of_each_rank_are_kept(project: Path) -> None:
    measured(project, Fakes(EQUAL))
    assert {launch.cores for run in stored_runs(project) for launch in run.launches} == {("0", "1")}


@pytest.mark.parametrize(("setting", "pinned"), [("", True), ("pin_ranks: false\n", False)])
def test_a_project_may_leave_its_ranks_unpinned(project: Path, setting: str, pinned: bool) -> None:
    (project / "configs" / "project.yaml").write_text(setting)
    fakes = Fakes(EQUAL)
    measured(project, fakes)
    assert [each.pin_ranks for each in fakes.undertakings] == [pinned]


ON_GPUS = replace(PLATFORM, devices=("H200",) * 4, device_ids=("GPU-0", "GPU-1", "GPU-2", "GPU-3"))
CUDA = replace(CATALOG, device="cuda", platform=ON_GPUS)


def reserving(peak_bytes: int) -> Script:
    """Both sides of every benchmark reserve so much of a GPU."""

    def script(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        answer = EQUAL(job, side, benchmark)
        assert not isinstance(answer, Outcome)
        return tuple(replace(rank, peak_reserved_bytes=peak_bytes) for rank in answer)

    return script


def resident(project: Path, fakes: Fakes) -> None:
    request = CompareRequest(base="HEAD~1", head="HEAD", means=Means(seed=1, resident=True))
    compare(Workplace.around(project), request, Silence(), fakes.machinery)


def test_two_sides_that_fit_take_turns_on_gpus(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regress.launch.fake.PLATFORM", replace(ON_GPUS, device_memory_bytes=100 << 30))
    fakes = Fakes(reserving(45 << 30), base=CUDA, head=CUDA)
    resident(project, fakes)
    assert [job.alone for job in fakes.launchers[0].jobs] == [True] + [False] * (BLOCKS - 1)


def test_two_sides_that_do_not_fit_are_refused_before_they_are_resident(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regress.launch.fake.PLATFORM", replace(ON_GPUS, device_memory_bytes=100 << 30))
    fakes = Fakes(reserving(46 << 30), base=CUDA, head=CUDA)
    with pytest.raises(RequestError, match=r"both sides do not fit on one GPU: .*leave --resident out"):
        resident(project, fakes)
    assert [job.alone for job in fakes.launchers[0].jobs] == [True]


def test_a_measurement_has_the_gpus_that_its_ranks_use(project: Path) -> None:
    fakes = Fakes(EQUAL, base=CUDA, head=CUDA)
    measured(project, fakes)
    assert fakes.undertakings[0].device_ids == ("GPU-0", "GPU-1")
    with HostLock(0.0, lambda _: None) as lock:
        lock.claim(["GPU-1"])
        request = CompareRequest(base="HEAD~1", head="HEAD", means=Means(wait_s=0.0))
        with pytest.raises(LaunchError, match="measures on gpu GPU-1"):
            compare(Workplace.around(project), request, Silence(), fakes.machinery)
    with HostLock(0.0, lambda _: None) as lock:
        lock.claim(["GPU-2"])
        measured(project, fakes)


def test_each_launcher_is_made_as_it_was_asked_for(project: Path, tmp_path: Path) -> None:
    fakes = Fakes(EQUAL)
    measured(project, fakes)
    ordinary = fakes.undertakings[0]
    by_agent = replace(ordinary, means=Means(launcher="torchrun"))
    with launcher_of(ordinary, tmp_path) as launcher:
        assert type(launcher) is LocalLauncher
    with launcher_of(by_agent, tmp_path) as launcher:
        assert type(launcher) is TorchrunLauncher


@pytest.mark.parametrize(
    "change",
    [
        {"code": {"variables": (("OMP_NUM_THREADS", "1"),)}},
        {"code": {"python": "/other/python"}},
        {"means": Means(seed=1, launcher="torchrun")},
        {"means": Means(seed=1, resident=True)},
        {"pin_ranks": False},
        {"harness": "another"},
    ],
    ids=str,
)
def test_only_what_is_the_same_may_go_on(
    project: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    fakes = Fakes(EQUAL)
    measured(project, fakes)
    one = fakes.undertakings[0]
    assert replace(one, means=Means(seed=1, fresh=True, wait_s=1.0)).digest() == one.digest()
    other = one
    if "harness" in change:
        before = one.digest()
        monkeypatch.setattr("regress.flows.undertaking.harness_digest", lambda: change["harness"])
        assert one.digest() != before
        return
    if "code" in change:
        base, head = one.sides
        other = replace(one, sides=(base, replace(head, code=replace(head.code, **change["code"]))))
    else:
        other = replace(one, **change)
    assert other.digest() != one.digest()


def test_what_ranks_did_while_they_were_to_sleep_is_kept(project: Path) -> None:
    def script(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        answer = EQUAL(job, side, benchmark)
        assert not isinstance(answer, Outcome)
        return tuple(replace(rank, idle_s=2.0, idle_cpu_s=1.0) for rank in answer)

    measured(project, Fakes(script))
    launches = [launch for run in stored_runs(project) for launch in run.launches]
    for launch in launches:
        expected = None if launch.alone else 1.0  # alone, nobody has a turn in between
        assert {each.idle_cores for each in launch.measurements} == {expected}
    assert {launch.alone for launch in launches} == {True, False}
