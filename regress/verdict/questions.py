"""The questions asked of one benchmark: one per metric, answered as far as it can be alone.

What is `timed` and of role `gate` waits for its family; everything else is settled here.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from statistics import median

from regress.errors import StatsError
from regress.record.comparison import Comparison, Design, Verdict
from regress.record.metric import METRICS, Metric
from regress.spec.policy import Policy
from regress.stats.compare import CONFIDENCE, Criteria
from regress.stats.interval import Estimate
from regress.units import quantities, quantity, share
from regress.verdict.canary import node_objections
from regress.verdict.evidence import Evidence, values_of
from regress.verdict.objections import Objection, estimated, objections, timing_objections


@dataclass(frozen=True, kw_only=True)
class Question:
    """One metric of one benchmark on its way to a verdict."""

    comparison: Comparison
    """All that is known so far; its verdict is ``None`` while the family is not settled."""

    estimates: tuple[Estimate, ...] = ()
    """At each look, to be tested with the family; empty where nothing is left to test."""

    objections: tuple[Objection, ...] = ()
    """Against its verdict; the first that applies gives the reason."""

    most: int | None = None
    """Blocks that the plan allowed for, where fewer were measured."""

    block_s: float | None = None
    """What one more block takes, in seconds."""


def questions(evidence: Evidence, policy: Policy, criteria: Criteria) -> tuple[Question, ...]:
    """Ask everything of a benchmark that was measured on both sides, in the order of its metrics."""
    asked = [_question(evidence, metric, policy) for metric in evidence.metrics]
    if not any(question.comparison.role == "gate" for question in asked):
        asked.insert(0, _bare(evidence, METRICS["step_s"], reason="not measured on either side"))
    result = objections(evidence, policy)
    timing = (*timing_objections(evidence, criteria), *_of_the_node(evidence, criteria))
    against = {"exact": result, "timed": (*timing, *result)}
    return tuple(
        replace(question, objections=against[question.comparison.kind])
        if question.comparison.role == "gate"
        else question
        for question in asked
    )


def _of_the_node(evidence: Evidence, criteria: Criteria) -> tuple[Objection, ...]:
    """What the canary says against the timed gates of runs that were not measured together."""
    if evidence.paired:
        return ()
    return node_objections(
        evidence.base.launches,
        evidence.head.launches,
        min_change=criteria.min_change,
        step=estimated(evidence, "step_s"),
    )


def only_verdict(evidence: Evidence, verdict: Verdict, reason: str) -> Question:
    """Give a benchmark one verdict for all its metrics, carried by its step time."""
    return _bare(evidence, METRICS["step_s"], verdict=verdict, reason=reason)


def _question(evidence: Evidence, metric: Metric, policy: Policy) -> Question:
    base, head = evidence.base.values(metric.name), evidence.head.values(metric.name)
    if metric.kind == "guard":
        return _shown(evidence, metric, base, head)
    if metric.role == "gate" and not (base and head):
        return _bare(evidence, metric, reason=f"not measured on {'head' if base else 'base'}")
    if metric.kind == "exact" and not all(map(math.isfinite, (*base.values(), *head.values()))):
        return _bare(evidence, metric, reason="a value is not finite")
    if metric.kind == "exact":
        tolerance = policy.tolerances.get(metric.name, 0.0)
        sides = (("base", base), ("head", head))
        disagree = [name for name, side in sides if _spread(side.values()) > tolerance]
        if not disagree:
            return _exact(evidence, metric, base, head, policy)
        return _timed(evidence, metric, (f"the launches of {' and of '.join(disagree)} disagree",))
    return _timed(evidence, metric)


def _timed(evidence: Evidence, metric: Metric, notes: tuple[str, ...] = ()) -> Question:
    """A metric with noise: estimated; tested later, with the family, where it is a gate."""
    base, head = evidence.tested(metric.name)
    gate = metric.role == "gate"
    blocks = len(evidence.blocks)
    if gate and evidence.paired and base.launches < blocks:
        notes = (*notes, f"tested in {base.launches} of {blocks} blocks; the others lack a value")
    kind = metric.kind if metric.kind == "derived" else "timed"
    bare = _bare(evidence, metric)
    comparison = replace(bare.comparison, kind=kind, base=base, head=head, verdict=None)
    try:
        estimates = evidence.estimates(metric.name, metric.direction)
    except StatsError as error:
        verdict: Verdict | None = "inconclusive" if gate else None
        return Question(comparison=replace(comparison, verdict=verdict, reason=str(error), notes=notes))
    estimate = estimates[-1]
    low, high = estimate.bounds(CONFIDENCE)
    comparison = replace(
        comparison,
        change=estimate.change,
        low=low,
        high=high,
        confidence=CONFIDENCE,
        p=estimate.p_worse if gate else None,
        notes=(*notes, *estimate.notes),
    )
    return Question(
        comparison=comparison,
        estimates=estimates if gate else (),
        most=evidence.looks[-1] if evidence.settled_early else None,
        block_s=evidence.block_s,
    )


def _exact(
    evidence: Evidence, metric: Metric, base: dict[int, float], head: dict[int, float], policy: Policy
) -> Question:
    """A metric without noise: every launch of a side says the same, within the tolerance."""
    tolerance = policy.tolerances.get(metric.name, 0.0)
    before, after = median(base.values()), median(head.values())
    change = _relative(before, after, metric)
    verdict: Verdict
    if change is None:
        worse = (after > before) == (metric.direction == "lower")
        verdict, reason = "regressed" if worse else "improved", f"from 0 to {quantity(after, metric.unit)}"
    elif abs(change) <= tolerance:
        same = "equal" if before == after else f"within the tolerance of {share(tolerance)}"
        verdict, reason = "unchanged", f"exact: {same}"
    else:
        verdict = "regressed" if change > 0 else "improved"
        beyond = f", beyond the tolerance of {share(tolerance)}" if tolerance else ""
        was, is_now = quantities((before, after), metric.unit)
        reason = f"exact: {was} became {is_now}{beyond}"
    comparison = replace(
        _shown(evidence, metric, base, head).comparison, verdict=verdict, reason=reason, detectable=tolerance
    )
    return Question(comparison=comparison)


def _spread(values: Collection[float]) -> float:
    """Largest difference of the values, a fraction of their median."""
    middle = abs(median(values))
    width = max(values) - min(values)
    return width / middle if middle else (math.inf if width else 0.0)


def _shown(evidence: Evidence, metric: Metric, base: dict[int, float], head: dict[int, float]) -> Question:
    """The medians of all launches side by side, without a test."""
    before, after = values_of(base), values_of(head)
    change = None
    if before.median is not None and after.median is not None:
        change = _relative(before.median, after.median, metric)
    bare = _bare(evidence, metric, design="exact").comparison
    return Question(comparison=replace(bare, verdict=None, base=before, head=after, change=change))


def _bare(
    evidence: Evidence,
    metric: Metric,
    *,
    verdict: Verdict = "inconclusive",
    reason: str = "",
    design: Design | None = None,
) -> Question:
    """A comparison that holds the values and nothing that was made of them."""
    paired: Design = "paired" if evidence.paired else "unpaired"
    comparison = Comparison(
        benchmark=evidence.benchmark,
        metric=metric.name,
        unit=metric.unit,
        direction=metric.direction,
        kind=metric.kind,
        role=metric.role,
        verdict=verdict,
        base=values_of(evidence.base.values(metric.name, evidence.alone)),
        head=values_of(evidence.head.values(metric.name, evidence.alone)),
        change=None,
        low=None,
        high=None,
        confidence=None,
        p=None,
        p_adjusted=None,
        detectable=None,
        reason=reason,
        design=design or paired,
    )
    return Question(comparison=comparison)


def _relative(before: float, after: float, metric: Metric) -> float | None:
    """The change as a fraction of base, positive is worse; ``None`` where base is 0 and head is not."""
    if before == after:
        return 0.0
    if before == 0:
        return None
    change = (after - before) / abs(before)
    return change if metric.direction == "lower" else -change
