"""The tests that share one false-alarm rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regress.stats.compare import Criteria, Decision, decide, holm
from regress.stats.interval import Estimate
from regress.stats.sequential import sequential_p


@dataclass(frozen=True, kw_only=True)
class Member:
    """One test of a family, decided."""

    decision: Decision
    """Verdict, reason and what was detectable."""

    p_adjusted: float
    """One-sided, of "no worse", adjusted for the looks and for the family."""


def settle(looked: Sequence[Sequence[Estimate]], criteria: Criteria) -> tuple[Member, ...]:
    """Decide a family: every timed gate of one comparison.

    "Worse" and "better" are two families, each with the rate of its own.

    Args:
        looked: For each member its estimates, one for each look so far.
        criteria: What counts as a change.

    Returns:
        One decision per member, in the same order.
    """
    worse = holm([_over_looks(estimates, "p_worse") for estimates in looked])
    better = holm([_over_looks(estimates, "p_better") for estimates in looked])
    return tuple(
        Member(
            decision=decide(estimates[-1], criteria, p_worse=w, p_better=b, family=len(looked)),
            p_adjusted=w,
        )
        for estimates, w, b in zip(looked, worse, better, strict=True)
    )


def _over_looks(estimates: Sequence[Estimate], name: Literal["p_worse", "p_better"]) -> float:
    p_values = [getattr(estimate, name) for estimate in estimates]
    return sequential_p(p_values, [estimate.share for estimate in estimates])
