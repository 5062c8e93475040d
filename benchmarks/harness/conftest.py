"""How the figures of the harness are taken, kept and shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.harness.figures import REFERENCE, Figure, read_reference, table, write_reference
from benchmarks.harness.yardstick import interpreter, work

YARDSTICKS = {"work": work, "python": interpreter}
"""By the name that the table shows."""

FIGURES = pytest.StashKey[list[Figure]]()

Result = Callable[[float], float]
"""Seconds of a round to the seconds of the figure."""


class Take(Protocol):
    """Measures a figure in turns with its yardstick."""

    def __call__(
        self,
        name: str,
        target: Callable[..., object],
        *,
        rounds: int,
        yardstick: str = "work",
        setup: Callable[[], object] | None = None,
        result: Result = ...,
    ) -> None:
        """Take a figure.

        Args:
            name: What the figure is called.
            target: What is timed; called with what ``setup`` returns, if that is not ``None``.
            rounds: How often.
            yardstick: Name of that which is timed before each round.
            setup: Called before each round, outside the time.
            result: Called after each round: what the figure is, where that is not its time.
        """


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what can be asked for."""
    group = parser.getgroup("harness")
    group.addoption("--rounds", type=int, help="of every figure: a few only show that it can be taken")
    group.addoption("--update-reference", action="store_true", help="make the figures the reference")


def pytest_configure(config: pytest.Config) -> None:
    """Begin with no figures."""
    config.stash[FIGURES] = []


@pytest.fixture
def take(benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> Take:
    """Measures the one figure of a test."""

    def take(
        name: str,
        target: Callable[..., object],
        *,
        rounds: int,
        yardstick: str = "work",
        setup: Callable[[], object] | None = None,
        result: Result = float,
    ) -> None:
        asked: int | None = request.config.getoption("--rounds")
        count = rounds if asked is None else asked
        measure = YARDSTICKS[yardstick]
        yardstick_s: list[float] = []
        times_s: list[float] = []

        def ready() -> tuple[tuple[object, ...], dict[str, object]]:
            given = setup() if setup else None
            begun_s = time.perf_counter()
            measure()
            yardstick_s.append(time.perf_counter() - begun_s)
            return () if given is None else (given,), {}

        def timed(*given: object) -> None:
            begun_s = time.perf_counter()
            target(*given)
            times_s.append(result(time.perf_counter() - begun_s))

        run: Any = benchmark.pedantic  # without types
        run(timed, setup=ready, rounds=count, warmup_rounds=1)
        figure = Figure(
            name=name,
            times_s=tuple(times_s[-count:]),
            yardstick=yardstick,
            yardstick_s=tuple(yardstick_s[-count:]),
        )
        benchmark.extra_info.update(figure=name, ratio=figure.ratio, yardstick=yardstick)
        request.config.stash[FIGURES].append(figure)

    return take


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Show all figures beside the reference, or make them the reference."""
    figures = config.stash[FIGURES]
    if not figures:
        return
    terminalreporter.section("what regress itself costs")
    for line in table(figures, read_reference(REFERENCE)):
        terminalreporter.write_line(line)
    terminalreporter.write_line(
        "yardsticks: work, a few ms of JSON and dicts; python, `python -c pass`. ▲ more than 1.5 x"
    )
    if config.getoption("--update-reference"):
        if exitstatus != 0:
            terminalreporter.write_line("something failed: the reference stays as it was")
            return
        write_reference(REFERENCE, figures)
        terminalreporter.write_line(f"reference written: {REFERENCE}")
