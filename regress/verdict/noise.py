"""What earlier runs tell of the noise of today's benchmarks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from regress.record.metric import METRICS
from regress.record.noise import Noise
from regress.record.run import Launch, Run
from regress.stats.interval import Between
from regress.stats.prior import Prior, borrow, prior_of

SESSIONS = 4
"""Fewest measurements of a benchmark, at different times, from which their variation is estimated."""

DEVIATION = 1.4826
"""Standard deviation of normal values, over their median absolute deviation."""

Logs = dict[tuple[str, str], dict[int, float]]
"""Logs of the values of one run by benchmark and metric, and by block."""


@dataclass(frozen=True, kw_only=True)
class Like:
    """Which launches are of the same kind as today's."""

    definitions: Mapping[str, str]
    """Digest of each benchmark by its label."""

    platform: str
    """Key of the host that measures, with all its devices; see `host_of`."""

    alone: bool
    """Whether each side has the machine for itself."""


def known_noise(runs: Sequence[Run], like: Like) -> tuple[Noise, ...]:
    """Read the noise of each timed gate from earlier runs.

    The noise of a block's difference comes from earlier comparisons, that of a launch from
    single runs as well. Levels may differ from run to run (that is what code changes do); how
    much runs of one code differ is taken from the steps between successive ones, robustly, so
    that the few that were real changes count little.

    Args:
        runs: Complete ones, oldest first; of calibrations none.
        like: What is to be measured.
    """
    sessions: dict[str, list[Logs]] = {}
    for run in runs:
        sessions.setdefault(run.manifest.comparison or run.manifest.run, []).append(_logs(run, like))
    found = [
        *_paired_noise([logs for logs in sessions.values() if len(logs) == 2]),
        *_unpaired_noise(list(sessions.values())),
    ]
    order = {label: place for place, label in enumerate(like.definitions)}
    return tuple(sorted(found, key=lambda noise: (order[noise.benchmark], noise.metric, noise.design)))


def prior_from(noise: Noise | None) -> Prior | None:
    """The noise of a launch or a difference as the tests take it."""
    if noise is None or noise.sd is None:
        return None
    return Prior(
        sd=noise.sd,
        df=noise.df,
        launches=noise.launches,
        residuals=noise.residuals,
        plain=noise.plain,
    )


def between_from(noise: Noise | None) -> Between | None:
    """How much more runs differ than their launches do, as the tests take it."""
    if noise is None or noise.between_sd is None:
        return None
    return Between(sd=noise.between_sd, df=noise.between_df)


def host_of(run: Run) -> str | None:
    """Key of the host that measured a run; ``None`` where nothing tells.

    Launches that use a part of its devices name these alone, so they are not asked first.
    """
    platforms = (run.manifest.platform, *(launch.platform for launch in run.launches))
    return next((platform.key for platform in platforms if platform is not None), None)


def _logs(run: Run, like: Like) -> Logs:
    found: Logs = {}
    if host_of(run) != like.platform:
        return found
    for launch in run.launches:
        if launch.alone != like.alone:
            continue
        for key, value in _values(launch, like):
            found.setdefault(key, {}).setdefault(launch.block, math.log(value))
    return found


def _values(launch: Launch, like: Like) -> Iterable[tuple[tuple[str, str], float]]:
    for measurement in launch.measurements:
        if like.definitions.get(measurement.benchmark) != measurement.definition:
            continue
        for sample in measurement.samples:
            metric = METRICS.get(sample.metric)
            if metric is None or metric.role != "gate" or metric.kind != "timed":
                continue
            if sample.value is not None and math.isfinite(sample.value) and sample.value > 0:
                yield (measurement.benchmark, sample.metric), sample.value


def _paired_noise(comparisons: Sequence[Sequence[Logs]]) -> Iterable[Noise]:
    groups: dict[tuple[str, str], list[list[float]]] = {}
    for base, head in comparisons:
        for key in base.keys() & head.keys():
            blocks = sorted(base[key].keys() & head[key].keys())
            groups.setdefault(key, []).append([head[key][block] - base[key][block] for block in blocks])
    own = {key: prior_of(values, launches_each=2) for key, values in groups.items()}
    yield from _with_others(own, "paired", {})


def _unpaired_noise(sessions: Sequence[Sequence[Logs]]) -> Iterable[Noise]:
    groups: dict[tuple[str, str], list[list[float]]] = {}
    means: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for session in sessions:
        within: dict[tuple[str, str], list[list[float]]] = {}
        for logs in session:
            for key, values in logs.items():
                within.setdefault(key, []).append(list(values.values()))
        for key, each in within.items():
            groups.setdefault(key, []).extend(each)
            means.setdefault(key, []).append((fmean(map(fmean, each)), 1 / sum(map(len, each))))
    own = {key: prior_of(values) for key, values in groups.items()}
    between = {key: between_runs(values, own[key]) for key, values in means.items()}
    yield from _with_others(own, "unpaired", between)


def between_runs(sessions: Sequence[tuple[float, float]], own: Prior | None) -> Between | None:
    """How much more successive measurements differ than their launches make them.

    Args:
        sessions: Mean of logs and inverse number of launches of each measurement, by time.
        own: The noise of a launch.
    """
    if len(sessions) < SESSIONS or own is None:
        return None
    steps = [abs(after[0] - before[0]) for before, after in itertools.pairwise(sessions)]
    expected = own.sd**2 * 2 * median(inverse for _, inverse in sessions)
    few = len(steps) / (len(steps) - 0.8)  # Croux and Rousseeuw (1992): a median of few is too small
    more = (DEVIATION * few * median(steps)) ** 2 - expected
    # successive steps share a measurement, and a median tells less than a mean square
    return Between(sd=math.sqrt(max(more, 0.0)), df=max(1.0, len(steps) / 3))


def _with_others(
    own: Mapping[tuple[str, str], Prior | None],
    design: str,
    between: Mapping[tuple[str, str], Between | None],
) -> Iterable[Noise]:
    """What each benchmark knows, with what the others lend for the same metric."""
    for key, prior in own.items():
        others = [
            each for other, each in own.items() if other[1] == key[1] and other != key and each is not None
        ]
        lent = borrow(prior, others)
        days = between.get(key)
        if lent is None and days is None:
            continue
        yield Noise(
            benchmark=key[0],
            metric=key[1],
            design="paired" if design == "paired" else "unpaired",
            sd=lent.sd if lent else None,
            df=lent.df if lent else 0.0,
            launches=lent.launches if lent else 0,
            residuals=lent.residuals if lent else (),
            plain=lent.plain if lent else False,
            between_sd=days.sd if days else None,
            between_df=days.df if days else 0.0,
        )
