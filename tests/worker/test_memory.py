from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

from regress.worker import memory
from regress.worker.workload import TrainingStep
from tests.ranks import run_ranks

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")


def peak(step: Callable[[], Tensor | None]) -> int:
    return memory.count_peak(TrainingStep(step))


def linear_training() -> tuple[nn.Linear, TrainingStep]:
    torch.manual_seed(0)
    model = nn.Linear(30, 20)
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> Tensor:
        loss: Tensor = model(torch.ones(10, 30)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return model, TrainingStep(step, modules=(model,), optimizers=(optimizer,))


def test_counts_what_is_alive_at_once() -> None:
    def step() -> None:
        first = torch.zeros(100)
        second = first + 1
        del first
        third = second + 1
        del second, third

    assert peak(step) == 2 * 400


def test_a_view_holds_no_memory_of_its_own() -> None:
    def step() -> None:
        torch.zeros(100).view(10, 10).t().add_(1)

    assert peak(step) == 400


def test_what_autograd_keeps_counts() -> None:
    leaf = torch.ones(100, requires_grad=True)

    def step() -> None:
        kept = leaf.exp().exp()  # both results are kept for the backward pass
        more = torch.zeros(1000)
        del more, kept

    assert peak(step) == 400 + 2 * 400 + 4000


def test_a_storage_counts_at_its_present_size() -> None:
    def step() -> None:
        resized = torch.zeros(100)
        resized.untyped_storage().resize_(0)
        other = torch.zeros(50)
        resized.untyped_storage().resize_(400)
        resized.zero_()
        del other

    assert peak(step) == 400 + 200


def test_what_lives_on_between_steps_counts_from_the_start() -> None:
    hidden = torch.zeros(100)

    def step() -> None:
        torch.zeros(1000)
        hidden.add_(1)

    assert peak(step) == 400 + 4000


def test_parameters_gradients_and_optimizer_state_count_even_untouched() -> None:
    model, training = linear_training()
    training.step()
    nn.functional.linear(torch.ones(10, 30), model.weight, model.bias).sum().backward()
    idle = TrainingStep(lambda: torch.zeros(0), modules=training.modules, optimizers=training.optimizers)
    parameters = (30 * 20 + 20) * 4
    steps = 2 * 4
    assert memory.count_peak(idle) == 4 * parameters + steps


def test_agrees_with_the_tracker_of_torch() -> None:
    mem_tracker = pytest.importorskip("torch.distributed._tools.mem_tracker")
    _, training = linear_training()
    training.step()
    tracker = mem_tracker.MemTracker()
    tracker.track_external(*training.modules, *training.optimizers)
    with tracker:
        training.step()
        tracker.reset_mod_stats()
        training.step()
    assert memory.count_peak(training) == tracker.get_tracker_snapshot("peak")[CPU]["Total"]


def test_counting_trains_as_ordinary_steps_do() -> None:
    model, training = linear_training()
    memory.count_peak(training)
    undisturbed, ordinary = linear_training()
    for _ in range(1 + memory.WATCHED_STEPS):
        ordinary.step()
    assert torch.equal(model.weight, undisturbed.weight)
    assert not model._forward_hooks
    assert not model._forward_pre_hooks


def test_a_meta_tensor_takes_no_memory() -> None:
    assert peak(lambda: torch.zeros(100, device="meta") + 1) == 0


@pytest.mark.parametrize("was_on", [True, False])
def test_garbage_collection_is_put_back_even_after_a_failure(was_on: bool) -> None:
    def step() -> None:
        assert not gc.isenabled()
        raise RuntimeError("out of luck")

    (gc.enable if was_on else gc.disable)()
    try:
        with pytest.raises(RuntimeError, match="out of luck"):
            peak(step)
        assert gc.isenabled() is was_on
    finally:
        gc.enable()


def test_nobody_keeps_an_account_on_cpu() -> None:
    memory.reset_peak(CPU)
    assert memory.peaks(CPU) == {}


def test_cuda_keeps_its_own_account(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, torch.device]] = []

    def reset(device: torch.device) -> None:
        calls.append(("reset", device))

    def allocated(device: torch.device) -> int:
        calls.append(("allocated", device))
        return 12

    def reserved(device: torch.device) -> int:
        calls.append(("reserved", device))
        return 20

    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", reset)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", allocated)
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", reserved)
    device = torch.device("cuda", 3)
    memory.reset_peak(device)
    assert memory.peaks(device) == {"peak_allocated_bytes": 12, "peak_reserved_bytes": 20}
    assert calls == [("reset", device), ("allocated", device), ("reserved", device)]


def _peak_of_sharded(rank: int) -> int:
    mesh = init_device_mesh("cpu", (2,))
    sharded = distribute_tensor(torch.zeros(100, 2), mesh, [Shard(0)])

    def step() -> None:
        sharded.add_(1)

    return memory.count_peak(TrainingStep(step))


def test_a_sharded_tensor_counts_the_part_of_this_rank() -> None:
    assert run_ranks(_peak_of_sharded) == [100 * 2 * 4 // 2] * 2
