"""Takes a job through its benchmarks, burst by burst, whatever starts the ranks.

Where both sides are resident, one runs its burst while the other sleeps in `recv`. In a job
that is `alone`, one side after the other has the machine for itself.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regress.errors import RecordError
from regress.launch.contention import CpuUse, foreign_share
from regress.launch.group import Group, LaunchFailed
from regress.launch.launcher import Code, Job, Measured, Report, Request, Watcher
from regress.launch.paths import LaunchPaths
from regress.launch.topology import Core, listed
from regress.launch.warmup import search
from regress.record.codec import decode, from_plain, plain
from regress.record.environment import Environment
from regress.record.outcome import Outcome
from regress.record.platform import Platform
from regress.record.series import SCHEMA, RankSeries
from regress.spec.benchmark import Benchmark

LEAVE_S = 5.0
"""Longest time that ranks may take to leave once all is measured."""

GroupOf = Callable[[Job, Request, LaunchPaths], Group]
"""Makes the ranks of one side's launch ready to start."""


def take_turns(
    job: Job, watch: Watcher, group_of: GroupOf, cpu_use: Callable[[], CpuUse | None]
) -> Iterator[Report]:
    """Measure each side, together or one after the other; see `Launcher.run`.

    Args:
        job: What to measure.
        watch: Told about progress.
        group_of: Asked when a launch begins.
        cpu_use: Reads what this host has spent, and what of it is ours.
    """
    progress = Progress(watch, sum(len(order) for _, order in job.turns))
    cohorts = [(request,) for request in job.requests] if job.alone else [job.requests]
    for cohort in cohorts:
        before = cpu_use()
        launches = _run_together(job, cohort, group_of, progress)
        foreign = foreign_share(before, cpu_use(), os.cpu_count() or 1)
        yield from [launch.report(foreign) for launch in launches]


def rank_requests(
    job: Job, request: Request, paths: LaunchPaths, *, device: str, dealt: tuple[tuple[Core, ...], ...]
) -> list[dict[str, Any]]:
    """What each rank of a launch needs to know, as plain data.

    Args:
        job: The launch's.
        request: The launch's.
        paths: The launch's.
        device: ``cpu`` or ``cuda``.
        dealt: Cores of each rank; empty when none is pinned.
    """
    timeout_s = 2 * max(job.limits.build_s, job.limits.step_s) + 60
    return requests_of(
        request.code,
        paths,
        job.world_size,
        device=device,
        dealt=dealt,
        timeout_s=timeout_s,
        caches=request.caches,
    )


def requests_of(
    code: Code,
    paths: LaunchPaths,
    world_size: int,
    *,
    device: str,
    dealt: tuple[tuple[Core, ...], ...],
    timeout_s: float,
    caches: Path | None = None,
) -> list[dict[str, Any]]:
    """What each rank of a process group needs to know, as plain data; see `rank_requests`."""
    return [
        {
            "rank": rank,
            "world_size": world_size,
            "device": device,
            "path": list(code.path),
            "benchmarks": code.benchmarks,
            "work": str(paths.work),
            "rendezvous": str(paths.rendezvous),
            "caches": str((caches or paths.caches).absolute()),
            "cores": [core.cpus for core in dealt[rank]] if dealt else [],
            "log": str(paths.log(rank)),
            "stacks": str(paths.stacks(rank)),
            "collectives": str(paths.collectives(rank)),
            "heartbeat": str(paths.heartbeat(rank)),
            "timeout_s": timeout_s,
        }
        for rank in range(world_size)
    ]


def _run_together(
    job: Job, requests: tuple[Request, ...], group_of: GroupOf, progress: Progress
) -> list[Launch]:
    launches: list[Launch] = []
    try:
        for request in requests:
            paths = LaunchPaths(folder=job.scratch.absolute() / request.side)
            paths.work.mkdir(parents=True)
            launches.append(Launch(request=request, paths=paths, group=group_of(job, request, paths)))
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
    return launches


