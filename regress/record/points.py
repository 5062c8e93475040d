"""A run in brief: one value for each benchmark and metric. Histories are made of these."""

from __future__ import annotations

from dataclasses import dataclass

from regress.record.history import Mode
from regress.record.run import Purpose

SCHEMA = "regress.points/1"
"""Of the file that keeps them in the cache."""


@dataclass(frozen=True, kw_only=True)
class MetricPoint:
    """One metric of one benchmark of a run."""

    metric: str
    """Name."""

    value: float
    """Median over the launches on the log scale."""

    launches: int
    """How many gave a value."""

    agree: bool
    """Whether they gave one and the same."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkPoints:
    """One benchmark of a run, as far as it was measured in one way."""

    benchmark: str
    """Label."""

    platform: str
    """Key; ``unknown`` where nothing tells."""

    mode: Mode
    """``any`` holds what is counted, in all launches; the other entry what is timed."""

    conditions: tuple[tuple[str, str], ...]
    """Definition, workload and software, by field; empty where a failure did not tell."""

    failures: int
    """Launches that failed."""

    reason: str
    """How the first of them did; empty where none did."""

    metrics: tuple[MetricPoint, ...]
    """What was measured."""


@dataclass(frozen=True, kw_only=True)
class RunPoints:
    """A run in brief."""

    run: str
    """Identity."""

    complete: bool
    """Whether it was measured to its end."""

    comparison: str
    """See `Manifest`."""

    suite: str
    """Name."""

    role: str
    """See `Manifest`."""

    commit: str | None
    """Full hash; ``None`` when no revision was measured."""

    subject: str
    """First line of the commit's message; text from outside."""

    benchmarks_from: str
    """See `Manifest`."""

    environment: str | None
    """See `Manifest`."""

    started: str
    """UTC, ISO 8601."""

    purpose: Purpose
    """See `Manifest`."""

    benchmarks: tuple[BenchmarkPoints, ...]
    """Two entries for each benchmark, in the order in which they were met."""
