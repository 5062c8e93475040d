"""The rule by which two sides are called regressed, improved or unchanged.

It holds at one look or at several, if each spends its share of the error rates; see
`regress.stats.sequential`.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from regress.errors import RequestError, StatsError
from regress.stats.interval import (
    Design,
    Direction,
    Estimate,
    as_log,
    logs_of,
    paired_estimate,
    t_quantile,
    unpaired_estimate,
)
from regress.stats.power import detectable, telling
from regress.stats.prior import Prior, prior_of
from regress.stats.prior import paired as paired_prior

Answer = Literal["regressed", "improved", "unchanged", "inconclusive"]

CONFIDENCE = 0.9
"""Of every interval shown; also makes "inside ±min_change" two one-sided tests at 5 %."""

POWER = 0.9
"""How often a worsening must be found to be called detectable."""

FEWEST: dict[Design, int] = {"paired": 5, "unpaired": 7}
"""Blocks, or launches a side, below which nothing is claimed, neither a change nor its absence,
where nothing is known of the noise.

With fewer nobody can tell a change from launches that have two modes: three fast against
three slow looks exactly like a regression."""

EARLY = 3
"""The same where earlier launches are known."""

KNOWN = 10
"""Launches of the benchmark, earlier and today's, that must be known for that."""

MOST = 1000
"""Launches a side up to which it is worked out how many would be enough."""


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """What counts as a change; all are fractions."""

    min_change: float
    """Smallest change worth a verdict."""

    must_see: float
    """Worsening that must be found 9 times in 10, or the test counts as blind."""

    false_alarms: float
    """Chance of any false `regressed` in the family; `improved` has the same for itself."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A verdict with its reason."""

    verdict: Answer
    """What was decided."""

    reason: str
    """In one clause; for `inconclusive` what it would take."""

    detectable: float | None
    """Smallest worsening that would be called `regressed` 9 times in 10, a fraction of base;
    ``None`` when there are too few launches to call anything so."""

    more: int | None = None
    """Blocks, or launches a side, that are still missing; ``None`` where nothing is, or too many."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The answer of `compare`; fractions of base, signed so that positive is worse."""

    verdict: Answer
    """``regressed``, ``improved``, ``unchanged`` or ``inconclusive``."""

    reason: str
    """Why, in one clause; for ``inconclusive`` what it would take."""

    change: float
    """Estimate."""

    low: float
    """Lower end of the interval of ``change``."""

    high: float
    """Upper end."""

    confidence: float
    """Of the interval."""

    p: float
    """One-sided, of "no worse"."""

    detectable: float | None
    """Smallest worsening that would have been called ``regressed`` 9 times in 10; ``None``
    when there are too few launches to call anything so."""

    design: Design
    """How the two sides were set against each other."""

    notes: tuple[str, ...]
    """What a reader should know."""


