"""Launches on this host: ranks forked from a warm server."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from regress.launch.canary import Cage
from regress.launch.contention import CpuUse, cpu_use
from regress.launch.group import Group
from regress.launch.harness import harness
from regress.launch.launcher import Code, Job, Look, Report, Request, Watcher
from regress.launch.parent import Parent, fork_server
from regress.launch.paths import LaunchPaths
from regress.launch.topology import deal_here
from regress.launch.turns import rank_requests, take_turns

STARTED_AT_ONCE = 4
"""Servers that are started together, where there are cores for them: one for this block, the others
for the next ones. Importing torch keeps one core busy for seconds, and nothing may be timed beside it."""


class LocalLauncher:
    """One host, fork servers, Unix sockets."""

    def __init__(
        self, *, cache: Path, device: str = "cpu", pin: bool = True, canary: Sequence[str] = ()
    ) -> None:
        """Nothing runs yet.

        Args:
            cache: Folder for the copy of the harness.
            device: ``cpu`` or ``cuda``.
            pin: Whether each rank keeps to cores of its own. Its helper threads (gloo's, NCCL's,
                data loading) keep to them too. Both sides of a block have the same: they take turns.
            canary: Interpreters for the canary, the preferred one first; none turns it off.
        """
        self._harness = harness(cache)
        self._device = device
        self._pin = pin
        self._cage = Cage(canary, harness=self._harness, device=device, pin=pin)
        self._servers: dict[tuple[object, ...], Parent] = {}
        self._fresh: dict[tuple[object, ...], list[Parent]] = {}
        self._started = 0
        self._logs = tempfile.TemporaryDirectory(prefix="regress-servers-")

    def __enter__(self) -> LocalLauncher:
        return self

    def __exit__(self, *exc: object) -> None:
        self.renew()
        for servers in self._fresh.values():
            while servers:
                servers.pop().close()
        self._logs.cleanup()
        self._cage.close()

    def renew(self) -> None:
        """End the servers that were used, and with them every rank; fresh ones serve the next block."""
        while self._servers:
            self._servers.popitem()[1].close()

    def run(self, job: Job, watch: Watcher) -> Iterator[Report]:
        """See `Launcher.run`."""
        return take_turns(job, watch, self._group, self._cpu_use)

    def canary(self, world_size: int) -> Look | None:
        """See `Launcher.canary`."""
        return self._cage.look(world_size)

    def _group(self, job: Job, request: Request, paths: LaunchPaths) -> Group:
        variables = {**os.environ, **dict(request.code.variables)}
        dealt = deal_here(job.world_size, self._device, variables) if self._pin else ()
        ranks = rank_requests(job, request, paths, device=self._device, dealt=dealt)
        return Group(self._server(job, request.code), paths, ranks, job.limits.build_s)

    def _cpu_use(self) -> CpuUse | None:
        fresh = itertools.chain.from_iterable(self._fresh.values())
        return cpu_use(server.pid for server in (*self._servers.values(), *fresh))

    def _server(self, job: Job, code: Code) -> Parent:
        """Both sides fork from one server where interpreter and variables are the same."""
        key = (code.python, code.variables, job.torch_modules)
        if key not in self._servers:
            fresh = self._fresh.setdefault(key, [])
            if not fresh:
                self._start_servers(fresh, job, code)
            self._servers[key] = fresh.pop()
        return self._servers[key]

    def _start_servers(self, servers: list[Parent], job: Job, code: Code) -> None:
        for _ in range(min(STARTED_AT_ONCE, len(os.sched_getaffinity(0)))):
            self._started += 1
            log = Path(self._logs.name) / f"server{self._started}.log"
            servers.append(fork_server(code, job.torch_modules, self._harness, log))
        for server in servers:
            server.await_ready()
