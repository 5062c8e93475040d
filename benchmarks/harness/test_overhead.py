"""What the harness adds to a step, to a phase and to a launch."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from regress.launch.launcher import Job
from regress.launch.local import LocalLauncher
from regress.spec.benchmark import Benchmark
from regress.spec.plan import Steps
from regress.worker.loop import Place, Session
from regress.worker.workload import Context, Declaration, TrainingStep
from tests.launch.jobs import Workshop

STEPS = 1000
"""Of a burst."""

PHASES = 10
"""Of a step."""


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    """A rank without peers, with a heartbeat as real ranks have it."""
    beats = memoryview(mmap.mmap(-1, 8)).cast("q")

    def beat() -> None:
        beats[0] += 1

    monkeypatch.setattr("torch.distributed.barrier", lambda: None)
    return Place(rank=0, world_size=1, device=torch.device("cpu"), beat=beat)


def session(place: Place, build: Callable[[Context], TrainingStep]) -> Session:
    """A session that is ready for bursts."""
    declaration = Declaration(build=build, world_sizes=(1,), params=())
    return Session.build(place, declaration, Benchmark(name="empty", world_size=1, digest="0"), 0)


def empty(_: Context) -> TrainingStep:
    """A benchmark that computes nothing."""
    return TrainingStep(lambda: None)


def phased(ctx: Context) -> TrainingStep:
    """A benchmark of phases that compute nothing."""

    def step() -> None:
        for _ in range(PHASES):
            with ctx.phase("forward"):
                pass

    return TrainingStep(step)


def step_us(session: Session) -> float:
    """Median period of all steps so far, in microseconds."""
    return 1e6 * median(step_s for burst in session.bursts for step_s in burst.steps_s)


def test_step(benchmark: BenchmarkFixture, place: Place, say: Callable[[str], None]) -> None:
    """A burst of empty steps: what remains is the harness's own."""
    bursts = session(place, empty)
    benchmark.pedantic(bursts.burst, args=(STEPS,), rounds=50, warmup_rounds=2)  # type: ignore[no-untyped-call]
    benchmark.extra_info["step_us"] = step_us(bursts)
    say(f"harness per step: {step_us(bursts):.2f} us (target: below 20)")


def test_phase(benchmark: BenchmarkFixture, place: Place, say: Callable[[str], None]) -> None:
    """The same with ten empty phases a step."""
    without, bursts = session(place, empty), session(place, phased)
    without.burst(STEPS)
    benchmark.pedantic(bursts.burst, args=(STEPS,), rounds=50, warmup_rounds=2)  # type: ignore[no-untyped-call]
    phase_us = (step_us(bursts) - step_us(without)) / PHASES
    benchmark.extra_info["phase_us"] = phase_us
    say(f"harness per phase: {phase_us:.2f} us (target: below 5)")


NOTES_FIRST_STEP = """
import time

def fault(where, rank, step):
    if where == "step" and rank == 0 and step == 1:
        open("first", "w").write(str(time.monotonic()))
"""


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[LocalLauncher]:
    """One whose server becomes warm with the first launch."""
    with LocalLauncher(cache=tmp_path / "cache") as launcher:
        yield launcher


def test_launch(
    benchmark: BenchmarkFixture, launcher: LocalLauncher, tmp_path: Path, say: Callable[[str], None]
) -> None:
    """Two ranks from a warm server: up to their first step, and until nothing of them is left."""
    workshop = Workshop(tmp_path, {"only": NOTES_FIRST_STEP})
    first_step_s: list[float] = []

    def job() -> tuple[tuple[Job], dict[str, object]]:
        return (workshop.job(steps=Steps(warmup=1, burst=1, turns=1)),), {}

    def launch(job: Job) -> None:
        start_s = time.monotonic()
        tuple(launcher.run(job, lambda *_: None))
        first_step_s.append(float((job.scratch / "only" / "work" / "first").read_text()) - start_s)

    benchmark.pedantic(launch, setup=job, rounds=20, warmup_rounds=1)  # type: ignore[no-untyped-call]
    benchmark.extra_info["first_step_s"] = median(first_step_s[1:])
    say(f"launch to first step: {median(first_step_s[1:]):.3f} s (target: below 0.5)")
