"""A history in words: the table model and the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len

from regress.report.history import tables
from regress.report.history_terminal import render
from tests.report.histories import (
    HISTORIES,
    SAID,
    change,
    history,
    hostile_history,
    mixed_history,
    regressed,
    steady,
)


@pytest.mark.parametrize("name", HISTORIES)
def test_the_terminal_reads_as_agreed(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"history-{name}.terminal.txt", render(HISTORIES[name](), width=100, color=False))


@pytest.mark.parametrize("width", [48, 80, 140])
@pytest.mark.parametrize("name", HISTORIES)
def test_no_line_is_longer_than_the_terminal(name: str, width: int) -> None:
    assert max(map(cell_len, render(HISTORIES[name](), width=width, color=False).splitlines())) <= width


def test_the_verdict_stands_first() -> None:
    lines = render(mixed_history(), width=300, color=False).splitlines()
    assert lines[0] == f"✕ broken: {tables(mixed_history()).sentence}"
    assert "3 regressed; 1 drifted; 1 suspected; 1 improved" in lines[0]


def test_steady_and_short_series_are_one_line_unless_one_was_asked_for() -> None:
    text = render(history(steady(), replace(steady(), benchmark="other")), width=100, color=False)
    assert "= 2 series steady, of 30 points" in text
    assert "fsdp" not in text
    assert "fsdp" in render(history(steady()), width=100, color=False)


def test_what_ended_stands_apart_and_counts_for_nothing() -> None:
    table = tables(history(steady(), replace(regressed(), ended="another")))
    assert (table.verdict, table.rows, len(table.quiet), len(table.ended)) == ("steady", (), 1, 1)


def test_the_change_that_stands_for_a_series_is_the_surest_open_one_of_its_state() -> None:
    changes = (
        change(5, 0.09, open=False),
        change(10, 0.04),
        change(20, 0.02),
        change(30, 0.20, state="suspected"),
        change(35, -0.30),
    )
    (row,) = tables(history(replace(regressed(), changes=changes))).rows
    assert row.main is not None
    assert row.main.change == changes[1]
    assert [each.change.index for each in row.changes] == [35, 30, 20, 10, 5]


def test_what_measuring_again_said_stands_beside_the_change() -> None:
    changed = replace(regressed(), changes=(change(20, 0.04, remeasured=SAID),))
    text = render(history(changed), width=200, color=False)
    assert "measured again: confirmed, +3.1 % (+2.8 to +3.4 %) [runs aaaaaaaa and bbbbbbbb]" in text


def test_it_says_what_to_do_next() -> None:
    text = render(mixed_history(), width=200, color=False)
    assert text.rstrip().endswith(
        f"see the commits: git log {change(20, 0.04).commits}\n"
        "  decide what is suspected: regress history --confirm"
    )
    assert "Next" not in render(history(steady()), width=100, color=False)


def test_a_drift_stands_where_a_change_does() -> None:
    row = next(row for row in tables(mixed_history()).rows if row.state == "drifted")
    assert (row.amount, row.interval, row.main) == ("+2.1 %", "+1.2 to +3.0 %", None)


def test_colour_changes_no_word() -> None:
    coloured = render(mixed_history(), width=100, color=True)
    assert "\x1b[1;31m" in coloured
    stripped = "".join(
        part.partition("m")[2] if index else part for index, part in enumerate(coloured.split("\x1b["))
    )
    assert stripped.split() == render(mixed_history(), width=100, color=False).split()


def test_hostile_text_steers_no_terminal() -> None:
    text = render(hostile_history(), width=100, color=False)
    assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")]
    text.encode()
