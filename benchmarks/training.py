"""The step that every strategy trains the transformer with; what differs is the model they wrap."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from torch import Tensor, nn
from torch.optim import Optimizer

import regress

from .transformer import DecoderConfig, batches, train_flops


def training_step(
    ctx: regress.Context,
    config: DecoderConfig,
    model: nn.Module,
    optimizer: Optimizer,
    *,
    precision: AbstractContextManager[object] | None = None,
) -> regress.TrainingStep:
    """Data, forward, backward, optimizer, each a phase; every rank draws its own batches.

    Args:
        ctx: Of the benchmark.
        config: Of the decoder inside ``model``.
        model: Takes tokens and targets, returns the loss.
        optimizer: Of its parameters.
        precision: Entered anew for each forward pass; ``None`` leaves precision to the model.
    """
    data = batches(config, seed=ctx.seed + ctx.rank, device=ctx.device)
    forward = nullcontext() if precision is None else precision

    def step() -> Tensor:
        with ctx.phase("data"):
            batch = next(data)
        with ctx.phase("forward"), forward:
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
