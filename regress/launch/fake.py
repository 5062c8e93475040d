"""Launches that follow a script: whole-program tests without clock, processes or torch.

A script says what each benchmark of each launch comes to. It is asked in the order in which a
real launcher measures, and what it raises (`KeyboardInterrupt`, `LaunchError`) passes through.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from regress.launch.launcher import Job, Look, Measured, Report, Request, Watcher
from regress.launch.paths import LaunchPaths
from regress.record.calibration import Slowdown
from regress.record.canary import Reading
from regress.record.environment import Environment
from regress.record.outcome import Outcome
from regress.record.platform import Platform
from regress.record.series import Burst, RankSeries, Workload
from regress.spec.benchmark import Benchmark, scalar_text

Script = Callable[[Job, str, Benchmark], tuple[RankSeries, ...] | Outcome]
"""Asked with job, side and benchmark: one series per rank, or how it failed."""

STARTED = "2026-01-01T00:00:00+00:00"
"""When every launch starts."""

PLATFORM = Platform(host="fake", cpu="fake", cores=8, memory_bytes=16 << 30)
"""What every launch runs on."""

LOOK = Look(environment="fake", reading=Reading(matmul_s=0.001, all_reduce_s=0.0005, copy_s=0.002))
"""What the canary says."""

ENVIRONMENT = Environment(python="3.11.0", torch="2.13.0+cpu", backend="gloo", threads=1)
"""What every launch runs with."""


class FakeLauncher:
    """Obeys `Launcher`, and remembers what it was asked."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.jobs: list[Job] = []
        """All jobs, in the order in which they came."""
        self.canaries: list[Look | None] = []
        """What the canary says next."""
        self.looks: list[tuple[int, int]] = []
        """How many jobs there had been at each look at the canary, and of how many ranks it was."""
        self.renewals = 0
        """How often it was told to renew."""
        self.open = False
        """Whether it was entered and not left yet."""

    def __enter__(self) -> FakeLauncher:
        self.open = True
        return self

    def __exit__(self, *exc: object) -> None:
        self.open = False

    def renew(self) -> None:
        """See `Launcher.renew`."""
        self.renewals += 1

    def canary(self, world_size: int) -> Look | None:
        """See `Launcher.canary`; one that always says the same, unless it was given others."""
        self.looks.append((len(self.jobs), world_size))
        return self.canaries.pop(0) if self.canaries else LOOK

    def run(self, job: Job, watch: Watcher) -> tuple[Report, ...]:
        """See `Launcher.run`."""
        self.jobs.append(job)
        cohorts = [(request,) for request in job.requests] if job.alone else [job.requests]
        share = _Share(watch, sum(len(request.benchmarks) for request in job.requests))
        return tuple(report for cohort in cohorts for report in self._run_together(job, cohort, share))

    def _run_together(self, job: Job, requests: tuple[Request, ...], share: _Share) -> Iterator[Report]:
        launches = [_Launch(job=job, request=request) for request in requests]
        for benchmark in dict.fromkeys(each for request in requests for each in request.benchmarks):
            for launch in launches:
                if benchmark in launch.request.benchmarks:
                    answer = self._script(job, launch.request.side, benchmark)
                    launch.keep(benchmark, _slowed(answer, launch.request.slowdown))
                    share.told(launch.request.side, benchmark.label)
            if any(launch.failed for launch in launches):
                break
        for launch in launches:
            yield launch.report()


@dataclass(frozen=True, kw_only=True)
class Pace:
    """What a benchmark costs on one side."""

    step_s: float = 0.01
    """Of every step, before noise."""

    peak_allocated_bytes: int | None = 1 << 20
    """Of every rank, where it is counted."""

    collective_count: int | None = 3
    """Of every rank, where it is counted."""

    loss: float = 2.0
    """Of every warm-up step."""

    settled: int = 0
    """Steps after which a search finds it warm."""


def paced(paces: Mapping[str, Pace], *, noise: float = 0.003, seed: int = 0) -> Script:
    """Script steady sides.

    Args:
        paces: Of each side.
        noise: Standard deviation of a launch's mean step time, and of each of its steps, as a
            fraction. It is drawn from ``seed``, block, side and benchmark alone.
        seed: Of the noise.
    """

    def script(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...]:
        pace = paces[side]
        draw = random.Random(f"{seed}/{job.block}/{side}/{benchmark.label}")
        mean_s = pace.step_s * math.exp(draw.gauss(0.0, noise))

        def burst() -> Burst:
            steps_s = tuple(mean_s * math.exp(draw.gauss(0.0, noise)) for _ in range(job.steps.burst))
            return Burst(steps_s=steps_s, phases_s=(), cpu_s=math.fsum(steps_s))

        return tuple(
            RankSeries(
                rank=rank,
                workload=_workload(job, benchmark),
                bursts=tuple(burst() for _ in range(job.steps.turns)),
                warmup=_warmup(job, benchmark, side, paces),
                losses=(pace.loss,) * job.steps.warmup,
                peak_allocated_bytes=pace.peak_allocated_bytes if job.counted else None,
                collective_count=pace.collective_count if job.counted else None,
            )
            for rank in range(job.world_size)
        )

    return script


