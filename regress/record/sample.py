"""One metric of one launch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One metric of one launch: the unit of replication in every test."""

    metric: str
    """Name from the metric table, for example ``step_s``."""

    value: float | None
    """In the metric's unit; ``None`` when the launch could not measure it."""

    steps: tuple[float, ...] = ()
    """The per-step values behind ``value``, in execution order, slowest rank of each step."""

    rank: int | None = None
    """The rank that ``value`` stands for, where one rank was worst; else ``None``."""
