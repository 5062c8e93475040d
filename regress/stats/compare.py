"""The rule by which two sides are called regressed, improved or unchanged.

This form takes **one look**: the number of blocks is fixed before the first is measured.
Looking again after more blocks, and stopping when the answer pleases, breaks the rates.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from regress.errors import RequestError, StatsError
from regress.stats.interval import (
    Design,
    Direction,
    Estimate,
    as_log,
    paired_estimate,
    t_quantile,
    unpaired_estimate,
)
from regress.stats.power import detectable

Answer = Literal["regressed", "improved", "unchanged", "inconclusive"]

CONFIDENCE = 0.9
"""Of every interval shown; also makes "inside ±min_change" two one-sided tests at 5 %."""

FEWEST: dict[Design, int] = {"paired": 5, "unpaired": 7}
"""Blocks, or launches a side, below which nothing is claimed, neither a change nor its absence.

With fewer nobody can tell a change from launches that have two modes: three fast against
three slow looks exactly like a regression."""

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
    prior: Sequence[float] | None = None,
) -> Comparison:
    """Compare the launches of two sides: one value per launch, never one per step.

    Args:
        base: Positive values in any one unit.
        head: The same of the other side; with ``paired`` in the same order of blocks.
        paired: Whether each value of head was measured together with the one of base.
        min_change: Smallest change worth a verdict, a fraction.
        false_alarms: Chance of saying ``regressed`` when nothing changed.
        direction: Which way is better, ``"lower"`` or ``"higher"``.
        prior: Earlier launch values of the same benchmark on the same platform. Not used by
            this version, which says so in the notes.

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
    estimate = (paired_estimate if paired else unpaired_estimate)(base, head, direction)
    criteria = Criteria(min_change=min_change, must_see=3 * min_change, false_alarms=false_alarms)
    decision = decide(estimate, criteria, p_worse=estimate.p_worse, p_better=estimate.p_better)
    low, high = estimate.bounds(CONFIDENCE)
    unused = () if prior is None else ("the prior launches were not used: this version borrows no variance",)
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
        notes=(*estimate.notes, *assumption(decision), *unused),
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


def answer(estimate: Estimate, criteria: Criteria, *, p_worse: float, p_better: float) -> Answer:
    """The rule itself; see `decide` for its reasons.

    Args:
        estimate: Of one comparison.
        criteria: What counts as a change.
        p_worse: Of "no worse", adjusted for the family.
        p_better: Of "no better", adjusted for its own family.
    """
    if min(estimate.launches) < FEWEST[estimate.design]:
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
        estimate: Of one comparison.
        criteria: What counts as a change.
        p_worse: Of "no worse", adjusted for the family.
        p_better: Of "no better", adjusted for its own family.
        family: Tests in the family; what is detectable is worked out for the first step of
            Holm, as if nothing else had changed.
    """
    level = criteria.false_alarms / family
    verdict = answer(estimate, criteria, p_worse=p_worse, p_better=p_better)
    sight = None
    if min(estimate.launches) >= FEWEST[estimate.design]:
        sight = _detectable(estimate, criteria, level, estimate.se, estimate.df)
    least = _percent(criteria.min_change)
    if verdict == "regressed":
        reason = f"worse beyond the false-alarm rate, and the estimate is at least {least}"
    elif verdict == "improved":
        reason = f"better beyond the false-alarm rate, and the estimate is at least {least}"
    elif verdict == "unchanged":
        reason = f"the {_percent(CONFIDENCE)} interval lies inside ±{least}"
    elif _is_change(estimate, criteria, p_worse, p_better):
        reason = f"noise unknown: {_too_few(estimate)}"
    elif sight is None:
        reason = f"blind: {_too_few(estimate)}"
    elif sight > criteria.must_see:
        reason = (
            f"blind: finds a worsening from {_percent(sight)}, and must see {_percent(criteria.must_see)}; "
            + _needs(estimate, _enough_to_see(estimate, criteria, level))
        )
    else:
        reason = _needs(estimate, _enough_to_decide(estimate, criteria, level))
    return Decision(verdict=verdict, reason=reason, detectable=sight)


def assumption(decision: Decision) -> tuple[str, ...]:
    """What a claimed change rests on while no earlier launches are known."""
    if decision.verdict in ("regressed", "improved"):
        return ("rests on a noise model: no earlier launches of this benchmark are known",)
    return ()


def _is_change(estimate: Estimate, criteria: Criteria, p_worse: float, p_better: float) -> bool:
    """Whether a test rejects and the estimate is large enough to matter."""
    worse = p_worse <= criteria.false_alarms and estimate.change >= criteria.min_change
    better = p_better <= criteria.false_alarms and estimate.change <= -criteria.min_change
    return worse or better


def _detectable(estimate: Estimate, criteria: Criteria, level: float, se: float, df: int) -> float:
    return detectable(se, df, level=level, min_change=criteria.min_change, direction=estimate.direction)


def _enough_to_see(estimate: Estimate, criteria: Criteria, level: float) -> int | None:
    """Launches a side with which the test is no longer blind."""

    def sees(launches: int) -> bool:
        return _detectable(estimate, criteria, level, *estimate.at(launches)) <= criteria.must_see

    return _first(sees, estimate)


def _enough_to_decide(estimate: Estimate, criteria: Criteria, level: float) -> int | None:
    """Launches a side that would decide, were estimate and noise to stay as they are."""
    size = abs(estimate.worse)
    bound = as_log(criteria.min_change, estimate.direction)
    if estimate.worse < 0:
        bound = -as_log(-criteria.min_change, estimate.direction)

    def decides(launches: int) -> bool:
        se, df = estimate.at(launches)
        if size >= bound:
            return size >= t_quantile(df, 1 - level) * se
        return size + t_quantile(df, (1 + CONFIDENCE) / 2) * se <= bound

    return _first(decides, estimate)


def _first(enough: Callable[[int], bool], estimate: Estimate) -> int | None:
    """The smallest number of launches a side that is enough; ``None`` above `MOST`."""
    start = max(max(estimate.launches) + 1, FEWEST[estimate.design])
    candidates = range(start, MOST + 1)
    place = bisect.bisect_left(candidates, True, key=enough)
    return candidates[place] if place < len(candidates) else None


def _needs(estimate: Estimate, launches: int | None) -> str:
    unit = "blocks" if estimate.design == "paired" else "launches a side"
    if launches is None:
        return f"needs more than {MOST} {unit}"
    more = launches - min(estimate.launches)
    return f"needs {more} more {unit}" if more > 1 else f"needs 1 more {unit.replace('blocks', 'block')}"


def _too_few(estimate: Estimate) -> str:
    fewest, launches = FEWEST[estimate.design], min(estimate.launches)
    if estimate.design == "paired":
        return f"nothing is claimed on fewer than {fewest} blocks, and here are {launches}"
    return f"nothing is claimed on fewer than {fewest} launches a side, and here are {launches}"


def _percent(fraction: float) -> str:
    """Write a fraction for people: 0.034 is ``3.4 %``."""
    return f"{100 * fraction:.3g} %"
