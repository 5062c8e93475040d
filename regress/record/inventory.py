"""What `regress list` finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ListedBenchmark:
    """A benchmark as people read of it."""

    name: str
    """Of its function."""

    world_sizes: tuple[int, ...]
    """Numbers of ranks it is meant for."""

    params: tuple[tuple[str, tuple[str, ...]], ...]
    """Each parameter with its values, as text."""

    doc: str
    """First line of its docstring."""

    place: str
    """File and line."""


@dataclass(frozen=True, kw_only=True)
class ListedSuite:
    """A suite that can be named."""

    name: str
    """What to type."""

    description: str
    """One sentence; empty when the file has none."""

    file: str
    """Where it stands."""


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """A run of the store."""

    run: str
    """Identity: what to type."""

    suite: str
    """Name."""

    side: str
    """As the user wrote it; text from outside."""

    commit: str | None
    """Full hash; ``None`` when no revision was measured."""

    started: str
    """UTC, ISO 8601."""

    launches: int
    """How many are kept."""

    complete: bool
    """Whether it was measured to its end."""


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """Benchmarks, suites and runs."""

    folder: str
    """Of the benchmark files."""

    benchmarks: tuple[ListedBenchmark, ...]
    """By name."""

    failures: tuple[str, ...]
    """Benchmark files that cannot be imported, each with its line and why."""

    suites: tuple[ListedSuite, ...]
    """By name."""

    runs: tuple[ListedRun, ...]
    """Newest first."""

    unreadable: tuple[str, ...]
    """Suites and runs that cannot be read, each with why."""
