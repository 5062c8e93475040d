"""The tests that share one false-alarm rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regress.stats.compare import Criteria, Decision, decide, holm
from regress.stats.interval import Estimate


@dataclass(frozen=True, kw_only=True)
class Member:
    """One test of a family, decided."""

    decision: Decision
    """Verdict, reason and what was detectable."""

    p_adjusted: float
    """One-sided, of "no worse", adjusted for the family."""


def settle(estimates: Sequence[Estimate], criteria: Criteria) -> tuple[Member, ...]:
    """Decide a family: every timed gate of one comparison.

    "Worse" and "better" are two families, each with the rate of its own.

    Returns:
        One member per estimate, in the same order.
    """
    worse = holm([estimate.p_worse for estimate in estimates])
    better = holm([estimate.p_better for estimate in estimates])
    return tuple(
        Member(
            decision=decide(estimate, criteria, p_worse=w, p_better=b, family=len(estimates)),
            p_adjusted=w,
        )
        for estimate, w, b in zip(estimates, worse, better, strict=True)
    )
