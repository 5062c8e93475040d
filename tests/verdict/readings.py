"""Readings made by hand, for the tests of histories."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from regress.record.history import Point
from regress.verdict.readings import Key, Reading

STEP = Key(
    suite="commit",
    benchmark="ddp[world=2]",
    metric="step_s",
    platform="cpu-4c-1f3a",
    mode="resident",
    code="commits",
    environment="",
)
BEFORE = (("definition", "d1"), ("torch", "2.13.0"))
AFTER = (("definition", "d1"), ("torch", "2.14.0"))


def commit(place: int) -> str:
    return f"{place:012x}" + "0" * 28


def reading(place: int, value: float | None, **given: Any) -> Reading:
    """A run of the commit at a place, measured on that day unless it says otherwise."""
    day = given.pop("day", place)
    point = Point(
        run=given.pop("run", f"{day:08x}"),
        commit=given.pop("commit", commit(place)),
        subject=given.pop("subject", f"Change {place}"),
        started=f"2026-{1 + day // 28:02}-{1 + day % 28:02}T00:00:00+00:00",
        value=value,
        launches=0 if value is None else 3,
        failures=3 if value is None else 0,
        reason="rank 1 died of SIGKILL" if value is None else "",
    )
    known: dict[str, Any] = {"later": False, "conditions": BEFORE, "agree": True, "to_anchor": False}
    if value is None:
        known["conditions"] = ()
    return Reading(point=point, place=place, **(known | given))


def around(level: float, number: int, *, seed: int = 0, noise: float = 0.003) -> list[float]:
    draw = random.Random(f"{seed}/{level}")
    return [level * (1 + draw.gauss(0.0, noise)) for _ in range(number)]


def readings(values: Sequence[float | None], **given: Any) -> list[Reading]:
    """One run of each commit, in order."""
    return [reading(place, value, **given) for place, value in enumerate(values)]
