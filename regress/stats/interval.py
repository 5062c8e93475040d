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
from statistics import fmean
from typing import Literal

from scipy import special

from regress.errors import StatsError
from regress.stats.modes import paired_floor, unpaired_floor
from regress.stats.outliers import outlying
from regress.stats.prior import CAP, SD_FLOOR, Prior, pooled

Direction = Literal["lower", "higher"]
"""Which way is better."""

Design = Literal["paired", "unpaired"]
"""``paired`` by block, or two independent groups of launches."""

UNKNOWN = 3.0
"""How much runs of other times are taken to differ where nobody knows, over how much their launches do."""

UNKNOWN_DAYS = f"how runs of other times differ is unknown; {UNKNOWN:g} times as much as launches is assumed"

LARGEST_LOG = 700.0
"""Beyond it ``exp`` leaves the range of a float."""


@dataclass(frozen=True, kw_only=True)
class Between:
    """How much more two runs of one code differ than their launches do: days, nodes, placement."""

    sd: float
    """Standard deviation of the difference of two runs' means that comes from that; log scale."""

    df: float
    """How well it is known."""


Apart = Between | Literal["unknown"] | None
"""How two runs of two times differ, or that nobody knows; ``None``: both were measured in turns."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """How much worse head is than base, and how uncertain that is."""

    worse: float
    """On the log scale; positive is worse."""

    sd: float
    """Of one difference within a block (paired), or of one launch (unpaired); log scale."""

    se: float
    """Standard error of ``worse``."""

    df: float
    """Degrees of freedom of ``se``."""

    launches: tuple[int, int]
    """Of base and of head, as they were measured; the number of blocks, twice, where they are paired."""

    design: Design
    """How the two sides were set against each other."""

    direction: Direction
    """Which way is better."""

    left_out: tuple[int, int] = (0, 0)
    """Outlying launches of base and of head that are not in ``worse``."""

    floors: tuple[float, float] = (0.0, 0.0)
    """Least believable p-values of "no worse" and "no better"; see `regress.stats.modes`."""

    prior: Prior | None = None
    """What was known of the noise before; ``None`` where nothing was."""

    between: Between | None = None
    """In ``se``, where the sides were measured in two runs."""

    bias: float = 0.0
    """How far identical sides may differ here; log scale, at least 0."""

    share: float = 1.0
    """Share of the error rates that is spent at this look, in (0, 1]."""

    last_share: float = 1.0
    """The same of the last look that may come."""

    notes: tuple[str, ...] = ()
    """Assumptions that had to be made."""

    @property
    def change(self) -> float:
        """The estimate as a fraction of base; positive is worse."""
        return as_fraction(self.worse, self.direction)

    @property
    def p_worse(self) -> float:
        """One-sided p-value of "head is no worse"."""
        return max(self.floors[0], float(special.stdtr(self.df, -(self.worse - self.bias) / self.se)))

    @property
    def p_better(self) -> float:
        """One-sided p-value of "head is no better"."""
        return max(self.floors[1], float(special.stdtr(self.df, (self.worse + self.bias) / self.se)))

    @property
    def known(self) -> int:
        """Launches of the benchmark that are known, earlier ones and today's."""
        return sum(self.launches) + (self.prior.launches if self.prior else 0)

    def bounds(self, confidence: float) -> tuple[float, float]:
        """The two-sided interval of ``change`` at a confidence in (0, 1).

        At one of several looks it is as wide as its share of the error rate makes it, so that
        all looks together err no more often (Jennison and Turnbull's repeated interval).
        """
        reach = t_quantile(self.df, 1 - self.share * (1 - confidence) / 2) * self.se + self.bias
        low, high = self.worse - reach, self.worse + reach
        return as_fraction(low, self.direction), as_fraction(high, self.direction)

    def at(self, launches: int) -> tuple[float, float]:
        """Standard error and degrees of freedom, had there been this many launches a side."""
        if self.design == "paired":
            own, variance = launches - 1, self.sd**2 / launches
        else:
            own, variance = 2 * launches - 2, 2 * self.sd**2 / launches
        return _added(variance, own + (self.prior.df if self.prior else 0.0), self.between)


def paired_estimate(
    base: Sequence[float],
    head: Sequence[float],
    direction: Direction,
    *,
    prior: Prior | None = None,
    bias: float = 0.0,
    shares: tuple[float, float] = (1.0, 1.0),
) -> Estimate:
    """Estimate from launches measured in pairs: Student's t on the logs of the ratios.

    Args:
        base: One positive value per block, in any one unit.
        head: The value measured beside it, in the same order and unit.
        direction: Which way is better.
        prior: Of a block's difference.
        bias: How far identical sides may differ here, log scale.
        shares: Of the error rates: what is spent at this look, and at the last that may come.

    Raises:
        StatsError: The two differ in length, hold fewer than two blocks (one with a prior), or
            a value is not finite and positive.
    """
    if len(base) != len(head):
        raise StatsError(f"{len(base)} values of base and {len(head)} of head cannot be paired")
    _enough(len(base), "block", prior)
    pairs = zip(logs_of(base, "base"), logs_of(head, "head"), strict=True)
    differences = [_worse(b, h, direction) for b, h in pairs]
    kept, lost = _kept(differences, prior)
    sd, df, notes = _noise(_squares(kept), len(kept) - 1, prior)
    if lost:
        notes = (_left_out(lost, "block"), *notes)
    residuals = prior.residuals if prior else ()
    plain = prior is not None and prior.plain
    return Estimate(
        worse=fmean(kept),
        sd=sd,
        se=sd / math.sqrt(len(kept)),
        df=df,
        launches=(len(base), len(base)),
        left_out=(lost, lost),
        design="paired",
        direction=direction,
        floors=(0.0, 0.0)
        if plain
        else (paired_floor(differences, residuals, 1), paired_floor(differences, residuals, -1)),
        prior=prior,
        bias=bias,
        share=shares[0],
        last_share=shares[1],
        notes=notes,
    )


