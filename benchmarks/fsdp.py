"""Fully sharded training: each rank holds a part of every parameter, gradient and optimizer state."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.optim import AdamW

import regress

from .transformer import SIZES, Decoder, batches, compute_dtype, train_flops


@regress.benchmark(
    world_size=[2, 4, 8], params={"size": ["tiny", "small", "1b", "8b"], "reshard": [True, False]}
)
def fsdp(ctx: regress.Context, *, size: str, reshard: bool) -> regress.TrainingStep:
    """FSDP2: ZeRO-3 when parameters are resharded after the forward pass, else ZeRO-2."""
    config = SIZES[size]
    mesh = init_device_mesh(ctx.device.type, (ctx.world_size,))
    precision = MixedPrecisionPolicy(param_dtype=compute_dtype(ctx.device), reduce_dtype=torch.float32)
    with ctx.device:
        model = Decoder(config)
    for module in (*model.blocks, model):
        fully_shard(module, mesh=mesh, reshard_after_forward=reshard, mp_policy=precision)
    optimizer = AdamW(model.parameters())
    data = batches(config, seed=ctx.seed + ctx.rank, device=ctx.device)

    def step() -> Tensor:
        with ctx.phase("data"):
            batch = next(data)
        with ctx.phase("forward"):
            loss: Tensor = model(*batch)
        with ctx.phase("backward"):
            loss.backward()
        with ctx.phase("optimizer"):
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return regress.TrainingStep(
        step,
        tokens=config.tokens * ctx.world_size,
        samples=config.batch * ctx.world_size,
        model_flops=train_flops(config) * ctx.world_size,
        modules=(model,),
        optimizers=(optimizer,),
    )
