"""What the commands that measure have in common."""

from __future__ import annotations

import argparse

import pytest

from regress.cli import calibrate, compare, run
from regress.cli.arguments import LAUNCHERS, Parser, duration, means_of
from regress.flows import machinery
from regress.flows.undertaking import ORDINARY, Means


def asked(command: str, *words: str) -> Means:
    parser = Parser("regress", "")
    {"compare": compare, "run": run, "calibrate": calibrate}[command].add_arguments(parser)
    sides = ["base", "head"] if command == "compare" else []
    return means_of(parser.parse_args([*sides, *words]))


@pytest.mark.parametrize("command", ["compare", "run", "calibrate"])
def test_what_nobody_asks_for_is_ordinary(command: str) -> None:
    assert asked(command) == ORDINARY


def test_what_is_asked_for_arrives() -> None:
    words = ["--launcher", "torchrun", "--seed", "0", "--fresh", "--wait", "0s", "--resident"]
    assert asked("compare", *words) == Means(
        launcher="torchrun", seed=0, fresh=True, wait_s=0.0, resident=True
    )


def test_every_launcher_can_be_asked_for() -> None:
    assert set(LAUNCHERS) == set(machinery.LAUNCHERS)


@pytest.mark.parametrize(("text", "seconds"), [("0s", 0), ("90s", 90), ("30m", 1800), ("2h", 7200)])
def test_times(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "5", "1d", "-1s", "1.5h", "²s", "1h30m", "9999999s"])
def test_no_times(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected a time such as 90s, 30m or 2h"):
        duration(text)
