"""Slowdowns of a known size, planted in timed steps: the tool tests itself where it runs.

How long a piece of work takes is measured on the spot, and alike on all ranks: the slowest one's time
counts. What it took in the steps, which may be more on a busy machine, is told with what was measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from regress.record.calibration import Slowdown
from regress.worker.clock import Clock, clock_of

STALL_EVERY = 10
"""Timed steps of which one stalls, for as long as all of them were to be slowed down."""

SIZES = {"cuda": (2048, 1024, 512, 256, 128), "cpu": (256, 128, 64, 32)}
"""Edges of the matrices of ``kernel``, largest first: on a device the product is to take longer than
handing it over does."""

PIECES = 8
"""Matrix products, or more, that a slowdown is made of where they are short enough."""

MOST_FLOATS = 1 << 24
"""Of the all-reduce of ``collective``."""

REPEATS = 15
"""Times that a piece of work is timed; the median counts."""

SPUN_S = 200e-6
"""End of a sleep that is waited for awake: the scheduler does not wake anybody on the dot."""

Deed = Callable[[], object]


class Planted:
    """Makes steps longer, and keeps account of what that took in fact."""

    def __init__(self, deed: Deed | None, clock: Clock, every: int = 1) -> None:
        """Plant nothing yet.

        Args:
            deed: What is done at the end of a step; ``None``: nothing.
            clock: Of its own.
            every: It is done in one timed step of so many.
        """
        self._deed, self._clock, self._every = deed, clock, every
        self._marks: list[tuple[Any, Any]] = []
        self._taken_s: list[float] = []
        self._steps = 0

    def into(self, step: Callable[[], Any]) -> Callable[[], Any]:
        """The step with what is planted in it."""
        deed, mark, every = self._deed, self._clock.mark, self._every
        if deed is None:
            return step

        def longer() -> Any:
            loss = step()
            if self._steps % every == every // 2:  # in the middle: so also where steps are few
                begin = mark()
                deed()
                self._marks.append((begin, mark()))
            self._steps += 1
            return loss

        return longer

    def read(self) -> None:
        """Take in what was done; call it when the device has done it."""
        self._taken_s += [self._clock.offsets_s(begin, [end])[0] for begin, end in self._marks]
        self._marks.clear()
        self._clock.release()

    @property
    def planted_s(self) -> float:
        """What a step was made longer by: the median, or the mean where only some steps were."""
        if not self._taken_s:
            return 0.0
        return median(self._taken_s) if self._every == 1 else math.fsum(self._taken_s) / self._steps


def plant(slowdown: Slowdown, step_s: float, device: torch.device) -> Planted:
    """Make a slowdown ready; every rank has to call it.

    Args:
        slowdown: Of which kind, and how much. With a fraction of 0 all is made ready and nothing is done.
        step_s: What a step takes on this rank; that of the slowest rank counts.
        device: Of this rank.
    """
    amount_s = slowdown.fraction * _slowest(step_s, device)
    every = 1
    if slowdown.kind == "stall":
        every = STALL_EVERY
        amount_s *= every
    prepare = {"kernel": _products, "collective": _all_reduce}.get(slowdown.kind, _sleep)
    deed = prepare(amount_s, device)
    return Planted(deed if slowdown.fraction else None, clock_of(device), every)


def _sleep(amount_s: float, device: torch.device) -> Deed:
    """Nothing is done, by the process or, where it only hands work over, by the device."""
    if device.type == "cuda":
        cycles = 1_000_000
        unit_s = _takes_s(lambda: torch.cuda._sleep(cycles), device)
        wanted = round(cycles * amount_s / unit_s)
        return lambda: torch.cuda._sleep(wanted)

    def sleep() -> None:
        end_s = time.perf_counter() + amount_s
        if amount_s > SPUN_S:
            time.sleep(amount_s - SPUN_S)
        while time.perf_counter() < end_s:
            pass

    return sleep


def _products(amount_s: float, device: torch.device) -> Deed:
    """As many matrix products as take so long, of the largest size that gives enough of them."""

    def products(size: int) -> Callable[[int], None]:
        left = torch.full((size, size), 1.0 / size, device=device)
        right, out = left.clone(), torch.empty_like(left)

        def run(count: int) -> None:
            for _ in range(count):
                torch.mm(left, right, out=out)

        return run

    for size in SIZES[device.type]:
        run = products(size)
        unit_s = _takes_s(lambda run=run: run(PIECES), device) / PIECES  # type: ignore[misc]
        if unit_s * PIECES <= amount_s:
            break
    count = max(1, round(amount_s / unit_s))
    return lambda: run(count)


def _all_reduce(amount_s: float, device: torch.device) -> Deed:
    """One all-reduce that takes so long; the shortest there is where that takes longer."""

    def takes_s(floats: int) -> float:
        buffer = torch.zeros(floats, device=device)
        return _takes_s(lambda: dist.all_reduce(buffer), device)

    small, small_s = 1, takes_s(1)
    large, large_s = 1 << 10, takes_s(1 << 10)
    while large_s < amount_s and large < MOST_FLOATS:
        small, small_s = large, large_s
        large *= 4
        large_s = takes_s(large)
    share = (amount_s - small_s) / (large_s - small_s) if large_s > small_s else 0.0
    floats = round(small + (large - small) * min(max(share, 0.0), 1.0))
    buffer = torch.zeros(floats, device=device)
    return lambda: dist.all_reduce(buffer)


def _takes_s(work: Deed, device: torch.device) -> float:
    """What some work takes on the slowest rank: median of several times, after one that is not timed."""
    clock = clock_of(device)
    work()
    marks = []
    for _ in range(REPEATS):
        begin = clock.mark()
        work()
        marks.append((begin, clock.mark()))
    clock.synchronize()
    return _slowest(median(clock.offsets_s(begin, [end])[0] for begin, end in marks), device)


def _slowest(time_s: float, device: torch.device) -> float:
    """The longest time of all ranks, the same on each: ranks that disagreed would wait for ever."""
    longest = torch.tensor(time_s, dtype=torch.float64, device=device)
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    return float(longest)
