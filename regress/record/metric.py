"""The metrics by name: unit, direction, kind and role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regress.errors import RecordError

Direction = Literal["lower", "higher"]
"""Which way is better."""

Kind = Literal["timed", "exact", "derived", "guard"]
"""``timed`` has noise, ``exact`` has none, ``derived`` is another metric in other units
and never tested, ``guard`` must not differ at all for a gain to count."""

Role = Literal["gate", "explain"]
"""``gate`` is tested and can fail the build, ``explain`` is shown with its interval."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A question that can be asked of a launch."""

    name: str
    """For example ``step_s``; the suffix is the unit."""

    unit: str
    """``s``, ``B``, ``1/s``, ``FLOP`` or ``1``."""

    direction: Direction
    """Which way is better."""

    kind: Kind
    """Whether it has noise; see `Kind`."""

    role: Role
    """Whether it can fail the build; see `Role`."""

    what: str
    """One sentence for people."""


def _table(*metrics: Metric) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


METRICS = _table(
    Metric(
        name="step_s",
        unit="s",
        direction="lower",
        kind="timed",
        role="gate",
        what="time of a training step: slowest rank of each step, median over the launch",
    ),
    Metric(
        name="peak_allocated_bytes",
        unit="B",
        direction="lower",
        kind="exact",
        role="gate",
        what="most memory held by tensors at once, worst rank",
    ),
    Metric(
        name="peak_reserved_bytes",
        unit="B",
        direction="lower",
        kind="timed",
        role="explain",
        what="most memory that the allocator took from the device, gaps included, worst rank",
    ),
    Metric(
        name="collective_count",
        unit="1",
        direction="lower",
        kind="exact",
        role="gate",
        what="collectives and point-to-point operations of one step, worst rank",
    ),
    Metric(
        name="collective_bytes",
        unit="B",
        direction="lower",
        kind="exact",
        role="gate",
        what="payload of the collectives of one step, larger of input and output, worst rank",
    ),
    Metric(
        name="flops",
        unit="FLOP",
        direction="lower",
        kind="exact",
        role="gate",
        what="floating-point operations of one step of the unsharded model",
    ),
    Metric(
        name="tokens_per_s",
        unit="1/s",
        direction="higher",
        kind="derived",
        role="explain",
        what="tokens of a step, all ranks, over its mean time",
    ),
    Metric(
        name="samples_per_s",
        unit="1/s",
        direction="higher",
        kind="derived",
        role="explain",
        what="samples of a step, all ranks, over its mean time",
    ),
    Metric(
        name="step_mean_s",
        unit="s",
        direction="lower",
        kind="timed",
        role="explain",
        what="wall time of the timed steps over their number, stalls included",
    ),
    Metric(
        name="step_p95_s",
        unit="s",
        direction="lower",
        kind="timed",
        role="explain",
        what="95th percentile of the step times of the launch",
    ),
    Metric(
        name="cpu_s",
        unit="s",
        direction="lower",
        kind="timed",
        role="explain",
        what="CPU time of a step, all ranks together",
    ),
    Metric(
        name="loss",
        unit="1",
        direction="lower",
        kind="guard",
        role="explain",
        what="loss after the warm-up steps from a fixed seed",
    ),
)
"""Every metric but the phases, in the order in which people read them."""


def metric(name: str) -> Metric:
    """Look a metric up; ``<phase>_s`` is the time of a phase.

    Raises:
        RecordError: No metric and no phase has that name.
    """
    if name in METRICS:
        return METRICS[name]
    phase, _, unit = name.rpartition("_")
    if unit == "s" and phase.isidentifier():
        return Metric(
            name=name,
            unit="s",
            direction="lower",
            kind="timed",
            role="explain",
            what=f"time of the phase {phase}: slowest rank of each step, median over the launch",
        )
    raise RecordError(f"unknown metric {name!r}")
