from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from benchmarks.precision import PRECISIONS, Precision

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)


def parameters() -> list[nn.Parameter]:
    return [nn.Parameter(torch.ones(2))]


@pytest.mark.parametrize(
    ("name", "dtype", "scaled"),
    [("fp32", torch.float32, False), ("bf16", torch.bfloat16, False), ("fp16", torch.float16, True)],
)
def test_what_each_precision_tells_torch(name: str, dtype: torch.dtype, scaled: bool) -> None:
    precision = Precision.on(CPU, name)

    with precision.autocast():
        product = torch.ones(2, 2) @ torch.ones(2, 2)

    assert product.dtype is dtype
    assert precision.sharding().param_dtype is dtype
    assert precision.sharding().reduce_dtype is torch.float32
    assert precision.scaler().is_enabled() is scaled
    assert precision.optimizer(parameters()).defaults["fused"] is (True if scaled else None)


def test_float32_is_no_tf32() -> None:
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_scaled_gradient_updates_as_a_plain_one_does() -> None:
    """The optimizer unscales it by itself, without a look at it in between."""
    moved = []
    for name in ("fp32", "fp16"):
        (parameter,) = weights = parameters()
        precision = Precision.on(CPU, name)
        optimizer, scaler = precision.optimizer(weights), precision.scaler()
        for _ in range(3):
            scaler.scale(parameter.square().sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        moved.append(parameter.detach())
    assert torch.allclose(moved[0], moved[1])
    assert not torch.equal(moved[0], torch.ones(2))


def test_a_gradient_that_overflows_updates_nothing_and_lowers_the_scale() -> None:
    (parameter,) = weights = parameters()
    precision = Precision.on(CPU, "fp16")
    optimizer, scaler = precision.optimizer(weights), precision.scaler()
    scale = scaler.get_scale()
    scaler.scale(parameter.sum() * torch.inf).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(parameter.detach(), torch.ones(2))
    assert scaler.get_scale() < scale


def test_a_device_says_what_it_cannot_compute_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Tesla T4")

    with pytest.raises(NotImplementedError, match=r"^Tesla T4 does not compute in bfloat16$"):
        Precision.on(CUDA, "bf16")

    assert Precision.on(CUDA, "fp16").dtype is PRECISIONS["fp16"]