def unpaired_estimate(
    base: Sequence[float],
    head: Sequence[float],
    direction: Direction,
    *,
    prior: Prior | None = None,
    apart: Apart = None,
    bias: float = 0.0,
    shares: tuple[float, float] = (1.0, 1.0),
) -> Estimate:
    """Estimate from two independent groups of launches: Student's t on the logs.

    Args:
        base: One positive value per launch, in any one unit.
        head: The same of the other side, in the same unit.
        direction: Which way is better.
        prior: Of a launch.
        apart: Where the sides were not measured in turns. If nobody knows how runs differ,
            it is assumed that they do so `UNKNOWN` times as much as their launches.
        bias: How far identical sides may differ here, log scale.
        shares: Of the error rates: what is spent at this look, and at the last that may come.

    Raises:
        StatsError: A side holds fewer than two launches (one with a prior), or a value is not
            finite and positive.
    """
    _enough(len(base), "launch", prior, " of base")
    _enough(len(head), "launch", prior, " of head")
    sign = 1.0 if direction == "lower" else -1.0
    base_logs = [sign * value for value in logs_of(base, "base")]
    head_logs = [sign * value for value in logs_of(head, "head")]
    base_kept, base_lost = _kept(base_logs, prior)
    head_kept, head_lost = _kept(head_logs, prior)
    n_base, n_head = len(base_kept), len(head_kept)
    sd, df, notes = _noise(_squares(base_kept) + _squares(head_kept), n_base + n_head - 2, prior)
    for lost, side in ((head_lost, " of head"), (base_lost, " of base")):
        if lost:
            notes = (_left_out(lost, "launch", side), *notes)
    residuals = prior.residuals if prior else ()
    plain = prior is not None and prior.plain
    if apart == "unknown":
        apart = Between(sd=math.sqrt(2) * UNKNOWN * sd, df=df)
        notes = (*notes, UNKNOWN_DAYS)
    se, df = _added(sd**2 * (1 / n_base + 1 / n_head), df, apart)
    return Estimate(
        worse=fmean(head_kept) - fmean(base_kept),
        sd=sd,
        se=se,
        df=df,
        launches=(len(base), len(head)),
        left_out=(base_lost, head_lost),
        design="unpaired",
        direction=direction,
        floors=(0.0, 0.0)
        if plain
        else (
            unpaired_floor(base_logs, head_logs, residuals, 1),
            unpaired_floor(base_logs, head_logs, residuals, -1),
        ),
        prior=prior,
        between=apart,
        bias=bias,
        share=shares[0],
        last_share=shares[1],
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
def t_quantile(df: float, probability: float) -> float:
    """Quantile of Student's t."""
    return float(special.stdtrit(df, probability))


def _noise(squares: float, freedom: int, prior: Prior | None) -> tuple[float, float, tuple[str, ...]]:
    """Standard deviation, its degrees of freedom and notes, from launches and what was known before.

    A history that shows as much noise as `CAP` degrees of freedom tell is never undercut: a few
    launches that agree may all be of one mode.
    """
    variance, df, conflict = pooled(squares, freedom, prior)
    if prior is not None:
        variance = max(variance, min(1.0, prior.df / CAP) * prior.sd**2)
    notes = ("noisier than its history, from which nothing was borrowed",) if conflict else ()
    if variance >= SD_FLOOR**2:
        return math.sqrt(variance), df, notes
    return SD_FLOOR, df, (f"the launches agree to within {SD_FLOOR:.2%}; that much noise is assumed",)


def _added(variance: float, df: float, between: Between | None) -> tuple[float, float]:
    """Standard error and its degrees of freedom with the variance of runs added (Satterthwaite 1946)."""
    if between is None:
        return math.sqrt(variance), df
    more = between.sd**2
    total = variance + more
    return math.sqrt(total), total**2 / (variance**2 / df + more**2 / between.df)


def _kept(values: Sequence[float], prior: Prior | None) -> tuple[list[float], int]:
    """The values without outlying ones, and how many those are."""
    places = outlying(values, prior)
    return [value for place, value in enumerate(values) if place not in places], len(places)


def _left_out(count: int, what: str, side: str = "") -> str:
    lies = "lies" if count == 1 else "lie"
    return (
        f"{_count(count, what)}{side} {lies} far from the others and {'is' if count == 1 else 'are'} left out"
    )


def logs_of(values: Iterable[float], side: str) -> list[float]:
    """The logs of values.

    Raises:
        StatsError: One is not finite and positive; it is named, with the side.
    """
    logs = []
    for place, value in enumerate(values):
        try:
            usable = math.isfinite(value) and value > 0
        except (TypeError, ValueError, OverflowError):
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


def _enough(count: int, what: str, prior: Prior | None, side: str = "") -> None:
    needed = 2 if prior is None else 1
    if count < needed:
        raise StatsError(
            f"{_count(count, what)}{side} cannot show the noise; at least {needed} are needed"
            if needed > 1
            else f"no {what}{side} was measured"
        )


def _count(number: int, what: str) -> str:
    plural = what + ("es" if what.endswith("ch") else "s")
    return f"1 {what}" if number == 1 else f"{number} {plural}"
