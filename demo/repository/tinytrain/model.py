"""A residual MLP that classifies vectors."""

from __future__ import annotations

from torch import Tensor, nn


class Block(nn.Module):
    """Normalise, widen, narrow, add."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.layers = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, dim) to (batch, dim)."""
        return x + self.layers(self.norm(x))


class Classifier(nn.Module):
    """A stack of blocks and a head."""

    def __init__(self, *, dim: int = 128, depth: int = 2, classes: int = 10) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(Block(dim) for _ in range(depth)))
        self.head = nn.Linear(dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, dim) to (batch, classes)."""
        return self.head(self.blocks(x))
