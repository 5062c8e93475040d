from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from rich.cells import cell_len

from regress.report.tables import tables
from regress.report.terminal import render
from tests.report.factories import SUITES, hostile_suite, mixed_suite, regressed_suite


@pytest.mark.parametrize("suite", SUITES)
def test_the_terminal_reads_as_agreed(suite: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{suite}.terminal.txt", render(SUITES[suite](), width=100, color=False))


@pytest.mark.parametrize("width", [48, 80, 140])
@pytest.mark.parametrize("suite", SUITES)
def test_no_line_is_longer_than_the_terminal(suite: str, width: int) -> None:
    assert max(map(cell_len, render(SUITES[suite](), width=width, color=False).splitlines())) <= width


def test_the_verdict_stands_first_and_what_to_do_last() -> None:
    lines = render(regressed_suite(), width=200, color=False).splitlines()
    assert lines[0] == f"▲ {tables(regressed_suite()).headline}"
    assert [line for line in lines if line and not line.startswith(" ")][-1] == "Next"


def test_colour_changes_no_word() -> None:
    coloured = render(mixed_suite(), width=100, color=True)
    assert "\x1b[1;31m" in coloured
    stripped = "".join(
        part.partition("m")[2] if index else part for index, part in enumerate(coloured.split("\x1b["))
    )
    words = render(mixed_suite(), width=100, color=False).split()
    assert stripped.split() == words


def test_colour_follows_the_argument_and_not_the_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" in render(mixed_suite(), width=100, color=True)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in render(mixed_suite(), width=100, color=False)


def test_hostile_text_steers_no_terminal() -> None:
    text = render(hostile_suite(), width=100, color=False)
    assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")]
    text.encode()
