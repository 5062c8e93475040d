"""Whether two sides can be compared at all, and in what they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from regress.record.comparison import Difference
from regress.record.run import Launch
from regress.record.series import NOT_ALWAYS_KNOWN
from regress.verdict.evidence import Evidence, Trial

Fields = Mapping[str, str]
"""Facts of one launch by name."""


def incomparable(evidence: Evidence) -> str | None:
    """Why the two sides of a benchmark cannot be compared; ``None`` when they can."""
    base, head = evidence.base, evidence.head
    platforms = platform_difference(base.launches, head.launches)
    if platforms:
        return f"other platform: {_named(platforms[0])}"
    if len({trial.measurement.definition for trial in (*base.trials, *head.trials)}) > 1:
        return "definition changed"
    if evidence.alone is None:
        return "measured alone on one side, and beside another side on the other"
    workloads = workload_difference(base.trials, head.trials)
    if workloads:
        return f"workload changed: {_named(workloads[0])}"
    return None


def platform_difference(base: Iterable[Launch], head: Iterable[Launch]) -> tuple[Difference, ...]:
    """List the hardware that is not one and the same in all these launches."""
    return _not_one(
        [launch.platform.fields() for launch in base if launch.platform is not None],
        [launch.platform.fields() for launch in head if launch.platform is not None],
    )


def workload_difference(base: Iterable[Trial], head: Iterable[Trial]) -> tuple[Difference, ...]:
    """List what was not computed alike in all these trials, as far as they tell."""
    return _not_one(
        [trial.measurement.workload.fields() for trial in base if trial.measurement.workload is not None],
        [trial.measurement.workload.fields() for trial in head if trial.measurement.workload is not None],
        NOT_ALWAYS_KNOWN,
    )


def environment_difference(base: Iterable[Launch], head: Iterable[Launch]) -> tuple[Difference, ...]:
    """List the software in which the sides differ. It never makes them incomparable."""
    base_fields = joined(launch.environment.fields() for launch in base if launch.environment is not None)
    head_fields = joined(launch.environment.fields() for launch in head if launch.environment is not None)
    if not base_fields or not head_fields:
        return ()
    return tuple(
        Difference(field=name, base=base_fields.get(name, ""), head=head_fields.get(name, ""))
        for name in dict.fromkeys((*base_fields, *head_fields))
        if base_fields.get(name) != head_fields.get(name)
    )


def joined(launches: Iterable[Fields]) -> dict[str, str]:
    """Every fact with all the values it took, sorted; launches of two world sizes may differ."""
    seen: dict[str, set[str]] = {}
    for fields in launches:
        for name, value in fields.items():
            seen.setdefault(name, set()).add(value)
    return {name: " or ".join(sorted(values)) for name, values in seen.items()}


def _not_one(
    base: list[Fields], head: list[Fields], optional: frozenset[str] = frozenset()
) -> tuple[Difference, ...]:
    base_joined, head_joined = joined(base), joined(head)
    names = dict.fromkeys(name for fields in (*base, *head) for name in fields)
    return tuple(
        Difference(field=name, base=base_joined.get(name, ""), head=head_joined.get(name, ""))
        for name in names
        if len({fields.get(name) for fields in (*base, *head) if name in fields or name not in optional}) > 1
    )


def _named(difference: Difference) -> str:
    base, head = difference.base or "absent", difference.head or "absent"
    return f"{difference.field} is {base} in base and {head} in head"
