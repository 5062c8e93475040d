"""Data parallel training: each rank holds the whole model and trains it on its own batches."""

from __future__ import annotations

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.optim import AdamW

import regress

from .training import training_step
from .transformer import SIZES, Decoder, compute_dtype


@regress.benchmark(world_size=[2, 4, 8], params={"size": ["tiny", "small", "1b"]})
def ddp(ctx: regress.Context, *, size: str) -> regress.TrainingStep:
    """DDP: gradients are all-reduced in buckets while the backward pass goes on."""
    config = SIZES[size]
    with ctx.device:
        model = DistributedDataParallel(Decoder(config))
    optimizer = AdamW(model.parameters())
    dtype = compute_dtype(ctx.device)
    precision = torch.autocast(ctx.device.type, dtype, enabled=dtype != torch.float32)
    return training_step(ctx, config, model, optimizer, precision=precision)
