from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch")

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from regress.worker.comm import CollectiveCount, count_collectives
from tests.ranks import run_ranks

pytestmark = pytest.mark.torch

EIGHT_BYTES = CollectiveCount(count=1, bytes=8)


def _runs(rank: int) -> dict[str, Callable[[], object]]:
    two, four = torch.ones(2), torch.ones(4)
    group = dist.group.WORLD
    assert group is not None
    ops, name = torch.ops._c10d_functional, group.group_name

    def exchange() -> None:
        if rank == 0:
            dist.send(two, dst=1)
        else:
            dist.recv(two, src=0)

    def asynchronous() -> None:
        work = dist.all_reduce(two, async_op=True)
        assert work is not None
        work.wait()

    def autograd_all_to_all() -> None:
        leaf = torch.ones(2, requires_grad=True)
        functional.all_to_all_single_autograd(leaf, [1, 1], [1, 1], group).sum().backward()

    return {
        "nothing": lambda: two + two,
        "barrier": dist.barrier,
        "all_reduce": lambda: dist.all_reduce(two),
        "asynchronous": asynchronous,
        "broadcast": lambda: dist.broadcast(two, src=0),
        "exchange": exchange,
        "all_gather": lambda: dist.all_gather([torch.empty(2), torch.empty(2)], two),
        "reduce_scatter": lambda: dist.reduce_scatter(torch.empty(2), [two, two]),
        "all_to_all": lambda: dist.all_to_all_single(torch.empty(2), two),
        "functional": lambda: functional.all_reduce(two, "sum", group) + 0,
        "functional_gather": lambda: ops.wait_tensor(ops.all_gather_into_tensor(two, 2, name)),
        "functional_scatter": lambda: ops.wait_tensor(ops.reduce_scatter_tensor(four, "sum", 2, name)),
        "autograd_all_to_all": autograd_all_to_all,
    }


def _count_runs(rank: int) -> dict[str, CollectiveCount]:
    return {name: count_collectives(run) for name, run in _runs(rank).items()}


@pytest.fixture(scope="module")
def counts() -> list[dict[str, CollectiveCount]]:
    return run_ranks(_count_runs)


def test_the_ranks_count_alike(counts: list[dict[str, CollectiveCount]]) -> None:
    assert counts[0] == counts[1]


@pytest.mark.parametrize("name", ["nothing", "barrier"])
def test_what_moves_no_payload_is_not_counted(counts: list[dict[str, CollectiveCount]], name: str) -> None:
    assert counts[0][name] == CollectiveCount(count=0, bytes=0)


@pytest.mark.parametrize(
    "name", ["all_reduce", "asynchronous", "broadcast", "exchange", "all_to_all", "functional"]
)
def test_as_much_goes_in_as_comes_out(counts: list[dict[str, CollectiveCount]], name: str) -> None:
    assert counts[0][name] == EIGHT_BYTES


@pytest.mark.parametrize("name", ["all_gather", "reduce_scatter", "functional_gather", "functional_scatter"])
def test_the_larger_of_input_and_output_counts(counts: list[dict[str, CollectiveCount]], name: str) -> None:
    assert counts[0][name] == CollectiveCount(count=1, bytes=16)


def test_the_backward_pass_is_counted(counts: list[dict[str, CollectiveCount]]) -> None:
    assert counts[0]["autograd_all_to_all"] == CollectiveCount(count=2, bytes=16)


def _count_dtensor(rank: int) -> CollectiveCount:
    mesh = init_device_mesh("cpu", (2,))
    sharded = distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)])
    return count_collectives(lambda: sharded.redistribute(mesh, [Replicate()]).to_local() + 0)


def _count_ddp(rank: int) -> list[CollectiveCount]:
    model = DistributedDataParallel(torch.nn.Linear(3, 5))

    def step() -> None:
        model(torch.ones(1, 3)).sum().backward()

    for _ in range(2):  # DDP rebuilds its buckets after the first step
        step()
    return [count_collectives(step) for _ in range(3)]


def _count_models(rank: int) -> tuple[CollectiveCount, list[CollectiveCount]]:
    return _count_dtensor(rank), _count_ddp(rank)


def test_dtensors_and_ddp_are_seen_through() -> None:
    gathered = CollectiveCount(count=1, bytes=4 * 2 * 4)
    reduced = CollectiveCount(count=1, bytes=(3 * 5 + 5) * 4)
    assert run_ranks(_count_models) == [(gathered, [reduced] * 3)] * 2
