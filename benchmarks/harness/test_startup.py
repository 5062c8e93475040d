"""How long a user waits for help and for a refusal, as multiples of the bare interpreter."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.harness.conftest import Take

STARTS = 15
"""Of each program, in turns."""


def regress(status: int, *arguments: str) -> None:
    """Run a command of ours that ends with a status."""
    code = "from regress.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != status:
        raise AssertionError(f"regress {arguments}: exit status {done.returncode}")


def test_help(take: Take) -> None:
    """`regress --help`; the target is 1.5 x the interpreter and 0.1 s."""
    take("regress --help", lambda: regress(0, "--help"), rounds=STARTS, yardstick="python")


def test_wrong_argument(take: Take) -> None:
    """A command line that is refused."""
    take(
        "a wrong argument refused",
        lambda: regress(2, "compare", "HEAD"),
        rounds=STARTS,
        yardstick="python",
    )
