"""The arms of a calibration: blocks that are measured alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regress.flows.levels import measurements, value
from regress.flows.undertaking import Undertaking
from regress.record.calibration import Slowdown
from regress.record.run import Measurement
from regress.spec.benchmark import Benchmark
from regress.spec.plan import Block
from regress.store.runset import RunSet

EQUAL = "equal"
"""Name of the arm in which nothing is planted."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """Blocks that are measured alike: two equal sides, or one of them slowed down."""

    name: str
    """For example ``equal`` or ``kernel-2``."""

    slowdown: Slowdown | None
    """``None``: nothing is planted."""

    @classmethod
    def of(cls, slowdown: Slowdown | None) -> Arm:
        """The arm of a slowdown, or of equal sides."""
        name = EQUAL if slowdown is None else f"{slowdown.kind}-{100 * slowdown.fraction:g}"
        return cls(name=name, slowdown=slowdown)

    @property
    def roles(self) -> tuple[str, str]:
        """Of the two sides; either is the slowed one in half of the blocks."""
        return f"{self.name}.1", f"{self.name}.2"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A benchmark in a block in which both sides were measured."""

    first: Measurement
    """Of the side that is named first."""

    second: Measurement
    """Of the other."""

    sign: int
    """+1 where the second was slowed down, -1 where the first was, 0 where neither."""

    def difference(self, metric: str) -> float:
        """Log of second over first."""
        return math.log(value(self.second, metric) / value(self.first, metric))

    @property
    def plain(self) -> tuple[Measurement, ...]:
        """The sides that were not slowed down."""
        return {-1: (self.second,), 1: (self.first,)}.get(self.sign, (self.first, self.second))

    @property
    def by_label(self) -> tuple[Measurement, Measurement]:
        """The plain one, then the slowed one."""
        return (self.second, self.first) if self.sign < 0 else (self.first, self.second)

    def values(self, metric: str) -> tuple[float, float]:
        """Those of `by_label`."""
        plain, slowed = self.by_label
        return value(plain, metric), value(slowed, metric)


def pairs_of(
    undertaking: Undertaking, benchmark: Benchmark, arm: Arm, runs: RunSet, blocks: Sequence[Block]
) -> Iterator[Pair]:
    """What a benchmark was measured to take, block by block; blocks in which a side failed are left out."""
    by_block = [measurements(runs.writers[role].launches, benchmark.label) for role in arm.roles]
    for block in blocks:
        if set(block.sides) != set(arm.roles):
            continue
        first, second = (found.get(block.index) for found in by_block)
        if first is not None and second is not None:
            slowed = [bool(_amount(undertaking, block, role)) for role in arm.roles]
            yield Pair(first=first, second=second, sign=slowed[1] - slowed[0])


def _amount(undertaking: Undertaking, block: Block, role: str) -> float:
    slowdown = undertaking.slowdown(block, role)
    return 0.0 if slowdown is None else slowdown.fraction
