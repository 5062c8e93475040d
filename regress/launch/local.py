"""Launches on this host: ranks forked from a warm server, both sides taking turns.

On CPU both sides are resident: while one runs its burst, the other sleeps in `recv`. In a job
that is `alone`, one side after the other has the machine for itself.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regress.errors import RecordError
from regress.launch.contention import CpuUse, cpu_use, foreign_share
from regress.launch.forkserver import ForkServer
from regress.launch.group import Group, LaunchFailed
from regress.launch.harness import harness
from regress.launch.launcher import Code, Job, Measured, Report, Request, Watcher
from regress.launch.paths import LaunchPaths
from regress.record.codec import decode, from_plain, plain
from regress.record.environment import Environment
from regress.record.outcome import Outcome
from regress.record.platform import Platform
from regress.record.series import SCHEMA, RankSeries
from regress.spec.benchmark import Benchmark

STARTED_AT_ONCE = 4
"""Servers that are started together, where there are cores for them: one for this block, the others
for the next ones. Importing torch keeps one core busy for seconds, and nothing may be timed beside it."""

LEAVE_S = 5.0
"""Longest time that ranks may take to leave once all is measured."""


class LocalLauncher:
    """One host, fork servers, Unix sockets."""

    def __init__(self, *, cache: Path, device: str = "cpu") -> None:
        self._harness = harness(cache)
        self._device = device
        self._servers: dict[tuple[object, ...], ForkServer] = {}
        self._fresh: dict[tuple[object, ...], list[ForkServer]] = {}
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

    def renew(self) -> None:
        """End the servers that were used, and with them every rank; fresh ones serve the next block."""
        while self._servers:
            self._servers.popitem()[1].close()

    def run(self, job: Job, watch: Watcher) -> Iterator[Report]:
        """See `Launcher.run`."""
        progress = _Progress(watch, sum(len(order) for _, order in job.turns))
        cohorts = [(request,) for request in job.requests] if job.alone else [job.requests]
        for cohort in cohorts:
            yield from self._run_together(job, cohort, progress)

    def _run_together(self, job: Job, requests: tuple[Request, ...], progress: _Progress) -> list[Report]:
        launches: list[_Launch] = []
        before = self._cpu_use()
        try:
            for request in requests:
                launches.append(self._launch(job, request))
                launches[-1].start()
            for benchmark in _in_order(requests):
                taking_part = [launch for launch in launches if benchmark in launch.request.benchmarks]
                _measure(job, benchmark, taking_part, progress)
                if any(launch.failed for launch in launches):
                    break
            for launch in launches:
                launch.leave()
        finally:
            for launch in launches:
                launch.end()
        foreign = foreign_share(before, self._cpu_use(), os.cpu_count() or 1)
        return [launch.report(foreign) for launch in launches]

    def _launch(self, job: Job, request: Request) -> _Launch:
        paths = LaunchPaths(folder=job.scratch.absolute() / request.side)
        paths.work.mkdir(parents=True)
        ranks = [self._rank_request(job, request.code, paths, rank) for rank in range(job.world_size)]
        group = Group(self._server(job, request.code), paths, ranks, job.limits.build_s)
        return _Launch(request=request, paths=paths, group=group)

    def _cpu_use(self) -> CpuUse | None:
        fresh = itertools.chain.from_iterable(self._fresh.values())
        return cpu_use(server.pid for server in (*self._servers.values(), *fresh))

    def _server(self, job: Job, code: Code) -> ForkServer:
        """Both sides fork from one server where interpreter and variables are the same."""
        key = (code.python, code.variables, job.torch_modules)
        if key not in self._servers:
            fresh = self._fresh.setdefault(key, [])
            if not fresh:
                self._start_servers(fresh, job, code)
            self._servers[key] = fresh.pop()
        return self._servers[key]

    def _start_servers(self, servers: list[ForkServer], job: Job, code: Code) -> None:
        for _ in range(min(STARTED_AT_ONCE, len(os.sched_getaffinity(0)))):
            self._started += 1
            log = Path(self._logs.name) / f"server{self._started}.log"
            servers.append(ForkServer(code, job.torch_modules, self._harness, log))
        for server in servers:
            server.await_ready()

    def _rank_request(self, job: Job, code: Code, paths: LaunchPaths, rank: int) -> dict[str, Any]:
        return {
            "rank": rank,
            "world_size": job.world_size,
            "device": self._device,
            "path": list(code.path),
            "benchmarks": code.benchmarks,
            "work": str(paths.work),
            "rendezvous": str(paths.rendezvous),
            "log": str(paths.log(rank)),
            "stacks": str(paths.stacks(rank)),
            "heartbeat": str(paths.heartbeat(rank)),
            "timeout_s": 2 * max(job.limits.build_s, job.limits.step_s) + 60,
        }


@dataclass(kw_only=True)
class _Launch:
    """One side's launch while it runs."""

    request: Request
    paths: LaunchPaths
    group: Group
    measured: list[Measured] = field(default_factory=list)
    platform: Platform | None = None
    environment: Environment | None = None
    failed: bool = False
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    start_s: float = field(default_factory=time.monotonic)
    seconds: float | None = None

    def start(self) -> None:
        """Join the process group; a failure counts for the first benchmark."""
        try:
            first = self.group.start()[0]
        except LaunchFailed as failure:
            self.fail(self.request.benchmarks[0], failure.outcome)
        else:
            self.platform = from_plain(Platform, first["platform"])
            self.environment = from_plain(Environment, first["environment"])

    def fail(self, benchmark: Benchmark, outcome: Outcome) -> None:
        """Keep what happened; the launch is over."""
        self.failed = True
        self.measured.append(Measured(benchmark=benchmark, outcome=outcome))
        self.end()

    def ask(self, current: Benchmark, do: str, **arguments: Any) -> None:
        """Have the ranks do something, unless the launch is over."""
        if self.failed:
            return
        try:
            self.group.ask(do, **arguments)
        except LaunchFailed as failure:
            self.fail(current, failure.outcome)

    def collect(self, benchmark: Benchmark, ranks: int) -> None:
        """Read what each rank has written."""
        if self.failed:
            return
        files = [self.paths.series(benchmark.label, rank) for rank in range(ranks)]
        try:
            series = tuple(decode(SCHEMA, RankSeries, file.read_bytes()) for file in files)
        except (OSError, RecordError) as error:
            self.fail(benchmark, Outcome(kind="raised", message=f"its measurements cannot be read: {error}"))
        else:
            self.measured.append(Measured(benchmark=benchmark, outcome=Outcome(kind="ok"), ranks=series))

    def leave(self) -> None:
        """Let the ranks leave their process group."""
        if not self.failed:
            with suppress(LaunchFailed):  # all is measured; a rank that will not leave is killed
                self.group.ask("leave", limit_s=LEAVE_S)

    def end(self) -> None:
        """See that no rank is left; may be called again."""
        self.group.end()
        if self.seconds is None:
            self.seconds = round(time.monotonic() - self.start_s, 3)

    def report(self, foreign_cpu: float | None) -> Report:
        """What was tried, after the end."""
        assert self.seconds is not None  # noqa: S101 - it has ended
        return Report(
            side=self.request.side,
            measured=tuple(self.measured),
            started=self.started,
            seconds=self.seconds,
            platform=self.platform,
            environment=self.environment,
            foreign_cpu=foreign_cpu,
        )