def compare(
    base: Sequence[float],
    head: Sequence[float],
    *,
    paired: bool = False,
    min_change: float = 0.01,
    false_alarms: float = 0.01,
    direction: Direction = "lower",
    prior: Sequence[float] | Prior | None = None,
) -> Comparison:
    """Compare the launches of two sides: one value per launch, never one per step.

    Args:
        base: Positive values in any one unit, of launches that were taken in turns with those of head.
        head: The same of the other side; with ``paired`` in the same order of blocks.
        paired: Whether each value of head was measured together with the one of base.
        min_change: Smallest change worth a verdict, a fraction.
        false_alarms: Chance of saying ``regressed`` when nothing changed.
        direction: Which way is better, ``"lower"`` or ``"higher"``.
        prior: Earlier launch values of the same benchmark on the same platform, one group of
            launches of one code; or what `regress.stats.prior` makes of them and of other
            benchmarks: of a launch, or with ``paired`` of a block's difference.

    Raises:
        StatsError: A value is not finite and positive, there are too few, or paired sides
            differ in length.
        RequestError: An argument is out of its range.
    """
    if not 0 <= min_change < 1:
        raise RequestError(f"min_change is {min_change!r}; it is a fraction in [0, 1), 0.01 for 1 %")
    if not 0 < false_alarms < 0.5:
        raise RequestError(f"false_alarms is {false_alarms!r}; it is a rate in (0, 0.5), 0.01 for 1 in 100")
    if direction not in ("lower", "higher"):
        raise RequestError(f"direction is {direction!r}; it is 'lower' or 'higher', whichever is better")
    known = prior if isinstance(prior, Prior) or prior is None else _prior(prior, paired)
    estimator = paired_estimate if paired else unpaired_estimate
    estimate = estimator(base, head, direction, prior=known)
    criteria = Criteria(min_change=min_change, must_see=3 * min_change, false_alarms=false_alarms)
    decision = decide(estimate, criteria, p_worse=estimate.p_worse, p_better=estimate.p_better)
    low, high = estimate.bounds(CONFIDENCE)
    return Comparison(
        verdict=decision.verdict,
        reason=decision.reason,
        change=estimate.change,
        low=low,
        high=high,
        confidence=CONFIDENCE,
        p=estimate.p_worse,
        detectable=decision.detectable,
        design=estimate.design,
        notes=(*estimate.notes, *assumption(estimate, decision)),
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values so that rejecting below a level errs anywhere in the family at that level.

    Holm (1979): the k-th smallest of m is multiplied by m - k + 1 and never falls below the
    one before. It needs no independence.

    Args:
        p_values: Of one family, in any order.

    Returns:
        The adjusted values in the same order.

    Raises:
        StatsError: A value lies outside [0, 1].
    """
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        if not 0 <= p_values[place] <= 1:
            raise StatsError(f"p-value {p_values[place]!r} lies outside [0, 1]")
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = floor
    return tuple(adjusted)


def fewest(design: Design, prior: Prior | None) -> int:
    """Blocks, or launches a side, from which on something is claimed.

    `FEWEST` where nothing is known of the noise. Where a history is, or where many launches of
    other benchmarks show neither modes nor spikes: as many as make `KNOWN` launches, `EARLY` at
    least.
    """
    if prior is None or not (prior.launches or prior.plain):
        return FEWEST[design]
    missing = math.ceil((KNOWN - prior.launches) / 2)
    return min(FEWEST[design], max(EARLY, missing))


def answer(estimate: Estimate, criteria: Criteria, *, p_worse: float, p_better: float) -> Answer:
    """The rule itself; see `decide` for its reasons.

    Args:
        estimate: Of one comparison.
        criteria: What counts as a change.
        p_worse: Of "no worse", adjusted for the family and for all looks.
        p_better: Of "no better", adjusted for its own family and for all looks.
    """
    if _too_few(estimate):
        return "inconclusive"
    if _is_change(estimate, criteria, p_worse, p_better):
        return "regressed" if estimate.worse > 0 else "improved"
    low, high = estimate.bounds(CONFIDENCE)
    if -criteria.min_change <= low and high <= criteria.min_change:
        return "unchanged"
    return "inconclusive"


def decide(
    estimate: Estimate, criteria: Criteria, *, p_worse: float, p_better: float, family: int = 1
) -> Decision:
    """Apply the rule and say why.

    Args:
        estimate: Of one comparison, at the last look there was.
        criteria: What counts as a change.
        p_worse: Of "no worse", adjusted for the family and for all looks.
        p_better: Of "no better", adjusted for its own family and for all looks.
        family: Tests in the family; what is detectable is worked out for the first step of
            Holm, as if nothing else had changed.
    """
    level = criteria.false_alarms / family
    verdict = answer(estimate, criteria, p_worse=p_worse, p_better=p_better)
    sight = None if _too_few(estimate) else sees(estimate, criteria, estimate.share * level)
    if verdict == "inconclusive":
        more, reason = _why_not(estimate, criteria, estimate.last_share * level, sight)
        return Decision(verdict=verdict, reason=reason, detectable=sight, more=more)
    least = _percent(criteria.min_change)
    reason = {
        "regressed": f"worse beyond the false-alarm rate, and the estimate is at least {least}",
        "improved": f"better beyond the false-alarm rate, and the estimate is at least {least}",
        "unchanged": f"the {_percent(CONFIDENCE)} interval lies inside ±{least}",
    }[verdict]
    return Decision(verdict=verdict, reason=reason, detectable=sight)


def sees(estimate: Estimate, criteria: Criteria, level: float, launches: int | None = None) -> float:
    """Smallest worsening found 9 times in 10, from the noise of an estimate; a fraction of base.

    Args:
        estimate: Whose noise is taken.
        criteria: What counts as a change.
        level: Of the test.
        launches: A side, or blocks; ``None``: as many as the estimate rests on.
    """
    if launches is None:
        se, df = estimate.se, estimate.df
        base, head = (count - lost for count, lost in zip(estimate.launches, estimate.left_out, strict=True))
    else:
        se, df = estimate.at(launches)
        base = head = launches
    prior = estimate.prior
    least = 0.0
    if prior is None or not prior.plain:
        residuals = len(prior.residuals) if prior else 0
        least = estimate.sd * telling(estimate.design, (base, head), residuals, level, POWER)
    return detectable(
        se,
        df,
        level=level,
        min_change=criteria.min_change,
        direction=estimate.direction,
        power=POWER,
        bias=estimate.bias,
        least=least,
    )


def assumption(estimate: Estimate, decision: Decision) -> tuple[str, ...]:
    """What a claimed change rests on while no earlier launches of the benchmark are known."""
    if decision.verdict not in ("regressed", "improved"):
        return ()
    if estimate.prior is None or not estimate.prior.launches:
        return ("rests on a noise model: no earlier launches of this benchmark are known",)
    return ()


def _prior(values: Sequence[float], paired: bool) -> Prior | None:
    """What a plain sequence of earlier launch values tells."""
    prior = prior_of([logs_of(values, "prior")])
    return paired_prior(prior) if prior and paired else prior


def _is_change(estimate: Estimate, criteria: Criteria, p_worse: float, p_better: float) -> bool:
    """Whether a test rejects and the estimate is large enough to matter."""
    worse = p_worse <= criteria.false_alarms and estimate.change >= criteria.min_change
    better = p_better <= criteria.false_alarms and estimate.change <= -criteria.min_change
    return worse or better


def _why_not(
    estimate: Estimate,
    criteria: Criteria,
    level: float,
    sight: float | None,
) -> tuple[int | None, str]:
    """Launches that are missing for a decision, and why there is none."""
    if sight is None:
        bare = replace(estimate, floors=(0.0, 0.0))
        changed = _is_change(estimate, criteria, bare.p_worse, bare.p_better)
        why = "noise unknown" if changed else "blind"
        enough = fewest(estimate.design, estimate.prior)
        return enough - min(estimate.launches), f"{why}: {_claims_nothing(estimate)}"
    if sight > criteria.must_see:
        more = _more(estimate, enough_to_see(estimate, criteria, level))
        finds = f"finds a worsening from {_percent(sight)}" if math.isfinite(sight) else "finds nothing"
        return more, f"blind: {finds}, and must see {_percent(criteria.must_see)}; " + _needs(estimate, more)
    more = _more(estimate, _enough_to_decide(estimate, criteria, level))
    return more, _needs(estimate, more)


def enough_to_see(estimate: Estimate, criteria: Criteria, level: float) -> int | None:
    """Launches a side, more than the estimate rests on, with which the test sees what it must.

    Args:
        estimate: Whose noise is taken.
        criteria: What counts as a change.
        level: Of the test.

    Returns:
        ``None`` where `MOST` launches do not suffice.
    """
    return _first(lambda launches: sees(estimate, criteria, level, launches) <= criteria.must_see, estimate)


def _enough_to_decide(estimate: Estimate, criteria: Criteria, level: float) -> int | None:
    """Launches a side that would decide, were estimate and noise to stay as they are."""
    size = abs(estimate.worse)
    bound = as_log(criteria.min_change, estimate.direction)
    if estimate.worse < 0:
        bound = -as_log(-criteria.min_change, estimate.direction)

    def decides(launches: int) -> bool:
        se, df = estimate.at(launches)
        if size >= bound:
            return size - estimate.bias >= t_quantile(df, 1 - level) * se
        reach = t_quantile(df, 1 - estimate.last_share * (1 - CONFIDENCE) / 2) * se + estimate.bias
        return size + reach <= bound

    return _first(decides, estimate)


def _first(enough: Callable[[int], bool], estimate: Estimate) -> int | None:
    """The smallest number of launches a side that is enough; ``None`` above `MOST`."""
    start = max(max(estimate.launches) + 1, fewest(estimate.design, estimate.prior))
    if estimate.between is not None and not enough(MOST):
        return None
    candidates = range(start, MOST + 1)
    place = bisect.bisect_left(candidates, True, key=enough)
    return candidates[place] if place < len(candidates) else None


def _more(estimate: Estimate, launches: int | None) -> int | None:
    return None if launches is None else launches - min(estimate.launches)


def _needs(estimate: Estimate, more: int | None) -> str:
    unit = "blocks" if estimate.design == "paired" else "launches a side"
    if more is None:
        if estimate.between is not None:
            return f"more {unit} of these two runs would not help: runs differ by more"
        return f"needs more than {MOST} {unit}"
    return f"needs {more} more {unit}" if more > 1 else f"needs 1 more {unit.replace('blocks', 'block')}"


def _too_few(estimate: Estimate) -> bool:
    return min(estimate.launches) < fewest(estimate.design, estimate.prior)


def _claims_nothing(estimate: Estimate) -> str:
    least, launches = fewest(estimate.design, estimate.prior), min(estimate.launches)
    unit = "blocks" if estimate.design == "paired" else "launches a side"
    return f"nothing is claimed on fewer than {least} {unit}, and here are {launches}"


def _percent(fraction: float) -> str:
    """Write a fraction for people: 0.034 is ``3.4 %``."""
    return f"{100 * fraction:.3g} %"
