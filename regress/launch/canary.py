"""Runs the canary beside launches: ranks that run no benchmark, in an environment of their own.

It can be no difference between sides: whatever it runs in, it runs there for both. And it fails
nobody: what it could not measure is not known.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regress.errors import LaunchError, RecordError
from regress.launch.group import Group, LaunchFailed
from regress.launch.launcher import Code, Job, Launcher, Look, Report, Watcher
from regress.launch.parent import Parent, fork_server
from regress.launch.paths import LaunchPaths
from regress.launch.topology import deal_here
from regress.launch.turns import LEAVE_S, requests_of
from regress.record.canary import PARTS, Canary, Reading
from regress.record.codec import from_plain
from regress.record.environment import Environment

LIMIT_S = 60.0
"""Longest time that its ranks may take to meet, and then to measure."""

MOST_FAILURES = 2
"""After so many in a row it is left alone: each costs the time that it waits."""

MODULES = ("torch.distributed",)
"""What its fork server imports beside torch."""


class Cage:
    """Holds the canary: a fork server of its own, and fresh ranks for each look."""

    def __init__(self, pythons: Sequence[str], *, harness: Path, device: str, pin: bool) -> None:
        """Nothing runs yet.

        Args:
            pythons: Interpreters; the first in which the canary runs is used from then on. With
                none it never runs.
            harness: Copy of what runs there.
            device: ``cpu`` or ``cuda``.
            pin: Whether its ranks keep to the cores that those of a launch keep to.
        """
        self._pythons = list(dict.fromkeys(pythons))
        self._harness = harness
        self._device = device
        self._pin = pin
        self._server: Parent | None = None
        self._failures = 0
        self._problem = ""
        self._folder = tempfile.TemporaryDirectory(prefix="regress-canary-", ignore_cleanup_errors=True)
        self._looks = 0

    def close(self) -> None:
        """End its server."""
        self._end()
        self._folder.cleanup()

    def look(self, world_size: int) -> Look | None:
        """Measure now, with so many ranks; ``None`` where it is turned off. Never raises."""
        if not self._pythons:
            return None
        while self._failures < MOST_FAILURES:
            try:
                found = self._measured(world_size)
            except LaunchFailed as failure:
                self._problem = failure.outcome.message
                self._failures += 1
            except (LaunchError, RecordError, OSError) as error:  # no torch there, or of another kind
                self._problem = str(error)
                self._failures += 1
            else:
                self._failures = 0
                return found
            self._end()
            if len(self._pythons) > 1:
                self._pythons.pop(0)
                self._failures = 0
                continue
            break
        return Look(environment="", reading=None, problem=self._problem)

    def _measured(self, world_size: int) -> Look:
        code = Code(python=self._pythons[0], variables=(), path=(), benchmarks=self._folder.name)
        if self._server is None:
            log = Path(self._folder.name) / "server.log"
            self._server = fork_server(code, MODULES, self._harness, log)
        self._looks += 1
        paths = LaunchPaths(folder=Path(self._folder.name) / f"look{self._looks}")
        paths.work.mkdir(parents=True)
        dealt = deal_here(world_size, self._device, os.environ) if self._pin else ()
        requests = requests_of(
            code, paths, world_size, device=self._device, dealt=dealt, timeout_s=2 * LIMIT_S
        )
        group = Group(self._server, paths, requests, LIMIT_S)
        try:
            joined = group.start()
            sung = group.ask("sing", limit_s=LIMIT_S)
            with suppress(LaunchFailed):
                group.ask("leave", limit_s=LEAVE_S)
        finally:
            group.end()
        self._pythons[1:] = []  # this one it is, from now on
        return Look(
            environment=_environment(joined[0], sung[0]["version"], world_size), reading=slowest(sung)
        )

    def _end(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


def slowest(ranks: Sequence[Mapping[str, Any]]) -> Reading:
    """One reading of what all ranks answered: of each piece of work the slowest rank's time."""
    readings = [from_plain(Reading, rank["reading"]) for rank in ranks]
    return Reading(**{part: max(getattr(reading, part) for reading in readings) for part in PARTS})


def _environment(rank: Mapping[str, Any], version: int, world_size: int) -> str:
    """All of the environment that two readings must share to be compared."""
    environment = from_plain(Environment, rank["environment"])
    pinned = "pinned" if rank["cores"] else "not pinned"
    facts = (
        f"canary {version}, {world_size} ranks {pinned}, {environment.threads} threads",
        f"Python {environment.python}, torch {environment.torch}, {environment.backend}",
        *(f"{name} {version}" for name, version in (("NCCL", environment.nccl),) if version),
        *(f"{name}={value}" for name, value in environment.variables),
    )
    return ", ".join(facts)


@dataclass(kw_only=True)
class Watched:
    """A launcher whose launches stand between two looks at the canary.

    One for each block: what it saw after a job is what was before the next one.
    """

    launcher: Launcher
    """Launches, and looks."""

    world_size: int
    """Ranks of the canary: always the same ones of a plan, so that its looks can be compared."""

    _last: Look | None = None

    def run(self, job: Job, watch: Watcher) -> Iterator[tuple[Sequence[Report], Canary | None]]:
        """Have a job run; see `Launcher.run`.

        Yields:
            Launches that are over together, with the canary around them: those that were resident
            together, or one that was alone. It is looked at again after the last ones alone.
        """
        before = self._last or self.launcher.canary(self.world_size)
        reports = self.launcher.run(job, watch)
        if not job.alone:
            together = tuple(reports)
            yield together, self._around(before)
            return
        for number, report in enumerate(reports, start=1):
            yield (report,), self._around(before) if number == len(job.requests) else _canary(before, None)

    def _around(self, before: Look | None) -> Canary | None:
        self._last = None if before is None else self.launcher.canary(self.world_size)
        return _canary(before, self._last)


def _canary(before: Look | None, after: Look | None) -> Canary | None:
    looks = [look for look in (before, after) if look is not None]
    if not looks:
        return None
    return Canary(
        environment=next((look.environment for look in looks if look.environment), ""),
        before=None if before is None else before.reading,
        after=None if after is None else after.reading,
        problem=next((look.problem for look in looks if look.problem), ""),
    )
