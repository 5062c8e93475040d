"""What the harness adds to a step, to a phase and to a launch."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest
import torch

from benchmarks.harness.conftest import Take
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


def last_step_s(session: Session) -> float:
    """Median period of the steps of the last burst."""
    return median(session.bursts[-1].steps_s)


def test_step(take: Take, place: Place) -> None:
    """A burst of empty steps: what remains is the harness's own. The target is 20 us."""
    bursts = session(place, empty)
    take(
        "harness per step",
        lambda: bursts.burst(STEPS),
        result=lambda _: last_step_s(bursts),
        rounds=50,
    )


def test_phase(take: Take, place: Place) -> None:
    """The same with ten empty phases a step. The target is 5 us."""
    without, bursts = session(place, empty), session(place, phased)
    take(
        "harness per phase",
        lambda: bursts.burst(STEPS),
        setup=lambda: without.burst(STEPS),
        result=lambda _: (last_step_s(bursts) - last_step_s(without)) / PHASES,
        rounds=50,
    )


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


def test_launch(take: Take, launcher: LocalLauncher, tmp_path: Path) -> None:
    """Two ranks from a warm server, up to their first step. The target is 0.5 s."""
    workshop = Workshop(tmp_path, {"only": NOTES_FIRST_STEP})
    first_step_s = 0.0

    def launch(job: Job) -> None:
        nonlocal first_step_s
        start_s = time.monotonic()
        tuple(launcher.run(job, lambda *_: None))
        first_step_s = float((job.scratch / "only" / "work" / "first").read_text()) - start_s

    take(
        "launch to first step",
        launch,
        setup=lambda: workshop.job(steps=Steps(warmup=1, burst=1, turns=1)),
        result=lambda _: first_step_s,
        yardstick="python",
        rounds=20,
    )
