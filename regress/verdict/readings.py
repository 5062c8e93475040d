"""The points of a history, and the order in which they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from regress.record.history import Mode, Point


@dataclass(frozen=True, kw_only=True)
class Key:
    """What the points of a series have in common."""

    suite: str
    """Name."""

    benchmark: str
    """Label."""

    metric: str
    """Name."""

    platform: str
    """Key."""

    mode: Mode
    """How it was measured."""

    code: Literal["commits", "uncommitted", "installed"]
    """See `Series`."""

    environment: str
    """Name; empty: the one that runs regress."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A point and what decides on its place."""

    point: Point
    """The point."""

    place: int
    """Of its commit among all commits."""

    later: bool
    """Whether it is the head of a comparison, which was measured beside its base."""

    conditions: tuple[tuple[str, str], ...]
    """Definition, workload and software, by field; empty where a failure did not tell."""

    agree: bool
    """Whether its launches gave one and the same value."""

    to_anchor: bool
    """Whether its commit is the anchor's, or an earlier one."""


def ordered_by_conditions(readings: Sequence[Reading]) -> tuple[list[Reading], list[int]]:
    """Readings by conditions, then by commit, then by time; and where conditions change.

    Conditions stand in the order of the newest commit measured under them: an old commit that is
    measured again under its old conditions opens no new stretch, and a later one that went back does.
    """
    timed = sorted(readings, key=lambda reading: (reading.point.started, reading.later))
    known = next((reading.conditions for reading in timed if reading.conditions), ())
    placed = []
    for reading in timed:
        known = reading.conditions or known
        placed.append((known, reading))
    newest: dict[object, tuple[int, str]] = {}
    for conditions, reading in placed:
        last = (reading.place, reading.point.started)
        newest[conditions] = max(newest.get(conditions, last), last)
    placed.sort(key=lambda each: (newest[each[0]], each[1].place))  # stable: by time within
    starts = [i for i in range(1, len(placed)) if placed[i][0] != placed[i - 1][0]]
    return [replace(reading, conditions=conditions) for conditions, reading in placed], starts
