"""What every launcher is asked and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from regress.record.calibration import Slowdown
from regress.record.canary import Reading
from regress.record.environment import Environment
from regress.record.outcome import Outcome
from regress.record.platform import Platform
from regress.record.series import RankSeries
from regress.spec.benchmark import Benchmark
from regress.spec.plan import Limits, Steps


@dataclass(frozen=True, kw_only=True)
class Code:
    """What a side runs: interpreter, variables, folders."""

    python: str
    """Path of the interpreter."""

    variables: tuple[tuple[str, str], ...]
    """Set in its environment, by name."""

    path: tuple[str, ...]
    """Folders of its revision, first on the import path."""

    benchmarks: str
    """Folder of the benchmark files; the same for both sides."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The launch of one side in a job."""

    side: str
    """``base``, ``head`` or ``only``."""

    code: Code
    """What it runs."""

    benchmarks: tuple[Benchmark, ...]
    """In this order; all of the job's world size."""

    caches: Path | None = None
    """Folder of what torch compiles, kept from launch to launch; ``None``: a fresh one."""

    slowdown: Slowdown | None = None
    """What its timed steps are made slower by, where the tool tests itself."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One launch of each side, measured together: a block, or the rest of one."""

    block: int
    """Index of the block."""

    attempt: int
    """Counts the launches of this block and world size."""

    alone: bool
    """Whether each side has the machine for itself, one after the other."""

    counted: bool
    """Whether exact metrics are counted."""

    world_size: int
    """Ranks of each launch."""

    requests: tuple[Request, ...]
    """In the order in which the sides start."""

    files: tuple[tuple[str, str], ...]
    """Name of each benchmark and the file that declares it."""

    torch_modules: tuple[str, ...]
    """What servers import beside torch; see `Definition.torch_modules`."""

    turns: tuple[tuple[str, tuple[str, ...]], ...]
    """For each benchmark's label: whose turn it is, burst after burst."""

    steps: Steps
    """How each benchmark is measured."""

    warmups: tuple[tuple[str, int], ...] = ()
    """For a benchmark's label: after how many steps it is known to be warm. For the others that is searched
    for, between the limits of `steps`."""

    limits: Limits
    """When a launch counts as hung."""

    seed: int
    """Of the workloads."""

    scratch: Path
    """Empty folder for logs and measurements."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """How one benchmark ended in a launch, and what its ranks saw."""

    benchmark: Benchmark
    """Which."""

    outcome: Outcome
    """How it ended."""

    ranks: tuple[RankSeries, ...] = ()
    """One per rank; empty after a failure."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One side's launch: everything it tried, up to the first failure."""

    side: str
    """Of the request."""

    measured: tuple[Measured, ...]
    """In execution order. What the request named and this lacks was not tried."""

    started: str
    """UTC, ISO 8601."""

    seconds: float
    """From the request to the last rank's end."""

    platform: Platform | None
    """As rank 0 saw it."""

    environment: Environment | None
    """As rank 0 saw it."""

    foreign_cpu: float | None = None
    """Share of the host's cores that others used meanwhile."""

    cores: tuple[str, ...] = ()
    """Cores that each rank was kept to, as Linux lists them (``0-3,8``); empty when none was."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the canary said at one moment; see `regress.record.canary`."""

    environment: str
    """What it ran in; empty when it did not run."""

    reading: Reading | None
    """What it took; ``None`` when it did not run."""

    problem: str = ""
    """Why it did not."""


Watcher = Callable[[str, str, float], None]
"""Told about progress: side, label of the benchmark, and the share of the job that is done."""


class Launcher(Protocol):
    """Turns jobs into reports. Used as a context manager: leaving it ends every process."""

    def __enter__(self) -> Launcher: ...

    def __exit__(self, *exc: object) -> None: ...

    def run(self, job: Job, watch: Watcher) -> Iterable[Report]:
        """Launch each side and measure until all is done or something failed.

        A report comes as soon as its launch has ended.

        A failure ends the launch it happened in; where both sides are resident, the other
        side finishes the benchmark at hand and stops. The caller asks again for the rest.

        Raises:
            LaunchError: The machinery failed, not a benchmark.
        """

    def renew(self) -> None:
        """Forget what launches share (servers): called between blocks."""

    def canary(self, world_size: int) -> Look | None:
        """Run the canary with so many ranks, while no launch runs; ``None`` where it is turned off."""
