"""Whether the sides of a block were kept apart as they should be, and measured at one time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from regress.record.run import Launch
from regress.units import duration

AWAKE = 0.1
"""Cores that a side may keep busy while it is the other's turn: waking up for its own takes some."""

LATE_S = 600.0
"""Time between two launches of a block alone from which they are no pair: an interruption came between."""


def idle_notes(sides: Mapping[str, Sequence[Launch]]) -> tuple[str, ...]:
    """Name the side that kept cores busy while the other one had its turn, where it did so most."""
    found = [
        (measurement.idle_cores, name, measurement.benchmark, launch.block)
        for name, launches in sides.items()
        for launch in launches
        if not launch.alone
        for measurement in launch.measurements
        if measurement.idle_cores is not None and measurement.idle_cores >= AWAKE
    ]
    if not found:
        return ()
    cores, name, benchmark, block = max(found, key=lambda each: each[0])
    return (
        f"{name} did not sleep while the other side had its turn: {benchmark} kept {cores:.1f} cores busy "
        f"in block {block}, which slows the other side down",
    )


def split_blocks(launches: Sequence[Launch]) -> dict[tuple[int, int], float]:
    """Blocks alone that an interruption split: their sides were measured hours apart and are no pair.

    Args:
        launches: Of both sides.

    Returns:
        For block and world size, the longest time in seconds between the end of one launch and the
        start of the next; those of at least `LATE_S` only.
    """
    groups: dict[tuple[int, int], list[Launch]] = {}
    for launch in launches:
        if launch.alone:
            groups.setdefault((launch.block, launch.world_size), []).append(launch)
    return {
        key: gap_s for key, group in groups.items() if (gap_s := max(_gaps(group), default=0.0)) >= LATE_S
    }


def split_notes(launches: Sequence[Launch]) -> tuple[str, ...]:
    """Say which blocks were split."""
    return tuple(
        f"block {block} was interrupted: {duration(gap_s)} lie between its launches of {world_size} ranks"
        for (block, world_size), gap_s in sorted(split_blocks(launches).items())
    )


def _gaps(launches: Sequence[Launch]) -> Iterator[float]:
    spans = sorted(
        (start, start + timedelta(seconds=launch.seconds))
        for launch in launches
        for start in [datetime.fromisoformat(launch.started)]
    )
    for (_, end), (start, _) in pairwise(spans):
        yield (start - end).total_seconds()
