"""What one code took on earlier days."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from regress.flows.workplace import INSTALLED
from regress.record.calibration import Calibration, Mode
from regress.record.platform import Platform
from regress.record.run import Launch, Manifest, Measurement, Run
from regress.store.calibrations import list_calibrations, read_calibration

Place = tuple[str, str]
"""Label and definition of a benchmark."""

Level = tuple[str, str, float]
"""Code, day, and the step time that it had then."""

Levels = Mapping[Place, Sequence[Level]]
"""All that is known of a platform and a mode."""


def levels_of_code(store: Path, runs: Iterable[Run], platform: Platform, mode: Mode) -> Levels:
    """Step times of earlier days, from stored runs and from earlier calibrations.

    Only what was measured on this platform in the same way; of code that has no name (uncommitted
    changes) nobody knows whether it was the same.

    Args:
        store: Where the calibrations lie.
        runs: Of comparisons.
        platform: Of the host.
        mode: How the sides of a block are measured.

    Raises:
        StoreError: A calibration cannot be read.
    """
    found: dict[Place, list[Level]] = {}
    earlier = (read_calibration(file) for file in list_calibrations(store))
    for place, level in itertools.chain(
        *(_levels_of_run(run, platform, mode) for run in runs),
        *(_levels_of_calibration(each, platform, mode) for each in earlier),
    ):
        found.setdefault(place, []).append(level)
    return found


def code_of(manifest: Manifest) -> str:
    """What names the code that was measured; empty where nothing does."""
    if manifest.commit is not None:
        return manifest.commit
    return f"{INSTALLED} {manifest.regress}" if manifest.benchmarks_from == INSTALLED else ""


def measurements(launches: Sequence[Launch], label: str) -> dict[int, Measurement]:
    """Those of a benchmark that ended well, by block."""
    found: dict[int, Measurement] = {}
    for launch in launches:
        for measurement in launch.measurements:
            if measurement.benchmark == label and measurement.outcome.ok and steps(measurement):
                found.setdefault(launch.block, measurement)
    return found


def value(measurement: Measurement, metric: str) -> float:
    """A time of a measurement that has steps."""
    found = (sample.value for sample in measurement.samples if sample.metric == metric)
    known = next(found, None)
    assert known is not None  # noqa: S101 - where there are steps, they have a median and a mean
    return known


def steps(measurement: Measurement) -> tuple[float, ...]:
    """The times of its steps; none where it has none."""
    return next((sample.steps for sample in measurement.samples if sample.metric == "step_s"), ())


def _levels_of_run(run: Run, platform: Platform, mode: Mode) -> Iterator[tuple[Place, Level]]:
    code = code_of(run.manifest)
    launches = [
        launch
        for launch in run.launches
        if launch.alone == (mode == "alone")
        and launch.platform is not None
        and launch.platform.fingerprint == platform.fingerprint
    ]
    places = {(each.benchmark, each.definition) for launch in launches for each in launch.measurements}
    for label, definition in sorted(places) if code else ():
        measured = measurements(launches, label).values()
        times = [value(each, "step_s") for each in measured if each.definition == definition]
        if times:
            yield (label, definition), (code, run.manifest.started[:10], median(times))


def _levels_of_calibration(
    earlier: Calibration, platform: Platform, mode: Mode
) -> Iterator[tuple[Place, Level]]:
    here = (earlier.platform.fingerprint, earlier.mode) == (platform.fingerprint, mode)
    for each in earlier.benchmarks if here and earlier.code else ():
        if each.step_s is not None:
            yield (each.benchmark, each.definition), (earlier.code, earlier.started[:10], each.step_s)
