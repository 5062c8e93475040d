"""What each rank saw, and the samples that a launch makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from regress.record.sample import Sample

SCHEMA = "regress.rank-series/1"
"""Of the file that holds one `RankSeries`."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What was computed; two sides that differ here are not comparable."""

    params: tuple[tuple[str, str], ...]
    """Of the benchmark, as text, by name."""

    world_size: int
    """Ranks of the launch."""

    seed: int
    """Of all random numbers of the workload."""

    tokens: int | None = None
    """Of one step, all ranks together; ``None`` where there are none."""

    samples: int | None = None
    """Of one step, all ranks together."""

    model_flops: int | None = None
    """Of one step of the unsharded model; see `TrainingStep`."""

    parameters: int | None = None
    """Numbers that are trained, as rank 0 holds or names them; ``None`` where no module is known."""

    parameter_types: tuple[str, ...] | None = None
    """Their types by name: ``float32``; ``None`` as above."""

    precision: tuple[str, ...] | None = None
    """Types in which a step multiplies; ``None`` where no step of the launch was instrumented."""

    shapes: tuple[tuple[str, str], ...] | None = None
    """Of what rank 0's step is fed with, as text, by name; ``None`` where the benchmark does not tell."""

    def fields(self) -> dict[str, str]:
        """What a difference is listed by."""
        facts = {
            "world_size": str(self.world_size),
            "seed": str(self.seed),
            "tokens": str(self.tokens),
            "samples": str(self.samples),
            "model_flops": str(self.model_flops),
        }
        facts |= {f"param {name}": value for name, value in self.params}
        known = {
            "parameters": None if self.parameters is None else str(self.parameters),
            "parameter types": None if self.parameter_types is None else " and ".join(self.parameter_types),
            "precision": None if self.precision is None else " and ".join(self.precision) or "no product",
        }
        if self.shapes is not None:
            known["shapes"] = " and ".join(f"{name} {shape}" for name, shape in self.shapes) or "none"
        return facts | {name: value for name, value in known.items() if value is not None}


NOT_ALWAYS_KNOWN = frozenset(("parameters", "parameter types", "precision", "shapes"))
"""Fields that some launches do not tell: their absence is no difference."""


def one_workload(told: Iterable[Workload]) -> Workload | None:
    """What launches computed, each of which tells it as far as it knows; ``None`` where they disagree.

    Args:
        told: By one launch or more.
    """
    found: Workload | None = None
    for each in told:
        if found is None:
            found = each
            continue
        before, now = found.fields(), each.fields()
        if any(before[name] != now[name] for name in before.keys() & now.keys()):
            return None
        if (before.keys() ^ now.keys()) - NOT_ALWAYS_KNOWN:
            return None
        missing = [name for name in _SOMETIMES if getattr(found, name) is None]
        found = replace(found, **{name: getattr(each, name) for name in missing})
    return found


_SOMETIMES = ("parameters", "parameter_types", "precision", "shapes")


@dataclass(frozen=True, kw_only=True)
class Burst:
    """A few steps of one rank, the first of the turn left out."""

    steps_s: tuple[float, ...]
    """Periods between successive ends of steps, in execution order."""

    phases_s: tuple[tuple[str, tuple[float, ...]], ...]
    """For each phase by name: its time in each of these steps."""

    cpu_s: float
    """CPU time of the process over these steps."""


@dataclass(frozen=True, kw_only=True)
class RankSeries:
    """All that one rank measured of one benchmark in one launch."""

    rank: int
    """In the process group."""

    workload: Workload
    """What it computed."""

    bursts: tuple[Burst, ...]
    """In execution order; the ranks of a launch hold equally many, of equal length."""

    warmup: int | None = None
    """Steps before the first timed one; ``None`` where that was not told."""

    losses: tuple[float, ...] = ()
    """Of the first of them, equally many in every launch; empty on ranks that hold none (pipelines)."""

    peak_allocated_bytes: int | None = None
    """Of tensors: over the timed steps where the device keeps an account, else counted after them;
    ``None`` where neither was done in this launch."""

    peak_reserved_bytes: int | None = None
    """Of the allocator, from the warm-up on; ``None`` where the device keeps no account."""

    collective_count: int | None = None
    """Of one instrumented step; ``None`` where it was not counted in this launch."""

    collective_bytes: int | None = None
    """Of the same step."""

    side_modules: int | None = None
    """Imported modules that lie in the side's folders; ``None`` where the side has none."""

    planted_s: float | None = None
    """What the timed steps were made longer by: median, or mean where only some of them were; ``None``
    where nothing was planted on either side."""

    idle_s: float | None = None
    """Time between its bursts; ``None`` where there was one burst."""

    idle_cpu_s: float | None = None
    """CPU time of the process in it: it was to sleep."""


