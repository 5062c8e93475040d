"""Launches on this host by torch's own elastic agent, as ``torchrun`` starts them.

Each launch has an agent of its own, in the side's interpreter, which starts ranks that share
nothing: each imports torch for itself, which takes seconds where a fork server takes milliseconds.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from regress.launch.canary import Cage
from regress.launch.contention import CpuUse, cpu_use
from regress.launch.group import Group
from regress.launch.harness import harness
from regress.launch.launcher import Job, Look, Report, Request, Watcher
from regress.launch.parent import START_S, Parent, torch_agent
from regress.launch.paths import LaunchPaths
from regress.launch.topology import deal_here
from regress.launch.turns import rank_requests, take_turns


class TorchrunLauncher:
    """One host, one agent per launch, Unix sockets."""

    def __init__(
        self, *, cache: Path, device: str = "cpu", pin: bool = True, canary: Sequence[str] = ()
    ) -> None:
        """Nothing runs yet; see `LocalLauncher` for the arguments."""
        self._harness = harness(cache)
        self._device = device
        self._pin = pin
        self._cage = Cage(canary, harness=self._harness, device=device, pin=pin)
        self._agents: list[Parent] = []
        self._started = 0
        self._logs = tempfile.TemporaryDirectory(prefix="regress-agents-")

    def __enter__(self) -> TorchrunLauncher:
        return self

    def __exit__(self, *exc: object) -> None:
        self.renew()
        self._logs.cleanup()
        self._cage.close()

    def renew(self) -> None:
        """See `Launcher.renew`; launches share nothing here."""
        while self._agents:
            self._agents.pop().close()

    def run(self, job: Job, watch: Watcher) -> Iterator[Report]:
        """See `Launcher.run`."""
        try:
            yield from take_turns(job, watch, self._group, self._cpu_use)
        finally:
            self.renew()

    def canary(self, world_size: int) -> Look | None:
        """See `Launcher.canary`."""
        return self._cage.look(world_size)

    def _group(self, job: Job, request: Request, paths: LaunchPaths) -> Group:
        variables = {**os.environ, **dict(request.code.variables)}
        dealt = deal_here(job.world_size, self._device, variables) if self._pin else ()
        ranks = rank_requests(job, request, paths, device=self._device, dealt=dealt)
        self._started += 1
        log = Path(self._logs.name) / f"agent{self._started}.log"
        self._agents.append(torch_agent(request.code, self._harness, log))
        by_agent = [{**rank, "rendezvous": None} for rank in ranks]
        return Group(self._agents[-1], paths, by_agent, START_S + job.limits.build_s)

    def _cpu_use(self) -> CpuUse | None:
        return cpu_use(agent.pid for agent in self._agents)
