"""How long a user waits for help, beside the bare interpreter in the same run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

from pytest_benchmark.fixture import BenchmarkFixture

STARTS = 15
"""Of each program, in turns."""

HELP = "from regress.cli.main import main; main(['--help'])"


def start(code: str) -> float:
    """Seconds that an interpreter takes to run a line."""
    begun_s = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun_s


def test_help(benchmark: BenchmarkFixture, say: Callable[[str], None]) -> None:
    """`regress --help` against ``python -c pass``."""
    start(HELP)  # compiles what is not compiled yet
    times = [(start("pass"), start(HELP)) for _ in range(STARTS)]
    pass_s, help_s = (median(column) for column in zip(*times, strict=True))
    benchmark.extra_info.update(pass_s=pass_s, help_s=help_s)
    benchmark.pedantic(start, args=(HELP,), rounds=5)  # type: ignore[no-untyped-call]
    bound_ms = 1500 * pass_s + 100
    say(
        f"help: {1000 * help_s:.0f} ms, interpreter: {1000 * pass_s:.0f} ms (target: below {bound_ms:.0f} ms)"
    )
