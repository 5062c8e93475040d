"""Measures what a plan says and publishes each launch to the store as soon as it has ended."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from regress.flows.buying import Undecided, is_spent, short, still_asked, undecided_after
from regress.flows.earlier import noise_before
from regress.flows.machinery import Site
from regress.flows.progress import Progress
from regress.flows.undertaking import Undertaking, open_runs, undertake
from regress.flows.warmth import kept_caches, known_warmups
from regress.flows.workplace import MeasuredSide
from regress.launch.canary import Watched
from regress.launch.launcher import Job, Launcher, Measured, Report, Request
from regress.launch.lock import HostLock
from regress.launch.residency import refuse_if_too_large
from regress.record.canary import Canary
from regress.record.outcome import Outcome
from regress.record.run import Launch, Measurement, Run
from regress.record.series import idle_cores, launch_samples
from regress.spec.benchmark import Benchmark, Catalog
from regress.spec.plan import Block, turns
from regress.spec.suite import LoadedSuite
from regress.store.runs import read_run
from regress.store.runset import RunSet
from regress.store.writer import RunWriter


def carry_out(
    site: Site,
    loaded: LoadedSuite,
    sides: Sequence[MeasuredSide],
    catalogs: Sequence[Catalog],
    source: str,
    host: HostLock,
) -> tuple[Run, ...]:
    """Plan a measurement, or find the interrupted one that goes on here, and measure.

    Args:
        site: Where and how.
        loaded: The suite.
        sides: One or two, ready to be launched; the last one must have every benchmark.
        catalogs: Of each side.
        source: Where the benchmark files came from.
        host: Held by the caller; what the launches need of it is claimed here.

    Returns:
        One complete run for each side.

    Raises:
        RequestError: The request is wrong; nothing was written.
        LaunchError: The machinery failed; what was measured is kept, the runs stay open.
        StoreError: A launch cannot be kept.
    """
    project = site.workplace.project.project
    undertaking = undertake(
        loaded, sides, catalogs, site.means, pin_ranks=project.pin_ranks, canary=project.canary
    )
    undecided = None
    if len(sides) == 2:
        undertaking = replace(undertaking, noise=noise_before(site, undertaking))
        undecided = functools.partial(undecided_after, loaded.suite.policy)
    host.claim(undertaking.device_ids)
    with site.machinery.launcher(undertaking, site.workplace.cache) as launcher:
        plan, runs = open_runs(undertaking, site.workplace, source, site.progress)
        undertaking = replace(undertaking, plan=plan)
        with runs, kept_caches(undertaking, runs, site.workplace.cache) as warm:
            measure(warm, runs, launcher, site.progress, undecided)
    return tuple(read_run(runs.writers[side.role].folder) for side in sides)


def measure(
    undertaking: Undertaking,
    runs: RunSet,
    launcher: Launcher,
    progress: Progress,
    undecided: Undecided | None = None,
) -> None:
    """Carry a plan out, block by block, and close the runs. What the runs hold is not measured again.

    At each look those benchmarks are dropped whose question is decided, or hopeless; at the end
    blocks that were lost are made up for, once.

    Args:
        undertaking: What is measured.
        runs: Where it is kept.
        launcher: What measures.
        progress: Told how far it is.
        undecided: Asked at each look; ``None``: the whole plan is carried out.

    Raises:
        LaunchError: The machinery failed; what was measured is kept, the runs stay open.
        StoreError: A launch cannot be kept.
    """
    plan = undertaking.plan
    asked: Collection[str] = [benchmark.label for benchmark in plan.benchmarks]
    places = {block.index: place for place, block in enumerate(plan.tested, start=1)}
    with scratch_folder() as scratch:
        for block in plan.blocks:
            labels = short(runs, plan, block, asked) if block.spare else asked
            if not labels or is_spent(undertaking, runs, block):
                continue
            if undertaking.means.resident and not block.alone:
                refuse_if_too_large(*(writer.launches for writer in runs.writers.values()))
            measure_block(undertaking, block, runs, launcher, progress, scratch, labels)
            if undecided is not None and places.get(block.index) in plan.looks[:-1]:
                asked = still_asked(asked, undecided(runs, block), places[block.index], progress)
    runs.close()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for what launches write, which goes when they are over."""
    with tempfile.TemporaryDirectory(prefix="regress-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def measure_block(
    undertaking: Undertaking,
    block: Block,
    runs: RunSet,
    launcher: Launcher,
    progress: Progress,
    scratch: Path,
    labels: Collection[str] | None = None,
) -> None:
    """Launch what the runs lack of a block, world size by world size.

    Args:
        undertaking: What is measured.
        block: Of its plan.
        runs: Where it is kept.
        launcher: What measures.
        progress: Told how far it is.
        scratch: Folder for what launches write.
        labels: Of the benchmarks that take part; ``None``: all.

    Raises:
        LaunchError: The machinery failed; what was measured is kept.
        StoreError: A launch cannot be kept.
    """
    ranks = max(benchmark.world_size for benchmark in undertaking.plan.benchmarks)
    watched = Watched(launcher=launcher, world_size=ranks)
    for benchmarks in undertaking.plan.groups(block, labels):
        _measure_group(undertaking, block, benchmarks, runs, watched, progress, scratch)
    launcher.renew()


