"""The last calibration of a platform, beside what is compared on it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from regress.flows.workplace import Workplace
from regress.record.calibration import (
    Calibration,
    CalibrationSummary,
    Mode,
    PooledRate,
    Rate,
    Slowdown,
)
from regress.record.comparison import SuiteComparison
from regress.record.run import Run
from regress.stats.calibration import Share, pooled
from regress.store.calibrations import latest


def last_calibration(workplace: Workplace, *runs: Run) -> Calibration | None:
    """The last calibration of what runs were measured on and of how their sides were; ``None`` without one.

    One of their suite wins over later ones of others.

    Raises:
        StoreError: A calibration cannot be read.
    """
    launches = list(itertools.chain.from_iterable(run.launches for run in runs))
    platform = next((launch.platform for launch in launches if launch.platform is not None), None)
    if platform is None:
        return None
    mode: Mode = "alone" if all(launch.alone for launch in launches) else "resident"
    found = latest(workplace.project.store, platform.key, mode, runs[-1].manifest.suite)
    same = found is not None and found.platform.fingerprint == platform.fingerprint
    return found if same else None


def with_calibration(answer: SuiteComparison, calibration: Calibration | None) -> SuiteComparison:
    """The answer with what the calibration says, in brief."""
    return replace(answer, calibration=None if calibration is None else summary(calibration))


def summary(calibration: Calibration) -> CalibrationSummary:
    """A calibration in brief: the worst of its benchmarks, and the rates over all of them."""
    each = calibration.benchmarks
    bounds = [benchmark.bias.bound for benchmark in each if benchmark.bias is not None]
    blocks = [benchmark.recommended for benchmark in each]
    known = [number for number in blocks if number is not None]
    rates = [_pooled(None, [benchmark.false_alarms for benchmark in each])]
    rates += [
        _pooled(slowdown, [one.detection for b in each for one in b.planted if one.slowdown == slowdown])
        for slowdown in calibration.slowdowns
    ]
    return CalibrationSummary(
        calibration=calibration.calibration,
        suite=calibration.suite,
        platform=calibration.platform.key,
        mode=calibration.mode,
        started=calibration.started,
        benchmarks=len(each),
        bias_bound=max(bounds, default=None),
        rates=tuple(rate for rate in rates if rate is not None),
        recommended=max(known) if known and len(known) == len(blocks) else None,
        notes=calibration.notes,
    )


def _pooled(slowdown: Slowdown | None, rates: Sequence[Rate | None]) -> PooledRate | None:
    known = [rate for rate in rates if rate is not None]
    if not known:
        return None
    shares = [
        Share(found=rate.found, resampled=rate.resampled, independent=rate.independent) for rate in known
    ]
    together = pooled(shares)
    low, high = together.bounds
    return PooledRate(
        slowdown=slowdown,
        rate=Rate(
            blocks=min(rate.blocks for rate in known),
            found=together.found,
            resampled=together.resampled,
            independent=together.independent,
            low=low,
            high=high,
        ),
    )
