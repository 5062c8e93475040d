"""The step that every strategy trains the transformer with; what differs is the model they wrap."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from torch import Tensor, nn

import regress

from .precision import Precision
from .transformer import DecoderConfig, batches, train_flops


def training_step(
    ctx: regress.Context,
    config: DecoderConfig,
    model: nn.Module,
    precision: Precision,
    *,
    forward: AbstractContextManager[object] | None = None,
) -> regress.TrainingStep:
    """Data, forward, backward, optimizer, each a phase; every rank draws its own batches.

    Args:
        ctx: Of the benchmark.
        config: Of the decoder inside ``model``.
        model: Takes tokens and targets, returns the loss.
        precision: What it is trained in.
        forward: Entered anew for each forward pass; ``None`` where the model casts by itself.
    """
    data = batches(config, seed=ctx.seed + ctx.rank, device=ctx.device)
    optimizer, scaler = precision.optimizer(model.parameters()), precision.scaler()
    casting = nullcontext() if forward is None else forward

    def step() -> Tensor:
        with ctx.phase("data"):
            batch = next(data)
        with ctx.phase("forward"), casting:
            loss: Tensor = model(*batch)
        with ctx.phase("backward"):
            scaler.scale(loss).backward()
        with ctx.phase("optimizer"):
            scaler.step(optimizer)
            scaler.update()
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
