"""What three fixed pieces of work cost on the node, before and after launches were measured.

They run in one environment for both sides, and run nothing of either: what they show is the node.
"""

from __future__ import annotations

from dataclasses import dataclass

PARTS: dict[str, str] = {
    "matmul_s": "matrix product",
    "all_reduce_s": "all-reduce",
    "copy_s": "memory copy",
}
"""Fields of a `Reading`, and what people call them."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What the canary took at one moment: for each piece the median of some repeats, slowest rank."""

    matmul_s: float | None
    """Of a matrix product; ``None`` when it was not measured."""

    all_reduce_s: float | None
    """Of an all-reduce over all ranks; ``None`` as above."""

    copy_s: float | None
    """Of a copy within the memory of the device; ``None`` as above."""


@dataclass(frozen=True, kw_only=True)
class Canary:
    """How the node was around a launch."""

    environment: str
    """What the canary ran in; readings of two environments are not compared. Empty when it did not run."""

    before: Reading | None
    """Before the launch, or the launches that were resident together; ``None`` when it failed."""

    after: Reading | None
    """After them; ``None`` also where another side's launch came next."""

    problem: str = ""
    """Why there is no reading; text from outside."""
