"""How much worse head is than base, with its uncertainty, from one value per launch.

Everything is estimated on the log scale, as ``worse``: the log of the ratio that grows when
head gets worse, ``log(head / base)`` where lower is better and ``log(base / head)`` where
higher is. It changes only its sign when the sides are swapped, and the unit cancels out.
People read fractions of base: +0.03 is 3 % worse whatever the direction.

Launches of two unpaired sides are compared with Student's t and one common variance, not
with Welch's: what the sides differ in is the code, and the noise of both comes from the same
machine. At three launches a side Student keeps its level (4.4 % of identical pairs at 5 %)
and finds more than Welch (3.5 %), which pays for degrees of freedom it then has to estimate.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scipy import special

from regress.errors import StatsError

Direction = Literal["lower", "higher"]
"""Which way is better."""

Design = Literal["paired", "unpaired"]
"""``paired`` by block, or two independent groups of launches."""

SD_FLOOR = 1e-4
"""Least noise of a launch (or of a difference within a block) that is believed, on the log scale.

Launches that agree better, often to the last digit, show the resolution of a clock or luck."""

LARGEST_LOG = 700.0
"""Beyond it ``exp`` leaves the range of a float."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """How much worse head is than base, and how uncertain that is."""

    worse: float
    """On the log scale; positive is worse."""

    sd: float
    """Of one difference within a block (paired), or of one launch (unpaired); log scale."""

    se: float
    """Standard error of ``worse``."""

    df: int
    """Degrees of freedom of ``sd``."""

    launches: tuple[int, int]
    """Of base and of head; the number of blocks, twice, where they are paired."""

    design: Design
    """How the two sides were set against each other."""

    direction: Direction
    """Which way is better."""

    notes: tuple[str, ...] = ()
    """Assumptions that had to be made."""

    @property
    def change(self) -> float:
        """The estimate as a fraction of base; positive is worse."""
        return as_fraction(self.worse, self.direction)

    @property
    def p_worse(self) -> float:
        """One-sided p-value of "head is no worse"."""
        return float(special.stdtr(self.df, -self.worse / self.se))

    @property
    def p_better(self) -> float:
        """One-sided p-value of "head is no better"."""
        return float(special.stdtr(self.df, self.worse / self.se))

    def bounds(self, confidence: float) -> tuple[float, float]:
        """The two-sided interval of ``change`` at a confidence in (0, 1)."""
        reach = t_quantile(self.df, (1 + confidence) / 2) * self.se
        low, high = self.worse - reach, self.worse + reach
        return as_fraction(low, self.direction), as_fraction(high, self.direction)

    def at(self, launches: int) -> tuple[float, int]:
        """Standard error and degrees of freedom, had there been this many launches a side."""
        if self.design == "paired":
            return self.sd / math.sqrt(launches), launches - 1
        return self.sd * math.sqrt(2 / launches), 2 * launches - 2


def paired_estimate(base: Sequence[float], head: Sequence[float], direction: Direction) -> Estimate:
    """Estimate from launches measured in pairs: Student's t on the logs of the ratios.

    Args:
        base: One positive value per block, in any one unit.
        head: The value measured beside it, in the same order and unit.
        direction: Which way is better.

    Raises:
        StatsError: The two differ in length, hold fewer than two blocks, or a value is not
            finite and positive.
    """
    if len(base) != len(head):
        raise StatsError(f"{len(base)} values of base and {len(head)} of head cannot be paired")
    if len(base) < 2:
        raise StatsError(f"{_count(len(base), 'block')} cannot show the noise; at least 2 are needed")
    pairs = zip(_logs(base, "base"), _logs(head, "head"), strict=True)
    differences = [_worse(b, h, direction) for b, h in pairs]
    n = len(differences)
    worse = math.fsum(differences) / n
    sd, notes = _believed(math.sqrt(_squares(differences) / (n - 1)))
    return Estimate(
        worse=worse,
        sd=sd,
        se=sd / math.sqrt(n),
        df=n - 1,
        launches=(n, n),
        design="paired",
        direction=direction,
        notes=notes,
    )


def unpaired_estimate(base: Sequence[float], head: Sequence[float], direction: Direction) -> Estimate:
    """Estimate from two independent groups of launches: Student's t on the logs.

    Args:
        base: One positive value per launch, in any one unit.
        head: The same of the other side, in the same unit.
        direction: Which way is better.

    Raises:
        StatsError: A side holds fewer than two launches, or a value is not finite and positive.
    """
    for name, values in (("base", base), ("head", head)):
        if len(values) < 2:
            raise StatsError(
                f"{_count(len(values), 'launch')} of {name} cannot show the noise; at least 2 are needed"
            )
    base_logs, head_logs = _logs(base, "base"), _logs(head, "head")
    n_base, n_head = len(base_logs), len(head_logs)
    df = n_base + n_head - 2
    sd, notes = _believed(math.sqrt((_squares(base_logs) + _squares(head_logs)) / df))
    return Estimate(
        worse=_worse(math.fsum(base_logs) / n_base, math.fsum(head_logs) / n_head, direction),
        sd=sd,
        se=sd * math.sqrt(1 / n_base + 1 / n_head),
        df=df,
        launches=(n_base, n_head),
        design="unpaired",
        direction=direction,
        notes=notes,
    )


def as_fraction(worse: float, direction: Direction) -> float:
    """Turn a log ratio into a fraction of base; positive stays positive."""
    if direction == "lower":
        return math.expm1(min(worse, LARGEST_LOG))
    return -math.expm1(min(-worse, LARGEST_LOG))


def as_log(fraction: float, direction: Direction) -> float:
    """Turn a fraction of base in (-1, 1) into a log ratio: the inverse of `as_fraction`."""
    return math.log1p(fraction) if direction == "lower" else -math.log1p(-fraction)


@functools.lru_cache(maxsize=4096)
def t_quantile(df: int, probability: float) -> float:
    """Quantile of Student's t."""
    return float(special.stdtrit(df, probability))


def _logs(values: Iterable[float], side: str) -> list[float]:
    logs = []
    for place, value in enumerate(values):
        try:
            usable = math.isfinite(value) and value > 0
        except (TypeError, ValueError):
            usable = False
        if not usable:
            raise StatsError(f"value {place} of {side} is {value!r:.40}, not a positive finite number")
        logs.append(math.log(value))
    return logs


def _worse(base_log: float, head_log: float, direction: Direction) -> float:
    return head_log - base_log if direction == "lower" else base_log - head_log


def _squares(values: Sequence[float]) -> float:
    """Sum of squared deviations from the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def _believed(sd: float) -> tuple[float, tuple[str, ...]]:
    if sd >= SD_FLOOR:
        return sd, ()
    return SD_FLOOR, (f"the launches agree to within {SD_FLOOR:.2%}; that much noise is assumed",)


def _count(number: int, what: str) -> str:
    plural = what + ("es" if what.endswith("ch") else "s")
    return f"1 {what}" if number == 1 else f"{number} {plural}"
