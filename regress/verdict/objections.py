"""What stands against a verdict although the test is in order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median

from regress.errors import StatsError
from regress.record.comparison import Verdict
from regress.record.metric import METRICS
from regress.spec.policy import Policy
from regress.stats.compare import Criteria
from regress.stats.interval import Estimate, as_fraction, as_log, unpaired_estimate
from regress.units import percent
from regress.verdict.evidence import Evidence
from regress.verdict.failures import failed_some, lost_blocks

EVERY: frozenset[Verdict] = frozenset(("regressed", "improved", "unchanged", "inconclusive"))
NO_LOSS: frozenset[Verdict] = frozenset(("improved", "unchanged"))
NOTHING: frozenset[Verdict] = frozenset()
SAME_CODE = "same code: nothing was imported from either revision"


@dataclass(frozen=True, kw_only=True)
class Objection:
    """Why some verdicts cannot stand."""

    against: frozenset[Verdict]
    """The verdicts that become `inconclusive`; for all others it is a note."""

    reason: str
    """What is wrong."""


def objections(evidence: Evidence, policy: Policy) -> tuple[Objection, ...]:
    """Against every gate of a benchmark: its sides ran the same code, or computed something else."""
    if evidence.same_code and policy.subject == "revision":
        return (Objection(against=EVERY, reason=SAME_CODE),)
    base, head = evidence.base.values("loss"), evidence.head.values("loss")
    if not base and not head:
        return ()
    if not base or not head:
        only = "base" if base else "head"
        return (Objection(against=NO_LOSS, reason=f"other result: only {only} reports a loss"),)
    before, after = median(base.values()), median(head.values())
    if abs(after - before) <= policy.loss_tolerance * max(abs(before), abs(after)):
        return ()
    reason = f"other result: loss differs, {before:.6g} in base and {after:.6g} in head"
    return (Objection(against=NO_LOSS, reason=reason),)


def timing_objections(evidence: Evidence, criteria: Criteria) -> tuple[Objection, ...]:
    """Against the timed gates of a benchmark, most serious first."""
    found = []
    for reason in (failed_some(evidence.head, "head"), lost_blocks(evidence)):
        if reason is not None:
            found.append(Objection(against=EVERY, reason=reason))
    base_failed = failed_some(evidence.base, "base")
    if base_failed is not None:
        found.append(Objection(against=NOTHING, reason=base_failed))
    step = estimated(evidence, "step_s")
    if step is not None:
        found += [*_mode(evidence, step, criteria), *_stalls(evidence, step, criteria)]
    return tuple(found)


def estimated(evidence: Evidence, name: str) -> Estimate | None:
    """Estimate a metric from the tested launches; ``None`` where nothing can be estimated."""
    try:
        return evidence.estimates(name, METRICS[name].direction)[-1]
    except StatsError:
        return None


def _mode(evidence: Evidence, step: Estimate, criteria: Criteria) -> list[Objection]:
    """Check the resident blocks against those in which each side ran alone.

    They disagree when their log ratios differ by more than ``min_change`` and three standard
    errors of a difference of launches: ``3 · √2 · sd / √(blocks alone)``, with the standard
    deviation of resident launches, which pairing does not reduce.
    """
    base, head = evidence.base.values("step_s", alone=True), evidence.head.values("step_s", alone=True)
    blocks = [block for block in base if base[block] > 0 and head.get(block, 0) > 0]
    if not evidence.paired or evidence.alone is not False or not blocks:
        return []
    alone = fmean(math.log(head[block] / base[block]) for block in blocks)
    resident_base, resident_head = evidence.tested("step_s")
    launches = unpaired_estimate(resident_base.values, resident_head.values, "lower")
    limit = as_log(criteria.min_change, "lower") + 3 * math.sqrt(2 / len(blocks)) * launches.sd
    if abs(alone - step.worse) <= limit:
        return []
    change = as_fraction(alone, "lower")
    opposite = step.change * change < 0 and min(abs(step.change), abs(change)) >= criteria.min_change
    against = EVERY if opposite else NO_LOSS if change >= criteria.min_change else NOTHING
    reason = f"mode: {percent(step.change)} with both sides resident, {percent(change)} alone"
    return [Objection(against=against, reason=reason)]


def _stalls(evidence: Evidence, step: Estimate, criteria: Criteria) -> list[Objection]:
    """Check the median step against the mean: a stall in one step of ten leaves the median as it is."""
    mean = estimated(evidence, "step_mean_s")
    if mean is None or abs(mean.change - step.change) <= criteria.min_change:
        return []
    reason = f"stalls: the mean step changed by {percent(mean.change)}, the median by {percent(step.change)}"
    return [Objection(against=frozenset(("unchanged",)), reason=reason)]