def idle_cores(ranks: Sequence[RankSeries]) -> float | None:
    """Cores that all ranks together kept busy between their bursts; ``None`` where that is not known."""
    idle = [(rank.idle_s, rank.idle_cpu_s) for rank in ranks]
    shares = [cpu_s / wall_s for wall_s, cpu_s in idle if wall_s and cpu_s is not None]
    return round(math.fsum(shares), 4) if shares and len(shares) == len(ranks) else None


def launch_samples(ranks: Sequence[RankSeries]) -> tuple[Sample, ...]:
    """Reduce the ranks of one launch to its samples.

    Step times are those of the slowest rank of each step; memory and counts those of the
    worst rank, which is named; CPU time is summed over ranks.

    Args:
        ranks: One series per rank of one benchmark, in any order.

    Returns:
        The samples that could be measured, in the order of the metric table, phases last.
    """
    workload = ranks[0].workload
    steps = _slowest([[step for burst in rank.bursts for step in burst.steps_s] for rank in ranks])
    samples: list[Sample] = []
    if steps:
        mean_s = math.fsum(steps) / len(steps)
        cpu_s = math.fsum(burst.cpu_s for rank in ranks for burst in rank.bursts) / len(steps)
        samples.append(Sample(metric="step_s", value=median(steps), steps=steps))
    samples += _worst(ranks)
    if workload.model_flops is not None:
        samples.append(Sample(metric="flops", value=workload.model_flops))
    if steps:
        if workload.tokens is not None:
            samples.append(Sample(metric="tokens_per_s", value=workload.tokens / mean_s))
        if workload.samples is not None:
            samples.append(Sample(metric="samples_per_s", value=workload.samples / mean_s))
        samples.append(Sample(metric="step_mean_s", value=mean_s))
        samples.append(Sample(metric="step_p95_s", value=percentile(steps, 0.95)))
        samples.append(Sample(metric="cpu_s", value=cpu_s))
    losses = next((rank.losses for rank in ranks if rank.losses), ())
    if losses:
        samples.append(Sample(metric="loss", value=losses[-1], steps=losses))
    return (*samples, *_phases(ranks))


def percentile(values: Sequence[float], fraction: float) -> float:
    """Return the value at ``fraction`` of the sorted values, interpolated linearly."""
    ordered = sorted(values)
    place = fraction * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _slowest(ranks: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(max(step) for step in zip(*ranks, strict=True))


def _worst(ranks: Sequence[RankSeries]) -> list[Sample]:
    samples = []
    for name in ("peak_allocated_bytes", "peak_reserved_bytes", "collective_count", "collective_bytes"):
        counted = [(value, rank.rank) for rank in ranks if (value := getattr(rank, name)) is not None]
        if counted:
            value, rank = max(counted, key=lambda pair: (pair[0], -pair[1]))
            samples.append(Sample(metric=name, value=value, rank=rank))
    return samples


def _phases(ranks: Sequence[RankSeries]) -> list[Sample]:
    def times(rank: RankSeries, name: str) -> list[float]:
        return [time for burst in rank.bursts for time in dict(burst.phases_s).get(name, ())]

    names = dict.fromkeys(name for rank in ranks for burst in rank.bursts for name, _ in burst.phases_s)
    samples = []
    for name in names:
        holders = [series for rank in ranks if (series := times(rank, name))]
        if len({len(series) for series in holders}) == 1:
            steps = _slowest(holders)
            samples.append(Sample(metric=f"{name}_s", value=median(steps), steps=steps))
    return samples
