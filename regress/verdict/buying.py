"""Whether more blocks are worth their time: what is asked at each look, before the next are measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regress.errors import StatsError
from regress.record.metric import METRICS
from regress.record.run import Run
from regress.spec.policy import Policy
from regress.stats.compare import CONFIDENCE, Criteria, sees
from regress.stats.interval import Estimate
from regress.stats.sequential import best_chance
from regress.units import share
from regress.verdict.comparability import incomparable
from regress.verdict.criteria import criteria_for, unbiased
from regress.verdict.evidence import Evidence, gather, noise_of
from regress.verdict.failures import broken, unmeasured
from regress.verdict.families import Member, settle

HOPE = 0.1
"""Chance of a decision below which measuring on is futile."""


def undecided(base: Run, head: Run, policy: Policy) -> frozenset[str]:
    """The labels of the benchmarks for which more blocks may still decide something.

    One whose timed gates are all decided is left out, and one that is hopeless: no decision has
    a 10 % chance in all the blocks of the plan, and not even then would it see what it must.
    So is one that broke, or cannot be compared at all.

    Args:
        base: As far as it is measured.
        head: The same.
        policy: Of the suite.
    """
    evidence = gather(base, head)
    criteria, _ = unbiased(criteria_for(policy, head.manifest.platform), noise_of(evidence))
    asked = [each for each in evidence if not _is_closed(each, policy)]
    looked = {each.benchmark: _looked(each) for each in asked}
    found = {label for label, members in looked.items() if members is None}
    family = [(label, estimates) for label, members in looked.items() for estimates in members or ()]
    members = settle([estimates for _, estimates in family], criteria)
    ends = {each.benchmark: each.looks[-1] for each in asked if each.looks}
    for (label, estimates), member in zip(family, members, strict=True):
        if label in ends and _is_open(member, estimates[-1], criteria, len(family), ends[label]):
            found.add(label)
    return frozenset(found)


def hopeless(estimate: Estimate, criteria: Criteria, family: int, most: int) -> str | None:
    """Why no more blocks are worth measuring, in one clause; ``None`` where they may be.

    Args:
        estimate: At the present look.
        criteria: What counts as a change.
        family: Tests in the family.
        most: Blocks that the plan allows for.
    """
    level = criteria.false_alarms / family
    chance = best_chance(
        estimate, min_change=criteria.min_change, level=level, confidence=CONFIDENCE, launches=most
    )
    if chance >= HOPE:
        return None
    at_end = sees(estimate, criteria, estimate.last_share * level, most)
    if at_end > criteria.must_see:
        finds = f"a worsening only from {share(at_end)}" if math.isfinite(at_end) else "nothing"
        return f"blind: even {most} blocks would find {finds}, and must see {share(criteria.must_see)}"
    if sees(estimate, criteria, estimate.share * level) > criteria.must_see:
        return None
    return f"futile: neither decision has a chance of {share(HOPE)} within {most} blocks"


def _is_open(member: Member, estimate: Estimate, criteria: Criteria, family: int, most: int) -> bool:
    if member.decision.verdict != "inconclusive":
        return False
    return member.decision.detectable is None or hopeless(estimate, criteria, family, most) is None


def _is_closed(evidence: Evidence, policy: Policy) -> bool:
    """Whether nothing that could still be measured would be tested."""
    if evidence.same_code and policy.subject == "revision":
        return True
    return any(
        (
            unmeasured(evidence) is not None,
            incomparable(evidence) is not None,
            broken(evidence) is not None,
        )
    )


def _looked(evidence: Evidence) -> Sequence[Sequence[Estimate]] | None:
    """The estimates of each timed gate; ``None`` where one cannot be estimated yet."""
    found = []
    for metric in evidence.metrics:
        if metric.role != "gate" or metric.kind != "timed":
            continue
        try:
            found.append(evidence.estimates(metric.name, METRICS[metric.name].direction))
        except StatsError:
            return None
    return found
