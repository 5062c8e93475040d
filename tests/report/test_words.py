from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regress.record.outcome import Outcome
from regress.report.words import clean, counted, ended, meaning, title


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain text", "plain text"),
        ("two\nlines\r\nand\ttabs", "two lines and tabs"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07rest", "rest"),
        ("\x9b31mred", "31mred"),
        ("bell\x07 and backspace\x08", "bell and backspace"),
        ("right\u202eto left", "rightto left"),
        ("line\u2028separator", "line separator"),
        ("half \ud800 pair", "half \N{REPLACEMENT CHARACTER} pair"),
    ],
)
def test_text_from_outside_becomes_one_harmless_line(text: str, line: str) -> None:
    assert clean(text) == line


@given(st.text())
def test_nothing_that_steers_is_left(text: str) -> None:
    line = clean(text)
    assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert clean(line) == line
    assert len(line) <= 300


def test_long_text_ends_in_an_ellipsis() -> None:
    assert clean("x" * 50, limit=10) == "xxxxxxxxx…"


def test_metrics_have_names_for_people() -> None:
    assert title("step_s") == "step time"
    assert title("forward_s") == "forward time"
    assert title("\x1b[1mweird") == "weird"
    assert "slowest rank" in meaning("step_s")
    assert meaning("weird") == ""


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome(kind="died", rank=3, status=-9), "rank 3 died of SIGKILL"),
        (Outcome(kind="died", rank=3, status=-99), "rank 3 died of signal 99"),
        (Outcome(kind="exited", rank=0, status=7), "rank 0 exited with status 7"),
        (Outcome(kind="hung"), "hung"),
        (Outcome(kind="out_of_memory", rank=1), "rank 1 ran out of memory"),
    ],
)
def test_an_outcome_is_said_in_words(outcome: Outcome, text: str) -> None:
    assert ended(outcome) == text


def test_numbers_agree_with_their_nouns() -> None:
    assert counted(1, "benchmark") == "1 benchmark"
    assert counted(3, "benchmark") == "3 benchmarks"
    assert counted(0, "launch") == "0 launches"
