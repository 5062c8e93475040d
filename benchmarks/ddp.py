"""Data parallel training: each rank holds the whole model and trains it on its own batches."""

from __future__ import annotations

from torch.nn.parallel import DistributedDataParallel

import regress

from .precision import Precision
from .training import training_step
from .transformer import SIZES, Decoder


@regress.benchmark(
    world_size=[1, 2, 4, 8],
    params={"size": ["tiny", "small", "1b"], "precision": ["fp32", "bf16", "fp16"]},
)
def ddp(ctx: regress.Context, *, size: str, precision: str) -> regress.TrainingStep:
    """DDP: gradients are all-reduced in buckets while the backward pass goes on."""
    config, numbers = SIZES[size], Precision.on(ctx.device, precision)
    with ctx.device:
        model = DistributedDataParallel(Decoder(config))
    return training_step(ctx, config, model, numbers, forward=numbers.autocast())
