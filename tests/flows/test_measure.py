"""How a plan becomes jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from regress.launch.fake import Pace, failing, paced
from regress.record.outcome import Outcome
from regress.spec.benchmark import Catalog, Definition
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
    """Every benchmark of every block fails on both sides: each is tried once, and the flow ends."""
    fakes = Fakes(failing(EQUAL, CRASH))
    answer = measured(project, fakes)
    assert answer.exit_status == 3
    assert len(answer.outcomes) == 2 * 2 * BLOCKS
    assert all(kept.complete for kept in stored_runs(project))
