"""What runs on a GPU in these tests: small benchmarks that tell what they saw, and jobs of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from regress.launch.launcher import Code, Job, Request
from regress.spec.benchmark import Benchmark, Scalar
from regress.spec.plan import Block, Limits, Steps, turns

DEVICE = "cuda"

NEEDS_GPU = (
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available(), reason=f"no GPU: torch {torch.__version__} finds no CUDA device here"
    ),
)
"""For every module here: `make test` skips them where there is nothing to run them on."""

BENCHMARKS = """
import json
import os
import time
from pathlib import Path

import torch

import regress
import sidecode


def nodes(process):
    "The device files that a process holds open."
    found = set()
    for link in Path(f"/proc/{process}/fd").iterdir():
        try:
            found.add(os.readlink(link))
        except OSError:
            pass
    return sorted(path for path in found if path.startswith(("/dev/nvidia", "/dev/dxg")))


def note(**facts):
    with (Path(__file__).parent / "notes").open("a") as file:
        print(json.dumps({"side": sidecode.SIDE, "pid": os.getpid(), **facts}), file=file, flush=True)


@regress.benchmark(world_size=1)
def products(ctx):
    a = torch.randn(1024, 1024, device=ctx.device) / 32
    server = os.getppid()
    note(of="rank", nodes=nodes("self"))
    note(of="server", nodes=nodes(server), server=server)

    def step():
        note(of="step", at_s=time.monotonic())
        with ctx.phase("forward"):
            return (a @ a).square().mean()

    return regress.TrainingStep(step)


@regress.benchmark(world_size=1)
def too_large(ctx):
    a = torch.ones(8, device=ctx.device)

    def step():
        if sidecode.LARGE:
            torch.empty(1 << 50, dtype=torch.uint8, device=ctx.device)
        return a.mean()

    return regress.TrainingStep(step)
"""


class Site:
    """A folder with benchmarks, code of each side, and jobs on one rank."""

    def __init__(self, folder: Path, **large: bool) -> None:
        """Lay it out: for each side, whether it wants more memory than there is."""
        self._folder = folder
        self._sides = tuple(large)
        self._benchmarks = folder / "benchmarks"
        self._benchmarks.mkdir()
        (self._benchmarks / "subjects.py").write_text(BENCHMARKS)
        for side, wants_too_much in large.items():
            (folder / side).mkdir()
            (folder / side / "sidecode.py").write_text(f"SIDE, LARGE = {side!r}, {wants_too_much}\n")

    def job(self, *names: str, alone: bool = True) -> Job:
        """A block of these benchmarks, on every side."""
        benchmarks = [Benchmark(name=name, world_size=1, digest="0") for name in names]
        files = [(name, "subjects.py") for name in names]
        codes = [(side, str(self._folder / side)) for side in self._sides]
        return make_job(self._folder, self._benchmarks, benchmarks, files, codes, alone=alone)

    def notes(self, of: str) -> list[dict[str, Any]]:
        """What the benchmarks noted, in the order in which they did."""
        lines = (self._benchmarks / "notes").read_text().splitlines()
        return [note for note in map(json.loads, lines) if note["of"] == of]


def suite_job(folder: Path, params: Sequence[tuple[str, dict[str, Scalar]]]) -> Job:
    """A launch of this project's own benchmarks, one side."""
    benchmarks = [
        Benchmark(name=name, params=tuple(values.items()), world_size=1, digest="0")
        for name, values in params
    ]
    files = [(name, f"{name}.py") for name in dict.fromkeys(name for name, _ in params)]
    own = Path(__file__).parents[2] / "benchmarks"
    return make_job(folder, own, benchmarks, files, [("only", str(folder))], alone=True)


def make_job(
    folder: Path,
    source: Path,
    benchmarks: Sequence[Benchmark],
    files: Sequence[tuple[str, str]],
    codes: Sequence[tuple[str, str]],
    *,
    alone: bool,
) -> Job:
    sides = tuple(side for side, _ in codes)
    labels = tuple(benchmark.label for benchmark in benchmarks)
    steps = Steps(warmup=4, burst=4, turns=3)
    block = Block(index=0, alone=alone, counted=True, sides=sides, benchmarks=labels)
    scratch = folder / f"scratch{len(list(folder.glob('scratch*')))}"
    scratch.mkdir()
    return Job(
        block=0,
        attempt=0,
        alone=alone,
        counted=True,
        world_size=1,
        requests=tuple(
            Request(
                side=side,
                code=Code(python=sys.executable, variables=(), path=(path,), benchmarks=str(source)),
                benchmarks=tuple(benchmarks),
            )
            for side, path in codes
        ),
        files=tuple(files),
        torch_modules=("torch", "torch.distributed.fsdp", "torch.nn.parallel", "torch.optim"),
        turns=tuple((label, tuple(turns(1, block, label, steps.turns))) for label in labels),
        steps=steps,
        limits=Limits(build_s=120.0, step_s=60.0),
        seed=1,
        scratch=scratch,
    )