def failing(
    script: Script,
    outcome: Outcome,
    *,
    sides: Collection[str] = ("base", "head"),
    name: str | None = None,
    blocks: Collection[int] | None = None,
) -> Script:
    """Script failures, and otherwise what another script says.

    Args:
        script: The other one.
        outcome: How it fails.
        sides: Where.
        name: Which benchmark; ``None``: every one.
        blocks: In which blocks; ``None``: in all.
    """

    def failed(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        here = side in sides and name in (None, benchmark.name) and (blocks is None or job.block in blocks)
        return outcome if here else script(job, side, benchmark)

    return failed


@dataclass(kw_only=True)
class _Launch:
    """One side's launch while the script is asked about it."""

    job: Job
    request: Request
    measured: list[Measured] = field(default_factory=list)
    failed: bool = False
    seconds: float = 0.0

    def __post_init__(self) -> None:
        folder = self.job.scratch / self.request.side
        folder.mkdir(parents=True)  # raises where a job was given a scratch folder that is in use
        self.paths = LaunchPaths(folder=folder)

    def keep(self, benchmark: Benchmark, answer: tuple[RankSeries, ...] | Outcome) -> None:
        if isinstance(answer, Outcome):
            self.failed = True
            self.measured.append(Measured(benchmark=benchmark, outcome=self._logged(answer)))
            return
        self.seconds += math.fsum(step for burst in answer[0].bursts for step in burst.steps_s)
        self.measured.append(Measured(benchmark=benchmark, outcome=Outcome(kind="ok"), ranks=answer))

    def report(self) -> Report:
        return Report(
            side=self.request.side,
            measured=tuple(self.measured),
            started=STARTED,
            seconds=self.seconds,
            platform=PLATFORM,
            environment=ENVIRONMENT,
            cores=tuple(map(str, range(self.job.world_size))),
        )

    def _logged(self, outcome: Outcome) -> Outcome:
        """The outcome with a log of its culprit, which holds its message."""
        if outcome.rank is None:
            return outcome
        log = self.paths.log(outcome.rank)
        log.write_text(f"{outcome.message}\n")
        return dataclasses.replace(outcome, log=str(log))


@dataclass
class _Share:
    watch: Watcher
    total: int
    done: int = 0

    def told(self, side: str, label: str) -> None:
        self.done += 1
        self.watch(side, label, self.done / self.total)


def _slowed(
    answer: tuple[RankSeries, ...] | Outcome, slowdown: Slowdown | None
) -> tuple[RankSeries, ...] | Outcome:
    """Make steps longer by what was to be planted: each, or for a stall one of ten, ten times as much."""
    if slowdown is None or isinstance(answer, Outcome):
        return answer
    stalls = slowdown.kind == "stall"

    def longer(rank: RankSeries) -> RankSeries:
        typical_s = median(step for burst in rank.bursts for step in burst.steps_s)
        amount_s = slowdown.fraction * typical_s * (10 if stalls else 1)
        number = itertools.count()
        bursts, planted_s = [], []
        for burst in rank.bursts:
            added_s = [amount_s if not stalls or next(number) % 10 == 5 else 0.0 for _ in burst.steps_s]
            planted_s += added_s
            steps_s = tuple(step + added for step, added in zip(burst.steps_s, added_s, strict=True))
            bursts.append(dataclasses.replace(burst, steps_s=steps_s))
        mean_s = math.fsum(planted_s) / len(planted_s)
        return dataclasses.replace(rank, bursts=tuple(bursts), planted_s=mean_s)

    return tuple(longer(rank) for rank in answer)


def _warmup(job: Job, benchmark: Benchmark, side: str, paces: Mapping[str, Pace]) -> int:
    """Steps of the warm-up: as many as are known, else as the side that settles last needs."""
    known = dict(job.warmups).get(benchmark.label)
    together = [side] if job.alone else [request.side for request in job.requests]
    wanted = known or max(paces[each].settled for each in together)
    return min(max(wanted, job.steps.warmup), job.steps.warmup_most or job.steps.warmup)


def _workload(job: Job, benchmark: Benchmark) -> Workload:
    return Workload(
        params=tuple((name, scalar_text(value)) for name, value in benchmark.params),
        world_size=job.world_size,
        seed=job.seed,
        tokens=512,
    )
