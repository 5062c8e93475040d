"""Data parallel training: each rank holds the whole model and trains it on its own batches."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.optim import AdamW

import regress

from .transformer import SIZES, Decoder, batches, compute_dtype, train_flops


@regress.benchmark(world_size=[2, 4, 8], params={"size": ["tiny", "small", "1b"]})
def ddp(ctx: regress.Context, *, size: str) -> regress.TrainingStep:
    """DDP: gradients are all-reduced in buckets while the backward pass goes on."""
    config = SIZES[size]
    with ctx.device:
        model = DistributedDataParallel(Decoder(config))
    optimizer = AdamW(model.parameters())
    data = batches(config, seed=ctx.seed + ctx.rank, device=ctx.device)
    dtype = compute_dtype(ctx.device)
    precision = torch.autocast(ctx.device.type, dtype, enabled=dtype != torch.float32)

    def step() -> Tensor:
        with ctx.phase("data"):
            batch = next(data)
        with ctx.phase("forward"), precision:
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
