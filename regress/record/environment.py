"""The software that a launch ran on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Software of one side: the first suspects of any difference."""

    python: str
    """Version, for example ``3.11.7``."""

    torch: str
    """Version with its build, for example ``2.13.0+cpu``."""

    backend: str
    """Of the process group: ``gloo`` or ``nccl``."""

    threads: int
    """Of one rank, as torch sees it."""

    cuda: str | None = None
    """Toolkit torch was built for; ``None`` without CUDA."""

    nccl: str | None = None
    """Version; ``None`` without NCCL."""

    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that steer torch, NCCL, CUDA, gloo and OpenMP, by name."""

    def fields(self) -> dict[str, str]:
        """Every field as text, by name, variables among them: what a difference is listed by."""
        known = {
            "python": self.python,
            "torch": self.torch,
            "backend": self.backend,
            "threads": str(self.threads),
            "cuda": self.cuda or "none",
            "nccl": self.nccl or "none",
        }
        return known | {f"${name}": value for name, value in self.variables}
