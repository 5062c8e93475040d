"""Real ranks for tests: processes of a gloo group, forked from a server that has imported torch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from typing import TypeVar

T = TypeVar("T")


def run_ranks(body: Callable[[int], T], world_size: int = 2) -> list[T]:
    """Call ``body(rank)`` on every rank of a fresh process group; returns what each rank returned.

    ``body`` is a function at the top of a test module. What a rank raises is raised here.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(["torch.distributed.fsdp", "torch._dynamo"])
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(world_size, mp_context=context) as pool,
    ):
        store = f"file://{folder}/store"
        ranks = [pool.submit(_in_group, body, rank, world_size, store) for rank in range(world_size)]
        return [rank.result() for rank in ranks]


def _in_group(body: Callable[[int], T], rank: int, world_size: int, store: str) -> T:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=store,
        rank=rank,
        world_size=world_size,
        timeout=timedelta(seconds=60),
    )
    try:
        return body(rank)
    finally:
        dist.destroy_process_group()
