"""One benchmark in one rank: build, warm up, timed bursts, counting, result.

Whoever commands the rank decides the order (`regress.worker.rank`); nothing of the
harness runs inside a step, and between two steps only a mark of the clock and a heartbeat.
"""

from __future__ import annotations

import bisect
import gc
import itertools
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from regress.record.calibration import Slowdown
from regress.record.series import Burst, RankSeries, Workload
from regress.spec.benchmark import Benchmark, scalar_text
from regress.worker import comm, memory
from regress.worker.catalog import PACKAGE
from regress.worker.clock import Clock, clock_of
from regress.worker.failure import Diverged
from regress.worker.planted import Planted, plant
from regress.worker.precision import Precisions
from regress.worker.workload import Context, Declaration, Phases, TrainingStep

STEPS_TIMED = 7
"""Steps that tell how long a step takes before it is made slower."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a rank stands."""

    rank: int
    """In the default process group."""

    world_size: int
    """Ranks in it."""

    device: torch.device
    """Current in this process."""

    beat: Callable[[], None]
    """Tells whoever watches that a step has ended."""

    path: tuple[str, ...] = ()
    """Folders of the side's code."""


@dataclass(kw_only=True)
class Session:
    """A benchmark being measured; every method is called on all ranks alike."""

    place: Place
    """Where this rank stands."""

    benchmark: Benchmark
    """What is measured."""

    seed: int
    """Of the workload."""

    training: TrainingStep
    """What the benchmark's function returned."""

    phases: Phases
    """Marks that the benchmark sets within its steps."""

    clock: Clock
    """Of the rank's device."""

    bursts: list[Burst] = field(default_factory=list)
    """Timed so far."""

    warmup: int = 0
    """Steps before the first timed one, so far."""

    losses: list[float] = field(default_factory=list)
    """Of the first of them."""

    peaks: dict[str, int] = field(default_factory=dict)
    """Of memory after the last burst, by metric; empty where the device keeps no account."""

    counted: dict[str, int] = field(default_factory=dict)
    """Exact metrics of instrumented steps, by name."""

    planted: Planted | None = None
    """What makes timed steps longer, where the tool tests itself."""

    idle_s: float = 0.0
    """Time between bursts so far, in which another side may have had its turn."""

    idle_cpu_s: float = 0.0
    """CPU time of this process in it: threads that should sleep."""

    asleep_since: tuple[float, float] | None = None
    """When the last burst ended: on the monotonic clock, and in CPU time of this process."""

    precision: tuple[str, ...] | None = None
    """Types in which an instrumented step multiplied."""

    @classmethod
    def build(cls, place: Place, declaration: Declaration, benchmark: Benchmark, seed: int) -> Session:
        """Run the benchmark's function, from a fixed seed."""
        clock = clock_of(place.device)
        phases = Phases(clock.mark)
        context = Context(
            rank=place.rank,
            world_size=place.world_size,
            device=place.device,
            seed=seed,
            phases=phases,
        )
        torch.manual_seed(seed)
        training = declaration.build(context, **dict(benchmark.params))
        if not isinstance(training, TrainingStep):
            raise TypeError(f"{benchmark.name} returned {type(training).__name__}, not a TrainingStep")
        return cls(place=place, benchmark=benchmark, seed=seed, training=training, phases=phases, clock=clock)

    def warm_up(self, steps: int, *, keep_losses: bool = True) -> list[float]:
        """Run steps that count for nothing but their losses.

        Returns:
            What each took, in seconds, with all work of the device.

        Raises:
            Diverged: A loss is not finite.
        """
        steps_s = []
        for _ in range(steps):
            start_s = time.perf_counter()
            loss = self.training.step()
            self.clock.synchronize()
            steps_s.append(time.perf_counter() - start_s)
            self.place.beat()
            value = None if loss is None else _finite(loss)
            if value is not None and keep_losses:
                self.losses.append(value)
        self.warmup += steps
        memory.reset_peak(self.place.device)
        return steps_s

    def plant(self, slowdown: Slowdown) -> None:
        """Make the timed steps from now on slower, by a share of what they take now.

        The step is timed first. A side that is to be slowed by nothing does all of this, too: it is to
        differ in nothing else.
        """
        self.burst(STEPS_TIMED)
        step_s = median(self.bursts.pop().steps_s)
        self.asleep_since = None
        self.planted = plant(slowdown, step_s, self.place.device)

    def burst(self, steps: int) -> None:
        """Run one step more than ``steps`` and time all but the first.

        A device may be several steps behind when all are handed over. It gets the time that so
        many steps may take: its coming to the end of each is a heartbeat, too.

        Raises:
            Diverged: The last loss is not finite.
        """
        step, mark, beat = self.training.step, self.clock.mark, self.place.beat
        self._wake()
        self._align()
        self.phases.clear()
        self.clock.release()
        loss = step()  # it is discarded, and takes what it takes: nothing is planted in it
        if self.planted is not None:
            step = self.planted.into(step)
        ends = [mark()]
        beat()
        cpu_start_s = time.process_time()
        for _ in range(steps):
            loss = step()
            ends.append(mark())
            beat()
        cpu_s = time.process_time() - cpu_start_s
        for end in ends:
            self.clock.wait(end)
            beat()
        self.clock.synchronize()
        self.bursts.append(self._read(ends, cpu_s))
        if self.planted is not None:
            self.planted.read()
        self.peaks = memory.peaks(self.place.device)
        if loss is not None:
            _finite(loss)
        self.asleep_since = time.monotonic(), time.process_time()

    def count(self) -> None:
        """Run instrumented steps: memory and collectives. Never between timed steps."""
        self._align()
        with Precisions() as precisions:
            collectives = comm.count_collectives(self._step)
        self.precision = precisions.names
        self.counted = {"collective_count": collectives.count, "collective_bytes": collectives.bytes}
        if not self.peaks:
            self.counted["peak_allocated_bytes"] = memory.count_peak(self.training)
        self.clock.synchronize()

    def result(self) -> RankSeries:
        """All that was measured."""
        training = self.training
        parameters = {parameter for module in training.modules for parameter in module.parameters()}
        return RankSeries(
            rank=self.place.rank,
            workload=Workload(
                params=tuple((name, scalar_text(value)) for name, value in self.benchmark.params),
                world_size=self.place.world_size,
                seed=self.seed,
                tokens=training.tokens,
                samples=training.samples,
                model_flops=training.model_flops,
                parameters=sum(parameter.numel() for parameter in parameters) if parameters else None,
                parameter_types=tuple(sorted({_type(parameter) for parameter in parameters})) or None,
                precision=self.precision,
                shapes=training.shape_texts,
            ),
            bursts=tuple(self.bursts),
            warmup=self.warmup,
            losses=tuple(self.losses),
            side_modules=_modules_below(self.place.path) if self.place.path else None,
            idle_s=self.idle_s or None,
            idle_cpu_s=self.idle_cpu_s if self.idle_s else None,
            planted_s=None if self.planted is None else self.planted.planted_s,
            **self.peaks,
            **self.counted,
        )

    def close(self) -> None:
        """Let go of model, optimizer and caches before the next benchmark."""
        del self.training
        gc.collect()
        if self.place.device.type == "cuda":
            torch.cuda.empty_cache()

    def _step(self) -> None:
        self.training.step()
        self.place.beat()

    def _wake(self) -> None:
        """Keep account of what this process did while it was to sleep."""
        if self.asleep_since is not None:
            since_s, cpu_s = self.asleep_since
            self.idle_s += time.monotonic() - since_s
            self.idle_cpu_s += time.process_time() - cpu_s

    def _align(self) -> None:
        """Start together: all work done, all ranks here.

        On CUDA the barrier is a collective on the device that the process group is bound to.
        """
        self.clock.synchronize()
        dist.barrier()
        self.clock.synchronize()

    def _read(self, ends: list[Any], cpu_s: float) -> Burst:
        """Turn the marks of a burst into times; its first step ends at 0."""
        origin = ends[0]
        ends_s = self.clock.offsets_s(origin, ends)
        phases_s = []
        for name, marks in self.phases.marks().items():
            entered_s = self.clock.offsets_s(origin, [entered for entered, _ in marks])
            left_s = self.clock.offsets_s(origin, [left for _, left in marks])
            phases_s.append((name, _by_step(ends_s, entered_s, left_s)))
        steps_s = tuple(end - start for start, end in itertools.pairwise(ends_s))
        return Burst(steps_s=steps_s, phases_s=tuple(phases_s), cpu_s=cpu_s)


def _type(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _modules_below(folders: tuple[str, ...]) -> int:
    """How many imported modules lie in these folders, the benchmark files not counted."""
    files = [
        getattr(module, "__file__", None) or ""
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] != PACKAGE
    ]
    return sum(file.startswith(tuple(f"{folder}/" for folder in folders)) for file in files)


def _by_step(ends_s: list[float], entered_s: list[float], left_s: list[float]) -> tuple[float, ...]:
    """Time of a phase in each timed step; what ran before the first of them is left out."""
    totals = [0.0] * (len(ends_s) - 1)
    for entered, left in zip(entered_s, left_s, strict=True):
        step = bisect.bisect_right(ends_s, entered) - 1
        if 0 <= step < len(totals):
            totals[step] += left - entered
    return tuple(totals)


def _finite(loss: torch.Tensor) -> float:
    if hasattr(loss, "full_tensor"):
        loss = loss.full_tensor()
    value = float(loss.detach())
    if not math.isfinite(value):
        raise Diverged(f"the loss is {value}")
    return value