def _measure_group(
    undertaking: Undertaking,
    block: Block,
    benchmarks: Sequence[Benchmark],
    runs: RunSet,
    watched: Watched,
    progress: Progress,
    scratch: Path,
) -> None:
    """Launch the benchmarks of one world size, and again for the rest after each failure."""
    blocks = sum(not each.spare for each in undertaking.plan.blocks)

    def watch(side: str, label: str, done: float) -> None:
        where = (
            f"block {block.index + 1}/{blocks}{' alone' if block.alone else ' spare' if block.spare else ''}"
        )
        progress.at(min(1.0, (block.index + done) / blocks), f"{where} · {label} · {side}")

    while (job := _next_job(undertaking, block, benchmarks, runs, scratch)) is not None:
        for together, canary in watched.run(job, watch):
            runs.add([_launch(job, report, runs.writers[report.side], canary) for report in together])
        shutil.rmtree(job.scratch, ignore_errors=True)


def _next_job(
    undertaking: Undertaking, block: Block, benchmarks: Sequence[Benchmark], runs: RunSet, scratch: Path
) -> Job | None:
    """What is left of a block and a world size; ``None`` when all was tried on every side.

    Attempts count the launches of each side. Of two sides that have something left, the one
    with fewer launches goes first: an interruption came before its launch.
    """
    sides = {side.role: side for side in undertaking.sides}
    rest, attempts = {}, {}
    for role in block.sides:
        launches = [
            launch
            for launch in runs.writers[role].launches
            if (launch.block, launch.world_size) == (block.index, benchmarks[0].world_size)
        ]
        tried = {measurement.benchmark for launch in launches for measurement in launch.measurements}
        left = [each for each in undertaking.launched(sides[role], benchmarks) if each.label not in tried]
        if left:
            rest[role], attempts[role] = tuple(left), len(launches)
    if not rest:
        return None
    attempt = min(attempts.values())
    due = {role: left for role, left in rest.items() if attempts[role] == attempt}
    return _job(undertaking, block, due, attempt, runs, scratch)


def _job(
    undertaking: Undertaking,
    block: Block,
    rest: Mapping[str, tuple[Benchmark, ...]],
    attempt: int,
    runs: RunSet,
    scratch: Path,
) -> Job:
    plan = undertaking.plan
    sides = {side.role: side for side in undertaking.sides}
    definitions = {definition.name: definition for definition in undertaking.catalogs[-1].definitions}
    requests = tuple(
        Request(
            side=role,
            code=sides[role].code,
            benchmarks=benchmarks,
            caches=undertaking.caches_of(role),
            slowdown=undertaking.slowdown(block, role),
        )
        for role, benchmarks in rest.items()
    )
    wanted = list(dict.fromkeys(benchmark for request in requests for benchmark in request.benchmarks))
    modules = {
        module for benchmark in plan.benchmarks for module in definitions[benchmark.name].torch_modules
    }
    return Job(
        block=block.index,
        attempt=attempt,
        alone=block.alone,
        counted=block.counted,
        world_size=wanted[0].world_size,
        requests=requests,
        files=tuple((benchmark.name, definitions[benchmark.name].file) for benchmark in wanted),
        torch_modules=tuple(sorted(modules)),
        turns=tuple(
            (benchmark.label, tuple(turns(plan.seed, block, benchmark.label, plan.steps.turns)))
            for benchmark in wanted
        ),
        steps=plan.steps,
        warmups=known_warmups(block, (writer.launches for writer in runs.writers.values())),
        limits=plan.limits,
        seed=plan.workload_seed,
        scratch=Path(tempfile.mkdtemp(dir=scratch)),
    )


def _launch(job: Job, report: Report, writer: RunWriter, canary: Canary | None) -> Launch:
    """Join outcome and measurements, and keep the logs of what failed."""
    folder = f"launch-{job.block}-w{job.world_size}-{job.attempt}"
    measurements = tuple(
        _measurement(job, measured, _kept(measured.outcome, writer, folder)) for measured in report.measured
    )
    return Launch(
        run=writer.manifest.run,
        block=job.block,
        attempt=job.attempt,
        world_size=job.world_size,
        alone=job.alone,
        started=report.started,
        seconds=report.seconds,
        platform=report.platform,
        environment=report.environment,
        measurements=measurements,
        foreign_cpu=report.foreign_cpu,
        cores=report.cores,
        canary=canary,
    )


def _measurement(job: Job, measured: Measured, outcome: Outcome) -> Measurement:
    return Measurement(
        benchmark=measured.benchmark.label,
        definition=measured.benchmark.digest,
        outcome=outcome,
        workload=measured.ranks[0].workload if measured.ranks else None,
        samples=launch_samples(measured.ranks) if measured.ranks else (),
        side_modules=measured.ranks[0].side_modules if measured.ranks else None,
        warmup=measured.ranks[0].warmup if measured.ranks else None,
        idle_cores=None if job.alone else idle_cores(measured.ranks),
        planted_s=max((s for rank in measured.ranks if (s := rank.planted_s) is not None), default=None),
    )


def _kept(outcome: Outcome, writer: RunWriter, folder: str) -> Outcome:
    """The outcome with its log moved from the scratch folder into the run."""
    log = Path(outcome.log)
    if not outcome.log or not log.is_file():
        return replace(outcome, log="")
    return replace(outcome, log=writer.keep_log(log, f"{folder}/{log.name}"))
