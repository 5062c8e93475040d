"""What counts as a change on a platform."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from regress.record.noise import Noise
from regress.record.platform import Platform
from regress.spec.policy import Policy
from regress.stats.compare import Criteria
from regress.units import share

BIAS = 0.25
"""Of ``min_change``: the largest difference of identical sides that leaves it as it is."""


def criteria_for(policy: Policy, platform: Platform | None) -> Criteria:
    """Fill in what a policy leaves to the platform: CPUs are noisier than GPUs."""
    min_change = policy.min_change
    if min_change is None:
        min_change = 0.01 if platform is not None and platform.devices else 0.05
    must_see = policy.must_see if policy.must_see is not None else 3 * min_change
    return Criteria(min_change=min_change, must_see=must_see, false_alarms=policy.false_alarms)


def unbiased(criteria: Criteria, noise: Iterable[Noise]) -> tuple[Criteria, tuple[str, ...]]:
    """Raise ``min_change`` where identical sides may differ by more than a quarter of it; with a note."""
    bias = max((each.bias for each in noise), default=0.0)
    if bias <= BIAS * criteria.min_change:
        return criteria, ()
    min_change = bias / BIAS
    text = (
        f"in the last calibration identical sides differed, by up to {share(bias)}; "
        f"min_change is {share(min_change)} therefore, not {share(criteria.min_change)}"
    )
    return replace(criteria, min_change=min_change), (text,)
