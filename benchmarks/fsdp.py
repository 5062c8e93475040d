"""Fully sharded training: each rank holds a part of every parameter, gradient and optimizer state."""

from __future__ import annotations

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.optim import AdamW

import regress

from .training import training_step
from .transformer import SIZES, Decoder, compute_dtype


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
    return training_step(ctx, config, model, optimizer)
