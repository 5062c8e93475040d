"""What was measured before, as far as it tells of the noise of what is measured next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from regress.errors import StoreError
from regress.flows.machinery import Site
from regress.flows.undertaking import Undertaking
from regress.record.calibration import Calibration
from regress.record.noise import Noise
from regress.record.run import Run
from regress.spec.plan import read_plan
from regress.store.calibrations import latest
from regress.store.runs import list_runs, read_run
from regress.verdict.evidence import elapsed_s, pauses_s
from regress.verdict.noise import Like, host_of, known_noise

NEWEST = 60
"""Runs that are looked at: noise of long ago is not today's."""


def earlier_runs(store: Path, suite: str, say: Callable[[str], None]) -> list[Run]:
    """The newest complete runs of a suite, oldest first.

    One that cannot be read is named, and lends nothing.

    Args:
        store: Where they lie.
        suite: Name.
        say: Told of runs that cannot be read.
    """
    found = []
    for folder in list_runs(store, suite)[-NEWEST:]:
        if not (folder / "done.json").exists():
            continue
        try:
            run = read_run(folder)
        except StoreError as error:
            say(f"not used to know the noise: {error}")
            continue
        if run.manifest.purpose == "comparison":
            found.append(run)
    return found


def noise_before(site: Site, undertaking: Undertaking) -> tuple[Noise, ...]:
    """What is known of the noise of a comparison before it is measured.

    Raises:
        StoreError: The store, or a calibration in it, cannot be read.
    """
    plan, store = undertaking.plan, site.workplace.project.store
    host = undertaking.catalogs[-1].platform
    runs = earlier_runs(store, plan.suite, site.progress.say)
    calibration = latest(store, host.key, "alone" if plan.tested[0].alone else "resident", plan.suite)
    if calibration is not None and calibration.platform.fingerprint != host.fingerprint:
        calibration = None
    like = Like(
        definitions={benchmark.label: benchmark.digest for benchmark in plan.benchmarks},
        platform=host.key,
        alone=plan.tested[0].alone,
    )
    return _with_bias(
        [each for each in known_noise(runs, like) if each.design == "paired"], like, calibration
    )


def noise_of_stored(base: Run, head: Run, runs: Sequence[Run]) -> tuple[Noise, ...]:
    """What is known of the noise of two runs that were measured at two times.

    Args:
        base: One of them.
        head: The other.
        runs: See `earlier_runs`; the newer of the two and what came after it are not taken.
    """
    newer = max(base.manifest, head.manifest, key=lambda manifest: manifest.started)
    platform = host_of(head)
    if platform is None:
        return ()
    like = Like(
        definitions={
            measurement.benchmark: measurement.definition
            for launch in head.launches
            for measurement in launch.measurements
        },
        platform=platform,
        alone=not all(any(not launch.alone for launch in run.launches) for run in (base, head)),
    )
    before = [
        run
        for run in runs
        if run.manifest.started <= newer.started and run.manifest.comparison != newer.comparison
    ]
    return tuple(each for each in known_noise(before, like) if each.design == "unpaired")


def _with_bias(noise: Sequence[Noise], like: Like, calibration: Calibration | None) -> tuple[Noise, ...]:
    """Add how far identical sides may differ, by the last calibration; it is of step times."""
    if calibration is None:
        return tuple(noise)
    known = {(each.benchmark, each.metric): each for each in noise}
    for label in like.definitions:
        shift = calibration.shift(label)
        if shift:
            bare = Noise(benchmark=label, metric="step_s", design="paired")
            known[label, "step_s"] = replace(known.get((label, "step_s"), bare), bias=shift)
    return tuple(known.values())


def block_s(runs: Sequence[Run]) -> float | None:
    """Seconds that a block of the last comparison took, both sides together; ``None`` without one.

    The blocks up to the first look count: in later ones some benchmarks took no part.

    Args:
        runs: See `earlier_runs`.
    """
    by_comparison: dict[str, list[Run]] = {}
    for run in runs:
        by_comparison.setdefault(run.manifest.comparison, []).append(run)
    for together in reversed(by_comparison.values()):
        if len(together) == 2:
            plan = read_plan(together[0].manifest.plan)
            first = {block.index for block in plan.tested[: plan.looks[0]]} if plan.looks else set()
            launches = [each for run in together for each in run.launches if each.block in first]
            if launches:
                blocks = len({launch.block for launch in launches})
                return (elapsed_s(launches) + pauses_s(launches)) / blocks
    return None
