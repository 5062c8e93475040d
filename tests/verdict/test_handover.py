from __future__ import annotations

from dataclasses import replace

import pytest

from regress.record.run import Launch
from regress.verdict.handover import LATE_S, idle_notes, split_blocks, split_notes
from tests.verdict.runs import DDP, launch, measurement


def idle(block: int, cores: float | None, *, alone: bool = False) -> Launch:
    return launch(block, [replace(measurement(), idle_cores=cores)], alone=alone)


def at(block: int, started: str, seconds: float = 60.0, *, alone: bool = True) -> Launch:
    return replace(launch(block, [measurement()], alone=alone), started=started, seconds=seconds)


def test_a_side_that_did_not_sleep_is_named() -> None:
    sides = {"base": [idle(1, 0.01), idle(2, None)], "head": [idle(1, 0.9), idle(2, 1.6)]}
    (note,) = idle_notes(sides)
    assert note.startswith(f"head did not sleep while the other side had its turn: {DDP} kept 1.6 cores busy")
    assert "in block 2" in note


@pytest.mark.parametrize("cores", [None, 0.0, 0.05])
def test_waking_up_is_allowed(cores: float | None) -> None:
    assert idle_notes({"base": [idle(1, cores)], "head": [idle(1, cores)]}) == ()


def test_alone_nobody_is_disturbed() -> None:
    assert idle_notes({"base": [idle(0, 2.0, alone=True)]}) == ()


def test_a_block_alone_that_was_interrupted_is_found() -> None:
    launches = [
        at(3, "2026-01-01T10:00:00+00:00"),
        at(3, "2026-01-01T15:01:00+00:00"),
        at(4, "2026-01-01T15:03:00+00:00"),
        at(4, "2026-01-01T15:04:10+00:00"),
    ]
    assert split_blocks(launches) == {(3, 2): 5 * 3600.0}
    (note,) = split_notes(launches)
    assert note.startswith("block 3 was interrupted: 5 h")


def test_only_between_the_launches_and_only_alone() -> None:
    long = [at(1, "2026-01-01T10:00:00Z", 5 * 3600.0), at(1, "2026-01-01T15:00:30Z")]
    assert split_blocks(long) == {}
    resident = [at(2, f"2026-01-0{day}T10:00:00Z", alone=False) for day in (1, 2)]
    assert split_blocks(resident) == {}
    assert LATE_S > 120  # fork servers are started between two launches, and that is no interruption
