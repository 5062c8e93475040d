"""One training iteration, data parallel."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD

from tinytrain.model import Classifier


class Trainer:
    """Holds model and optimizer; each rank trains on its own batches."""

    def __init__(self, model: Classifier, *, lr: float = 0.01) -> None:
        self.model = DistributedDataParallel(model)
        self.optimizer = SGD(model.parameters(), lr=lr)

    def step(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Train on one batch and return its loss."""
        self.optimizer.zero_grad()
        loss = cross_entropy(self.model(inputs), targets)
        loss.backward()
        self.optimizer.step()
        return loss
