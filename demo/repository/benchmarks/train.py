"""What the library's users do all day: one training iteration on every rank."""

import torch
from tinytrain import Classifier, Trainer

import regress

BATCH = 64
DIM = 128


@regress.benchmark(world_size=2)
def train(ctx: regress.Context) -> regress.TrainingStep:
    """DDP training of the classifier."""
    trainer = Trainer(Classifier(dim=DIM).to(ctx.device))
    generator = torch.Generator().manual_seed(ctx.seed + ctx.rank)
    inputs = torch.randn(BATCH, DIM, generator=generator).to(ctx.device)
    targets = torch.randint(10, (BATCH,), generator=generator).to(ctx.device)

    def step() -> torch.Tensor:
        return trainer.step(inputs, targets)

    return regress.TrainingStep(
        step,
        samples=BATCH * ctx.world_size,
        modules=(trainer.model,),
        optimizers=(trainer.optimizer,),
    )