@dataclass(kw_only=True)
class Launch:
    """One side's launch while it runs."""

    request: Request
    paths: LaunchPaths
    group: Group
    measured: list[Measured] = field(default_factory=list)
    platform: Platform | None = None
    environment: Environment | None = None
    cores: tuple[str, ...] = ()
    failed: bool = False
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    start_s: float = field(default_factory=time.monotonic)
    seconds: float | None = None

    def start(self) -> None:
        """Join the process group; a failure counts for the first benchmark."""
        try:
            joined = self.group.start()
        except LaunchFailed as failure:
            self.fail(self.request.benchmarks[0], failure.outcome)
        else:
            self.platform = from_plain(Platform, joined[0]["platform"])
            self.environment = from_plain(Environment, joined[0]["environment"])
            if all(rank["cores"] for rank in joined):
                self.cores = tuple(listed(rank["cores"]) for rank in joined)

    def fail(self, benchmark: Benchmark, outcome: Outcome) -> None:
        """Keep what happened; the launch is over."""
        self.failed = True
        self.measured.append(Measured(benchmark=benchmark, outcome=outcome))
        self.end()

    def ask(self, current: Benchmark, do: str, **arguments: Any) -> list[dict[str, Any]]:
        """Have the ranks do something, and return what each answers; nothing when the launch is over."""
        if self.failed:
            return []
        try:
            return self.group.ask(do, **arguments)
        except LaunchFailed as failure:
            self.fail(current, failure.outcome)
            return []

    def warm_up(self, benchmark: Benchmark, steps: int, *, losses: bool, limit_s: float) -> tuple[float, ...]:
        """Run steps that are not timed; what each took on the rank where it took longest.

        Losses are kept of as many steps in every launch, however long its warm-up is.
        """
        ranks = self.ask(benchmark, "warm_up", steps=steps, losses=losses, limit_s=limit_s, beating=True)
        return tuple(max(step) for step in zip(*(rank["steps_s"] for rank in ranks), strict=True))

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
            cores=self.cores,
        )


@dataclass
class Progress:
    """How much of a job is done."""

    watch: Watcher
    total: int
    done: int = 0

    def burst(self, side: str, label: str) -> None:
        """One more burst has ended."""
        self.done += 1
        self.watch(side, label, self.done / self.total)


def _measure(job: Job, benchmark: Benchmark, launches: list[Launch], progress: Progress) -> None:
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
        launch.warm_up(benchmark, 1, losses=True, limit_s=limits.build_s)  # may compile
        launch.warm_up(benchmark, job.steps.warmup - 1, losses=True, limit_s=limits.step_s)
    _settle(job, benchmark, launches)
    for launch in launches:
        if (slowdown := launch.request.slowdown) is not None:
            launch.ask(benchmark, "plant", slowdown=plain(slowdown), limit_s=limits.build_s)
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


def _settle(job: Job, benchmark: Benchmark, launches: list[Launch]) -> None:
    """Go on warming up, alike on all sides: by as many steps as the side that settles last."""

    def more_on(launch: Launch) -> Callable[[int], tuple[float, ...]]:
        return functools.partial(launch.warm_up, benchmark, losses=False, limit_s=job.limits.step_s)

    least, most = job.steps.warmup, job.steps.warmup_most or job.steps.warmup
    known = dict(job.warmups).get(benchmark.label)
    done = [least if known else search(more_on(launch), least=least, most=most) for launch in launches]
    wanted = known or max(done)
    for launch, steps in zip(launches, done, strict=True):
        if steps < wanted:
            more_on(launch)(wanted - steps)


def _in_order(requests: tuple[Request, ...]) -> Iterator[Benchmark]:
    """Each benchmark once, in the common order of the sides."""
    yield from dict.fromkeys(benchmark for request in requests for benchmark in request.benchmarks)
