"""Fully sharded training: each rank holds a part of every parameter, gradient and optimizer state."""

from __future__ import annotations

from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import regress

from .precision import Precision
from .training import training_step
from .transformer import SIZES, Decoder


@regress.benchmark(
    world_size=[1, 2, 4, 8],
    params={
        "size": ["tiny", "small", "1b", "8b"],
        "precision": ["fp32", "bf16", "fp16"],
        "reshard": [True, False],
    },
)
def fsdp(ctx: regress.Context, *, size: str, precision: str, reshard: bool) -> regress.TrainingStep:
    """FSDP2: ZeRO-3 when parameters are resharded after the forward pass, else ZeRO-2."""
    config, numbers = SIZES[size], Precision.on(ctx.device, precision)
    mesh = init_device_mesh(ctx.device.type, (ctx.world_size,))
    with ctx.device:
        model = Decoder(config)
    for module in (*model.blocks, model):
        fully_shard(module, mesh=mesh, reshard_after_forward=reshard, mp_policy=numbers.sharding())
    return training_step(ctx, config, model, numbers)
