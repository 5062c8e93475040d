"""DDP and both kinds of FSDP, trained for real on two ranks, and on one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor, nn

import regress
from benchmarks.ddp import ddp
from benchmarks.fsdp import fsdp
from benchmarks.precision import PRECISIONS
from benchmarks.transformer import SIZES, Decoder, train_flops
from regress.worker.comm import CollectiveCount, count_collectives
from regress.worker.memory import count_peak
from regress.worker.workload import Phases
from tests.ranks import run_ranks

pytestmark = pytest.mark.torch

RANKS = 2
STEPS = 4
TINY = SIZES["tiny"]


@dataclass(frozen=True, kw_only=True)
class Trained:
    losses: tuple[float, ...]
    peaks: tuple[int, ...]
    collectives: tuple[CollectiveCount, ...]
    phases: tuple[str, ...]
    amounts: tuple[int | None, int | None, int | None]


Launch = list[dict[str, Trained]]
"""What each rank saw, by benchmark."""


def _train(rank: int, build: Callable[[regress.Context], regress.TrainingStep]) -> Trained:
    phases = Phases(time.perf_counter_ns)
    torch.manual_seed(7)
    training = build(
        regress.Context(rank=rank, world_size=RANKS, device=torch.device("cpu"), seed=7, phases=phases)
    )
    losses = []
    for _ in range(STEPS):
        loss = training.step()
        assert loss is not None
        losses.append(loss.item())
    return Trained(
        losses=tuple(losses),
        peaks=tuple(count_peak(training) for _ in range(2)),
        collectives=tuple(count_collectives(training.step) for _ in range(2)),
        phases=tuple(phases.marks()),
        amounts=(training.tokens, training.samples, training.model_flops),
    )


def _train_all(rank: int) -> dict[str, Trained]:
    return {
        "ddp": _train(rank, lambda ctx: ddp(ctx, size="tiny", precision="fp32")),
        "zero3": _train(rank, lambda ctx: fsdp(ctx, size="tiny", precision="fp32", reshard=True)),
        "zero2": _train(rank, lambda ctx: fsdp(ctx, size="tiny", precision="fp32", reshard=False)),
    }


def _losses(
    rank: int, world_size: int, precision: str, dtypes: set[torch.dtype]
) -> dict[str, tuple[float, ...]]:
    """Of each strategy; collects the types of what every linear layer makes."""

    def see(_module: nn.Module, _inputs: object, output: Tensor) -> None:
        dtypes.add(output.dtype)

    found = {}
    builds: dict[str, Callable[[regress.Context], regress.TrainingStep]] = {
        "ddp": lambda ctx: ddp(ctx, size="tiny", precision=precision),
        "zero3": lambda ctx: fsdp(ctx, size="tiny", precision=precision, reshard=True),
    }
    for name, build in builds.items():
        torch.manual_seed(7)
        phases = Phases(time.perf_counter_ns)
        training = build(
            regress.Context(
                rank=rank, world_size=world_size, device=torch.device("cpu"), seed=7, phases=phases
            )
        )
        for module in training.modules[0].modules():
            if isinstance(module, nn.Linear):
                module.register_forward_hook(see)
        losses = [training.step() for _ in range(STEPS)]
        found[name] = tuple(loss.item() for loss in losses if loss is not None)
    return found


def _train_mixed(rank: int) -> dict[str, tuple[dict[str, tuple[float, ...]], set[torch.dtype]]]:
    seen: dict[str, set[torch.dtype]] = {"bf16": set(), "fp16": set()}
    return {
        precision: (_losses(rank, RANKS, precision, dtypes), dtypes) for precision, dtypes in seen.items()
    }


def _train_alone(rank: int) -> dict[str, tuple[float, ...]]:
    return _losses(rank, 1, "fp32", set())


@pytest.fixture(scope="module")
def launch() -> Launch:
    return run_ranks(_train_all, RANKS)


@pytest.fixture(scope="module")
def parameter_bytes() -> int:
    return 4 * sum(parameter.numel() for parameter in Decoder(TINY).parameters())


def test_another_launch_gives_the_same_to_the_bit(launch: Launch) -> None:
    assert run_ranks(_train_all, RANKS) == launch


def test_all_strategies_train_the_same_model(launch: Launch) -> None:
    for rank in launch:
        assert rank["zero3"].losses == pytest.approx(rank["ddp"].losses, rel=1e-5)
        assert rank["zero2"].losses == pytest.approx(rank["ddp"].losses, rel=1e-5)


def test_the_loss_falls(launch: Launch) -> None:
    for rank in launch:
        for trained in rank.values():
            assert trained.losses[-1] < 0.99 * trained.losses[0]


def test_half_the_width_computes_nearly_the_same(launch: Launch) -> None:
    """Within 0.2 %: bfloat16 keeps 8 bits of a factor, and errors of many factors average out."""
    for rank, mixed in zip(launch, run_ranks(_train_mixed, RANKS), strict=True):
        for precision, (found, dtypes) in mixed.items():
            assert dtypes == {PRECISIONS[precision]}
            for name, losses in found.items():
                assert losses == pytest.approx(rank[name].losses, rel=2e-3)
                assert losses != rank[name].losses
                assert losses[-1] < 0.99 * losses[0]


def test_one_rank_trains_too(launch: Launch) -> None:
    (alone,) = run_ranks(_train_alone, 1)
    assert alone["zero3"] == pytest.approx(alone["ddp"], rel=1e-5)
    assert alone["ddp"][0] == pytest.approx(launch[0]["ddp"].losses[0], rel=1e-5)  # before any reduction
    assert alone["ddp"][-1] < 0.99 * alone["ddp"][0]


def test_ranks_train_on_batches_of_their_own(launch: Launch) -> None:
    assert launch[0]["ddp"].losses[0] != launch[1]["ddp"].losses[0]


def test_counts_repeat_and_agree_between_ranks(launch: Launch) -> None:
    for name in launch[0]:
        assert len({peak for rank in launch for peak in rank[name].peaks}) == 1
        assert len({count for rank in launch for count in rank[name].collectives}) == 1


def test_sharding_saves_memory(launch: Launch) -> None:
    peaks = {name: trained.peaks[0] for name, trained in launch[0].items()}
    assert peaks["zero3"] < peaks["zero2"] < peaks["ddp"]


def test_ddp_reduces_every_gradient_once(launch: Launch, parameter_bytes: int) -> None:
    counted = launch[0]["ddp"].collectives[0]
    assert counted == CollectiveCount(count=2, bytes=parameter_bytes)  # the first bucket is a small one


def test_fsdp_gathers_and_scatters_each_unit(launch: Launch, parameter_bytes: int) -> None:
    units = TINY.layers + 1  # the blocks, and the root with what is left
    zero3 = CollectiveCount(count=3 * units, bytes=3 * parameter_bytes)  # gathered again for backward
    zero2 = CollectiveCount(count=2 * units, bytes=2 * parameter_bytes)
    assert launch[0]["zero3"].collectives[0] == zero3
    assert launch[0]["zero2"].collectives[0] == zero2


def test_steps_say_what_they_compute(launch: Launch) -> None:
    for rank in launch:
        for trained in rank.values():
            assert trained.phases == ("data", "forward", "backward", "optimizer")
            assert trained.amounts == (
                RANKS * TINY.batch * TINY.seq_len,
                RANKS * TINY.batch,
                RANKS * train_flops(TINY),
            )
