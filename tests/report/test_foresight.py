"""What a comparison could see, as people read it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from regress.record.foresight import Foresight, Outlook, PlannedSide, Prospect
from regress.report.foresight import render
from tests.report.factories import DDP, FSDP, HOSTILE, TENSOR


def prospects(*found: float | None, claims: int = 0) -> tuple[Prospect, ...]:
    """At looks after 3, 5, 8 blocks; the first ones claim nothing."""
    return tuple(
        Prospect(blocks=blocks, claims=place >= claims, detectable=size)
        for place, (blocks, size) in enumerate(zip((3, 5, 8), found, strict=True))
    )


def outlook(label: str = DDP, **given: Any) -> Outlook:
    known: dict[str, Any] = {
        "benchmark": label,
        "metric": "step_s",
        "sd": 0.0087,
        "df": 10.0,
        "launches": 24,
        "bias": 0.0,
        "fewest": 3,
        "prospects": prospects(0.066, 0.055, 0.0512),
        "enough": 3,
    }
    return Outlook(**(known | given))


UNKNOWN = outlook(FSDP, sd=None, df=0.0, launches=0, fewest=5, prospects=(), enough=None)
LENT = outlook(
    TENSOR,
    sd=0.11,
    df=1.3,
    launches=0,
    fewest=5,
    prospects=prospects(None, None, 0.61, claims=1),
    enough=None,
)


def foresight(**given: Any) -> Foresight:
    known: dict[str, Any] = {
        "base": PlannedSide(name="main", commit="0f" * 20, subject="Pin torch"),
        "head": PlannedSide(name="WORKTREE", commit=None, subject=""),
        "suite": "commit",
        "platform": "cpu-4c-1f3a",
        "mode": "resident",
        "false_alarms": 0.01,
        "min_change": 0.05,
        "must_see": 0.15,
        "looks": (3, 5, 8),
        "others": 1,
        "spare": 2,
        "budget_s": None,
        "block_s": 61.0,
        "seconds": 610.0,
        "outlooks": (outlook(), UNKNOWN, LENT),
    }
    return Foresight(**(known | given))


ANSWERS: dict[str, Foresight] = {
    "known": foresight(),
    "unknown": foresight(block_s=None, seconds=None, outlooks=(UNKNOWN,), looks=(8,), others=0),
    "budget": foresight(
        budget_s=600.0, seconds=600.0, new=(FSDP,), outlooks=(outlook(),), notes=("Biased.",)
    ),
    "hostile": foresight(
        base=PlannedSide(name=HOSTILE, commit="0f" * 20, subject=HOSTILE),
        suite=HOSTILE,
        outlooks=(outlook(HOSTILE),),
        new=(HOSTILE,),
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_it_reads_as_agreed(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"foresight-{name}.terminal.txt", render(ANSWERS[name], width=100, color=False))


@pytest.mark.parametrize("width", [48, 80, 140])
@pytest.mark.parametrize("name", ANSWERS)
def test_no_line_is_longer_than_the_terminal(name: str, width: int) -> None:
    many = replace(ANSWERS[name], looks=(3, 5, 8))
    assert max(map(cell_len, render(many, width=width, color=False).splitlines())) <= width


def test_what_is_not_claimed_not_known_and_not_found_differ() -> None:
    lines = render(foresight(), width=120, color=False).splitlines()
    row = {label: next(line for line in lines if line.startswith(label)) for label in (DDP, FSDP, TENSOR)}
    assert row[DDP].split()[-8:] == ["%", "6.6", "%", "5.5", "%", "5.1", "%", "3"]
    assert row[FSDP].split()[1:] == ["—"] * 5
    assert row[TENSOR].split()[-6:] == ["—", "nothing", "61", "%", "too", "many"]
    assert any("noise unknown: 5 blocks at least" in line for line in lines)


def test_hostile_text_steers_no_terminal() -> None:
    text = render(ANSWERS["hostile"], width=100, color=False)
    assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")]
