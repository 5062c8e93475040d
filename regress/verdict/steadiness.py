"""Whether the timed steps were steady: that is checked, and decides nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from regress.record.run import Launch, Measurement
from regress.units import percent

UNSTEADY = 0.05
"""Share by which the last third of a launch's steps may differ from its first third, in the median over
launches."""

FEWEST_STEPS = 9
"""Timed steps of a launch from which its thirds tell something."""


def drift(steps_s: Sequence[float]) -> float | None:
    """Log of the last third's median over the first third's; ``None`` where there are too few steps."""
    third = len(steps_s) // 3
    if len(steps_s) < FEWEST_STEPS:
        return None
    first, last = median(steps_s[:third]), median(steps_s[-third:])
    return math.log(last / first) if first > 0 and last > 0 else None


def steadiness_notes(sides: Mapping[str, Sequence[Launch]]) -> tuple[str, ...]:
    """Name the benchmark whose steps became slower or faster within the launches of a side, where most.

    Args:
        sides: Launches of each, by its name.
    """
    found = []
    for name, launches in sides.items():
        drifts: dict[str, list[float]] = {}
        for measurement in _tested(launches):
            changed = drift(_steps_s(measurement))
            if changed is not None:
                drifts.setdefault(measurement.benchmark, []).append(changed)
        found += [(math.expm1(median(each)), name, benchmark) for benchmark, each in drifts.items()]
    unsteady = [each for each in found if abs(each[0]) > UNSTEADY]
    if not unsteady:
        return ()
    change, name, benchmark = max(unsteady, key=lambda each: abs(math.log1p(each[0])))
    more = f"; {len(unsteady) - 1} more of the kind" if len(unsteady) > 1 else ""
    cure = "more steps.warmup may help" if change < 0 else "look for what grows from step to step"
    return (
        f"steps were not steady: within a launch of {name}, the last third of {benchmark}'s took "
        f"{percent(change)} against the first third{more}; {cure}",
    )


def _tested(launches: Sequence[Launch]) -> Iterator[Measurement]:
    """Measurements that a test rests on: resident ones, or where there are none all."""
    resident = [launch for launch in launches if not launch.alone]
    for launch in resident or launches:
        yield from launch.measurements


def _steps_s(measurement: Measurement) -> tuple[float, ...]:
    return next((each.steps for each in measurement.samples if each.metric == "step_s"), ())
