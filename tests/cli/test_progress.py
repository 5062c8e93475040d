"""Progress on standard error: lines for logs, a bar on a terminal, silence when asked."""

from __future__ import annotations

import io
import sys

import pytest

from regress.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_per_block(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=False) as shown:
        shown.say("reading the benchmarks")
        for done, side in ((0.0, "base"), (0.25, "head"), (0.5, "base")):
            shown.at(done, f"block {1 if done < 0.5 else 2}/2 · ddp[world=2] · {side}")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "regress: reading the benchmarks\n"
        "regress: block 1/2, 0 s so far\n"
        "regress: block 2/2, 0 s so far, about 0 s left\n"
    )


def test_what_is_left_is_told_from_what_went(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([1000.0, 1030.0])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    with progress(quiet=False) as shown:
        shown.at(0.0, "block 1/8")
        shown.at(0.25, "block 3/8")
    assert capsys.readouterr().err == (
        "regress: block 1/8, 0 s so far\nregress: block 3/8, 30 s so far, about 90 s left\n"
    )


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=True) as shown:
        shown.say("x")
        shown.at(0.5, "y")
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal_that_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress(quiet=False) as shown:
        shown.say("reading [bold]the[/] benchmarks")
        shown.at(0.5, "block 1/2 · ddp[world=2] · base")
    text = terminal.getvalue()
    assert "ddp[world=2]" in text  # brackets are no markup
    assert "50%" in text
    assert text.endswith("\x1b[1A\x1b[2K")  # the line of the bar is cleared
    assert "regress: " not in text