@dataclass
class _Progress:
    watch: Watcher
    total: int
    done: int = 0

    def burst(self, side: str, label: str) -> None:
        self.done += 1
        self.watch(side, label, self.done / self.total)


def _measure(job: Job, benchmark: Benchmark, launches: list[_Launch], progress: _Progress) -> None:
    """Take one benchmark through on every side; a side that fails drops out, the other goes on."""
    label, limits = benchmark.label, job.limits
    by_side = {launch.request.side: launch for launch in launches}
    for launch in launches:
        launch.ask(
            benchmark,
            "build",
            benchmark=plain(benchmark),
            file=dict(job.files)[benchmark.name],
            seed=job.seed,
            limit_s=limits.build_s,
        )
        first, others = 1, job.steps.warmup - 1
        launch.ask(benchmark, "warm_up", steps=first, limit_s=limits.build_s, beating=True)  # may compile
        launch.ask(benchmark, "warm_up", steps=others, limit_s=limits.step_s, beating=True)
    for side in dict(job.turns)[label]:
        if side in by_side:
            by_side[side].ask(benchmark, "burst", steps=job.steps.burst, limit_s=limits.step_s, beating=True)
            progress.burst(side, label)
    for launch in launches:
        if job.counted:
            launch.ask(benchmark, "count", limit_s=limits.build_s)
        to = [str(launch.paths.series(label, rank)) for rank in range(job.world_size)]
        launch.ask(benchmark, "finish", to=to, limit_s=limits.build_s)
        launch.collect(benchmark, job.world_size)


def _in_order(requests: tuple[Request, ...]) -> Iterator[Benchmark]:
    """Each benchmark once, in the common order of the sides."""
    yield from dict.fromkeys(benchmark for request in requests for benchmark in request.benchmarks)
