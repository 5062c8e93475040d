"""The canary: a matrix product, an all-reduce and a memory copy, of always the same size.

The sizes are part of what is measured: who changes them changes `VERSION`, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import torch
import torch.distributed as dist

from regress.record.canary import Reading
from regress.worker.clock import clock_of

VERSION = 1
"""Of the pieces of work; readings of two versions are not compared."""

REPEATS = 9
"""Timed runs of each piece; the median counts."""

WARM_UPS = 3
"""Runs of each piece before the timed ones."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much work each piece is."""

    edge: int
    """Of the square matrices."""

    dtype: torch.dtype
    """Of the matrices."""

    products: int
    """Matrix products of one piece."""

    reduced_bytes: int
    """Of the all-reduce, on each rank."""

    copied_bytes: int
    """Of the memory copy, on each rank."""


SIZES = {
    "cpu": Sizes(edge=256, dtype=torch.float32, products=4, reduced_bytes=1 << 20, copied_bytes=16 << 20),
    "cuda": Sizes(
        edge=4096, dtype=torch.bfloat16, products=8, reduced_bytes=64 << 20, copied_bytes=256 << 20
    ),
}
"""By type of device: some milliseconds each, and more than its caches hold for the copy."""


def sing(device: torch.device) -> Reading:
    """Run the canary; every rank has to call it, and each measures its own times."""
    sizes = SIZES[device.type]
    matrix = torch.full((sizes.edge, sizes.edge), 1 / sizes.edge, dtype=sizes.dtype, device=device)
    product = torch.empty_like(matrix)
    reduced = torch.zeros(sizes.reduced_bytes // 4, device=device)
    source = torch.zeros(sizes.copied_bytes // 4, device=device)
    target = torch.empty_like(source)

    def multiply() -> None:
        for _ in range(sizes.products):
            torch.mm(matrix, matrix, out=product)

    return Reading(
        matmul_s=_median_s(multiply, device),
        all_reduce_s=_median_s(lambda: dist.all_reduce(reduced), device),
        copy_s=_median_s(lambda: target.copy_(source), device),
    )


def _median_s(work: Callable[[], object], device: torch.device) -> float:
    """Time a piece of work that all ranks do at the same time."""
    clock = clock_of(device)
    for _ in range(WARM_UPS):
        work()
    times = []
    for _ in range(REPEATS):
        clock.synchronize()
        dist.barrier()
        clock.synchronize()
        start = clock.mark()
        work()
        end = clock.mark()
        clock.synchronize()
        times.append(clock.offsets_s(start, [end])[0])
        clock.release()
    return median(times)
