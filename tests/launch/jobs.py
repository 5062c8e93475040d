"""Small benchmarks and jobs for the local launcher: what a side does is decided by its own code."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from regress.launch.launcher import Code, Job, Launcher, Request
from regress.spec.benchmark import Benchmark
from regress.spec.plan import Block, Limits, Steps, turns

BENCHMARKS = """
import os
from pathlib import Path

import torch
import torch.distributed as dist

import regress
import sidecode

with (Path(__file__).parent / "processes").open("a") as file:
    print(sidecode.SIDE, os.getpid(), os.getppid(), file=file, flush=True)


def training(ctx, fault):
    if not fault("build", ctx.rank, 0):
        values, steps = torch.ones(4), 0

        def step():
            nonlocal steps
            steps += 1
            with ctx.phase("forward"):
                loss = fault("step", ctx.rank, steps)
            dist.all_reduce(values.clone())
            return torch.tensor(float(steps)) if loss is None else loss

        return regress.TrainingStep(step, tokens=8)


@regress.benchmark(world_size=2)
def subject(ctx):
    return training(ctx, sidecode.fault)


@regress.benchmark(world_size=2)
def other(ctx):
    return training(ctx, lambda *_: None)
"""

HEALTHY = "def fault(where, rank, step): pass"
"""The code of a side that works."""


def fault(where: str, deed: str, *, rank: int = 1, step: int = 4) -> str:
    """The code of a side that does something bad while building, or in a step."""
    condition = f"where == 'build' and rank == {rank}"
    if where == "step":
        condition = f"where == 'step' and rank == {rank} and step == {step}"
    return f"""
import ctypes, os, signal, sys, time
import torch

def fault(where, rank, step):
    if {condition}:
        {deed}
"""


class Workshop:
    """A folder with benchmarks, and the code of each side."""

    def __init__(self, folder: Path, sides: Mapping[str, str]) -> None:
        self._folder = folder
        self.sides = tuple(sides)
        self._benchmarks = folder / "benchmarks"
        self._benchmarks.mkdir()
        (self._benchmarks / "subjects.py").write_text(BENCHMARKS)
        for side, code in sides.items():
            (folder / side).mkdir()
            (folder / side / "sidecode.py").write_text(f"SIDE = {side!r}\n{code}\n")

    def code(self, side: str, *, python: str = sys.executable, **variables: str) -> Code:
        return Code(
            python=python,
            variables=tuple(sorted(variables.items())),
            path=(str(self._folder / side),),
            benchmarks=str(self._benchmarks),
        )

    def job(
        self,
        names: Sequence[str] = ("subject",),
        *,
        alone: bool = False,
        counted: bool = False,
        steps: Steps | None = None,
        step_s: float = 20.0,
        codes: Mapping[str, Code] | None = None,
    ) -> Job:
        benchmarks = tuple(Benchmark(name=name, world_size=2, digest="0") for name in names)
        labels = tuple(benchmark.label for benchmark in benchmarks)
        steps = steps or Steps(warmup=2, burst=2, turns=3)
        block = Block(index=0, alone=alone, counted=counted, sides=self.sides, benchmarks=labels)
        scratch = self._folder / f"scratch{len(list(self._folder.glob('scratch*')))}"
        scratch.mkdir()
        return Job(
            block=0,
            attempt=0,
            alone=alone,
            counted=counted,
            world_size=2,
            requests=tuple(
                Request(side=side, code=(codes or {}).get(side) or self.code(side), benchmarks=benchmarks)
                for side in self.sides
            ),
            files=tuple((name, "subjects.py") for name in names),
            torch_modules=("torch", "torch.distributed"),
            turns=tuple((label, tuple(turns(1, block, label, steps.turns))) for label in labels),
            steps=steps,
            limits=Limits(build_s=20.0, step_s=step_s),
            seed=1,
            scratch=scratch,
        )

    def ranks(self, side: str | None = None) -> list[int]:
        """Process ids of the ranks that ran, of one side or of all."""
        file = self._benchmarks / "processes"
        rows = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [int(pid) for name, pid, _ in rows if side in (None, name)]


def runs(pid: int) -> bool:
    """Whether a process is still there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def cpu_s(pid: int) -> float:
    """CPU time of a process."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def ends(pid: int, within_s: float = 10.0) -> bool:
    """Whether a process is gone, or goes soon."""
    limit = time.monotonic() + within_s
    while runs(pid):
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


def leave_a_child_behind(launcher: Launcher, folder: Path) -> None:
    """What a rank has started ends with it, whoever started the rank."""
    deed = "print('child', os.fork() or time.sleep(1000)); os._exit(7)"
    workshop = Workshop(folder, {"only": fault("step", deed)})
    (report,) = launcher.run(workshop.job(), lambda *_: None)
    outcome = report.measured[-1].outcome
    assert (outcome.kind, outcome.rank, outcome.status) == ("exited", 1, 7)
    _, _, child = Path(outcome.log).read_text().partition("child ")
    assert ends(int(child.split()[0]))
