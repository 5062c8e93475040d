"""What earlier launches tell of the noise, before today's are measured.

Few launches show their own noise badly: of three a side, Student's t has four degrees of
freedom. Earlier launches of the same benchmark on the same platform have more. Their variance
is borrowed as Smyth (2004) does for microarrays: as so many degrees of freedom of the pooled
one. Where the benchmark has no history, other benchmarks of the platform lend a little: how
little is estimated from how far their variances lie apart.

A history also shows whether launches have modes. Three fast launches against three slow ones
look exactly like a regression; see `regress.stats.modes`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from scipy import optimize, special

SD_FLOOR = 1e-4
"""Least noise of a launch (or of a difference within a block) that is believed, on the log scale.

Launches that agree better, often to the last digit, show the resolution of a clock or luck."""

CAP = 10.0
"""Most degrees of freedom that a history is worth: noise itself changes with time."""

CONFLICT = 0.01
"""Level of the test that today's launches are noisier than their history."""

LENDERS = 10
"""Fewest other benchmarks from which a variance is borrowed."""

LENT = 10
"""Fewest launches of a benchmark that lends."""

PLAIN = (0.8, 1.2)
"""Range of the pooled kurtosis, over that of normal noise, in which launches have no modes and no spikes.

Two equal modes give 0.4, one spiking launch in twenty 1.9, Student's t with three degrees of freedom 1.4."""

KEPT = 64
"""Latest residuals that a prior carries along."""


@dataclass(frozen=True, kw_only=True)
class Prior:
    """The noise of one launch (of one block's difference, for paired sides), log scale."""

    sd: float
    """Standard deviation."""

    df: float
    """How well it is known: degrees of freedom, at most `CAP`."""

    launches: int
    """Launches of the same benchmark behind it, two for each block; 0 if only others lent."""

    residuals: tuple[float, ...] = ()
    """Of those launches (or differences) from the mean of what was measured together."""

    plain: bool = False
    """Whether many launches of other benchmarks of the platform show neither modes nor spikes."""


def prior_of(groups: Iterable[Sequence[float]], *, launches_each: int = 1) -> Prior | None:
    """What the history of one benchmark tells.

    Args:
        groups: Logs of launch values, or differences of logs within blocks; one group for all
            that was measured together, oldest first. Levels of groups may differ.
        launches_each: Launches behind one value: 1, or 2 for a block's difference.

    Returns:
        ``None`` if no group holds two values.
    """
    usable = [tuple(group) for group in groups if len(group) > 1]
    if not usable:
        return None
    centred = [tuple(value - fmean(group) for value in group) for group in usable]
    freedoms = [len(group) - 1 for group in centred]
    squares = [math.fsum(value**2 for value in group) for group in centred]
    residuals = tuple(itertools.chain.from_iterable(centred))
    return Prior(
        sd=math.sqrt(math.fsum(squares) / sum(freedoms)),
        df=min(CAP, sum(freedoms), _steady_df(squares, freedoms)),
        launches=launches_each * len(residuals),
        residuals=residuals[-KEPT:],
    )


def borrow(own: Prior | None, others: Sequence[Prior]) -> Prior | None:
    """Add to a benchmark's own history, where that is short, what other benchmarks lend.

    Args:
        own: Of the benchmark itself.
        others: Of the other benchmarks of the platform, measured in the same mode.

    Returns:
        ``None`` if there is nothing to borrow from.
    """
    lenders = [other for other in others if len(other.residuals) >= LENT and other.sd > 0]
    if len(lenders) < LENDERS or (own is not None and own.df >= CAP):
        return own
    sd, df = _lent([other.sd for other in lenders], [len(other.residuals) - 1 for other in lenders])
    plain = _is_plain(lenders)
    if own is None:
        return Prior(sd=sd, df=df, launches=0, plain=plain)
    total = own.df + df
    pooled = math.sqrt((own.df * own.sd**2 + df * sd**2) / total)
    return replace(own, sd=pooled, df=min(CAP, total), plain=plain)


def paired(prior: Prior) -> Prior:
    """The noise of a block's difference, were its two launches independent.

    Being measured together makes blocks steadier than that, so this is careful.
    """
    scale = math.sqrt(2)
    return replace(prior, sd=scale * prior.sd, residuals=tuple(scale * value for value in prior.residuals))


def pooled(squares: float, freedom: int, prior: Prior | None) -> tuple[float, float, bool]:
    """Variance from today's launches and from what was known before.

    A history that shows far less noise than today's launches is not borrowed from.

    Args:
        squares: Sum of today's squared deviations.
        freedom: Their degrees of freedom; at least 1 where there is no prior.
        prior: What was known before.

    Returns:
        The variance, its degrees of freedom, and whether the two contradict each other.
    """
    if prior is None:
        return squares / freedom, float(freedom), False
    known = max(prior.sd, SD_FLOOR) ** 2
    if freedom and float(special.fdtrc(freedom, prior.df, squares / freedom / known)) < CONFLICT:
        return squares / freedom, float(freedom), True
    return (squares + prior.df * known) / (freedom + prior.df), freedom + prior.df, False


def _steady_df(squares: Sequence[float], freedoms: Sequence[int]) -> float:
    """Degrees of freedom at which the variances of the groups lie as far apart as they do."""
    logs = [(math.log(square / df), df) for square, df in zip(squares, freedoms, strict=True) if square > 0]
    if len(logs) < 3:
        return math.inf
    return _spread_df([value for value, _ in logs], [df for _, df in logs])[1]


def _lent(sds: Sequence[float], freedoms: Sequence[int]) -> tuple[float, float]:
    """Standard deviation and degrees of freedom that benchmarks have in common."""
    centre, df = _spread_df([2 * math.log(sd) for sd in sds], freedoms)
    df = min(df, CAP)
    return math.exp((centre + float(special.digamma(df / 2)) - math.log(df / 2)) / 2), df


def _spread_df(log_variances: Sequence[float], freedoms: Sequence[int]) -> tuple[float, float]:
    """Centre of log variances, and the degrees of freedom of the distribution they are drawn from.

    Smyth (2004): the log of a sample variance is spread by ``trigamma(df / 2)`` on its own,
    and what is more comes from the true variances. Centre and spread are a median and a
    median absolute deviation, so that a few odd benchmarks do not count.
    """
    adjusted = [
        value - float(special.digamma(df / 2)) + math.log(df / 2)
        for value, df in zip(log_variances, freedoms, strict=True)
    ]
    centre = median(adjusted)
    spread = (1.4826 * median(abs(value - centre) for value in adjusted)) ** 2
    more = spread - fmean(float(special.polygamma(1, df / 2)) for df in freedoms)
    if more <= float(special.polygamma(1, CAP)):
        return centre, math.inf if more <= 0 else 2 * CAP
    return centre, 2 * float(optimize.brentq(lambda half: special.polygamma(1, half) - more, 1e-3, 2 * CAP))


def _is_plain(lenders: Sequence[Prior]) -> bool:
    """Whether the residuals of benchmarks, each over its own spread, have the tails of normal noise."""
    measured = expected = 0.0
    for lender in lenders:
        size = len(lender.residuals)
        variance = math.fsum(value**2 for value in lender.residuals) / size
        measured += math.fsum(value**4 for value in lender.residuals) / variance**2
        expected += size * 3 * (size - 1) / (size + 1)
    return PLAIN[0] <= measured / expected <= PLAIN[1]
