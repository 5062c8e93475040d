"""Measures what a plan says and publishes each launch to the store as soon as it has ended."""

from __future__ import annotations

import dataclasses
import json
import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import regress
from regress.errors import RequestError
from regress.flows.progress import Progress
from regress.flows.workplace import MeasuredSide
from regress.launch.launcher import Job, Launcher, Measured, Report, Request
from regress.record.codec import plain
from regress.record.outcome import Outcome
from regress.record.run import Launch, Manifest, Measurement
from regress.record.series import launch_samples
from regress.spec.benchmark import Benchmark, Catalog
from regress.spec.plan import Block, Plan, make_plan, turns
from regress.spec.suite import LoadedSuite
from regress.store.runs import RunWriter, create_run


@dataclass(frozen=True, kw_only=True)
class Undertaking:
    """A plan and the sides that it is carried out on."""

    plan: Plan
    """What is launched, in which order."""

    sides: tuple[MeasuredSide, ...]
    """By role, as the plan names them."""

    catalogs: tuple[Catalog, ...]
    """Of each side."""

    def launched(self, side: MeasuredSide, benchmarks: Sequence[Benchmark]) -> tuple[Benchmark, ...]:
        """Those benchmarks that a side can be asked for: base may lack what a new one needs."""
        catalog = self.catalogs[self.sides.index(side)]
        names = {definition.name for definition in catalog.definitions}
        return tuple(benchmark for benchmark in benchmarks if benchmark.name in names)


def undertake(
    loaded: LoadedSuite, sides: tuple[MeasuredSide, ...], catalogs: tuple[Catalog, ...], seed: int
) -> Undertaking:
    """Plan a measurement. The last side is the one that must have every benchmark.

    Raises:
        RequestError: Its benchmark files cannot be imported, or the suite asks for what is not there.
    """
    head = catalogs[-1]
    devices = [catalog.device for catalog in catalogs]
    if len(set(devices)) > 1:
        raise RequestError(
            f"{sides[0].name} runs on {devices[0]} and {sides[-1].name} on {devices[-1]}; "
            "install the same kind of torch in both environments"
        )
    if head.failures:
        failure = head.failures[0]
        more = f" (first of {len(head.failures)} files)" if len(head.failures) > 1 else ""
        place = f"{sides[-1].code.benchmarks}/{failure.file}:{failure.line}"
        raise RequestError(f"{place}: cannot be imported: {failure.message[:300]}{more}")
    plan = make_plan(loaded, head, sides=[side.role for side in sides], seed=seed)
    return Undertaking(plan=plan, sides=sides, catalogs=catalogs)


def open_runs(undertaking: Undertaking, store: Path, benchmarks_from: str) -> dict[str, RunWriter]:
    """Begin one run for each side; their manifests share the identity of the comparison."""
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    comparison = secrets.token_hex(4)
    writers = {}
    for side in undertaking.sides:
        manifest = Manifest(
            run=secrets.token_hex(4),
            comparison=comparison,
            suite=undertaking.plan.suite,
            side=side.name,
            role=side.role,
            commit=side.revision.commit if side.revision else None,
            subject=side.revision.subject if side.revision else "",
            benchmarks_from=benchmarks_from,
            started=started,
            plan=json.dumps(plain(undertaking.plan)),
            regress=regress.__version__,
        )
        writers[side.role] = create_run(store, manifest)
    return writers


def measure(
    undertaking: Undertaking, writers: Mapping[str, RunWriter], launcher: Launcher, progress: Progress
) -> None:
    """Carry a plan out, block by block, and close the runs.

    Raises:
        LaunchError: The machinery failed; what was measured is kept, the runs stay open.
        StoreError: A launch cannot be kept.
    """
    plan = undertaking.plan
    with tempfile.TemporaryDirectory(prefix="regress-", ignore_cleanup_errors=True) as folder:
        for block in plan.blocks:
            for benchmarks in plan.groups(block):
                _measure_group(undertaking, block, benchmarks, writers, launcher, progress, Path(folder))
            launcher.renew()
        for writer in writers.values():
            writer.close()


def _measure_group(
    undertaking: Undertaking,
    block: Block,
    benchmarks: Sequence[Benchmark],
    writers: Mapping[str, RunWriter],
    launcher: Launcher,
    progress: Progress,
    scratch: Path,
) -> None:
    """Launch the benchmarks of one world size, and again for the rest after each failure."""
    blocks = len(undertaking.plan.blocks)

    def watch(side: str, label: str, done: float) -> None:
        where = f"block {block.index + 1}/{blocks}{' alone' if block.alone else ''}"
        progress.at((block.index + done) / blocks, f"{where} · {label} · {side}")

    sides = {side.role: side for side in undertaking.sides}
    rest = {role: undertaking.launched(sides[role], benchmarks) for role in block.sides}
    attempt = 0
    while any(rest.values()):
        job = _job(undertaking, block, rest, attempt, scratch)
        for report in launcher.run(job, watch):
            launch = _launch(job, report, writers[report.side])
            writers[report.side].add(launch)
            tried = {measured.benchmark for measured in report.measured}
            rest[report.side] = tuple(benchmark for benchmark in rest[report.side] if benchmark not in tried)
        shutil.rmtree(job.scratch, ignore_errors=True)
        attempt += 1


def _job(
    undertaking: Undertaking,
    block: Block,
    rest: Mapping[str, tuple[Benchmark, ...]],
    attempt: int,
    scratch: Path,
) -> Job:
    plan = undertaking.plan
    sides = {side.role: side for side in undertaking.sides}
    definitions = {definition.name: definition for definition in undertaking.catalogs[-1].definitions}
    requests = tuple(
        Request(side=role, code=sides[role].code, benchmarks=rest[role]) for role in block.sides if rest[role]
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
        limits=plan.limits,
        seed=plan.workload_seed,
        scratch=Path(tempfile.mkdtemp(dir=scratch)),
    )


def _launch(job: Job, report: Report, writer: RunWriter) -> Launch:
    """Join outcome and measurements, and keep the logs of what failed."""
    folder = f"launch-{job.block}-w{job.world_size}-{job.attempt}"
    measurements = tuple(
        _measurement(measured, _kept(measured.outcome, writer, folder)) for measured in report.measured
    )
    return Launch(
        run=writer.run,
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
    )


def _measurement(measured: Measured, outcome: Outcome) -> Measurement:
    return Measurement(
        benchmark=measured.benchmark.label,
        definition=measured.benchmark.digest,
        outcome=outcome,
        workload=measured.ranks[0].workload if measured.ranks else None,
        samples=launch_samples(measured.ranks) if measured.ranks else (),
        side_modules=measured.ranks[0].side_modules if measured.ranks else None,
    )


def _kept(outcome: Outcome, writer: RunWriter, folder: str) -> Outcome:
    """The outcome with its log moved from the scratch folder into the run."""
    log = Path(outcome.log)
    if not outcome.log or not log.is_file():
        return dataclasses.replace(outcome, log="")
    return dataclasses.replace(outcome, log=writer.keep_log(log, f"{folder}/{log.name}"))
