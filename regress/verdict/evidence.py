"""All that two runs hold of one benchmark, and which launches of it are set against each other."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from regress.errors import StatsError
from regress.record.comparison import Values
from regress.record.metric import METRICS, Direction, Metric, metric
from regress.record.noise import Noise
from regress.record.run import Launch, Measurement, Run
from regress.spec.benchmark import Benchmark
from regress.spec.plan import read_plan
from regress.stats.compare import fewest
from regress.stats.interval import Apart, Estimate, paired_estimate, unpaired_estimate
from regress.stats.sequential import shares
from regress.verdict.noise import between_from, prior_from

INTERRUPTED_S = 120.0
"""Time between two launches from which on it is taken for an interruption."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One benchmark in one launch."""

    block: int
    """Of the launch."""

    alone: bool
    """Whether the other side was not resident beside it."""

    measurement: Measurement
    """How it ended and what it measured."""


@dataclass(frozen=True, kw_only=True)
class SideEvidence:
    """What one side holds of one benchmark."""

    launches: tuple[Launch, ...]
    """Every launch in which it should have been measured: those of its world size."""

    trials: tuple[Trial, ...]
    """Every attempt to measure it, failures included, by block."""

    complete: bool
    """Whether its run was measured to its end."""

    @property
    def failures(self) -> tuple[Trial, ...]:
        """The attempts that did not end well."""
        return tuple(trial for trial in self.trials if not trial.measurement.outcome.ok)

    @property
    def measured(self) -> tuple[Trial, ...]:
        """The attempts that ended well."""
        return tuple(trial for trial in self.trials if trial.measurement.outcome.ok)

    def blocks(self, alone: bool | None) -> set[int]:
        """The blocks in which it was tried: alone, resident, or (``None``) all.

        Those of launches that tried nothing at all are among them, those without it are not: more
        blocks were measured for others.
        """
        nothing = [launch for launch in self.launches if not launch.measurements]
        tried: list[Trial | Launch] = [*self.trials, *nothing]
        return {each.block for each in tried if alone in (None, each.alone)}

    def values(self, name: str, alone: bool | None = None) -> dict[int, float]:
        """The value of a metric by block, in the order of blocks; see `blocks` for ``alone``."""
        found: dict[int, float] = {}
        for trial in self.measured:
            for sample in trial.measurement.samples:
                if sample.metric == name and sample.value is not None and alone in (None, trial.alone):
                    found.setdefault(trial.block, sample.value)
        return found


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What both sides hold of one benchmark."""

    benchmark: str
    """Label."""

    paired: bool
    """Whether both sides were measured together, block by block."""

    revisions_differ: bool = False
    """Whether two revisions are compared, in one environment: then their code is all that can differ."""

    base: SideEvidence
    """What head is compared with."""

    head: SideEvidence
    """What is judged."""

    planned: tuple[int, ...] = ()
    """The tested blocks as they were planned, in order, spare ones last."""

    looks: tuple[int, ...] = ()
    """Numbers of planned blocks after which it was asked what is decided."""

    noise: Mapping[str, Noise] = field(default_factory=dict)
    """What earlier runs tell of the noise of each metric."""

    @property
    def alone(self) -> bool | None:
        """Which launches are tested: resident ones where both sides have them, else alone ones.

        ``None`` where the sides have no kind in common: they cannot be compared.
        """
        for kind in (False, True):
            if self.base.blocks(kind) and self.head.blocks(kind):
                return kind
        return None

    @property
    def same_code(self) -> bool:
        """Whether two revisions are compared and no launch imported anything from either."""
        trials = (*self.base.measured, *self.head.measured)
        return self.revisions_differ and all(trial.measurement.side_modules == 0 for trial in trials)

    @property
    def blocks(self) -> set[int]:
        """The blocks of the tested launches in which either side was tried."""
        return self.base.blocks(self.alone) | self.head.blocks(self.alone)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All that either side measured, in the order of the metric table, phases last."""
        trials = (*self.base.measured, *self.head.measured)
        names = dict.fromkeys(sample.metric for trial in trials for sample in trial.measurement.samples)
        listed = [name for name in METRICS if name in names]
        return tuple(metric(name) for name in (*listed, *(name for name in names if name not in METRICS)))

    @property
    def tried(self) -> int:
        """How many of the planned blocks were measured, from the first up to the last that was."""
        blocks = self.blocks
        return max((place + 1 for place, block in enumerate(self.planned) if block in blocks), default=0)

    @property
    def settled_early(self) -> bool:
        """Whether not all blocks were measured that the plan allowed for."""
        return bool(self.looks) and self.tried < self.looks[-1]

    @property
    def block_s(self) -> float | None:
        """Seconds that this benchmark took of a tested block, both sides together, in the median."""
        seconds: dict[int, list[float]] = {}
        for launch in (*self.base.launches, *self.head.launches):
            if launch.alone == self.alone and launch.measurements:
                own = launch.seconds / len(launch.measurements)
                seconds.setdefault(launch.block, []).append(own)
        together = max if self.alone is False else math.fsum
        return median(together(each) for each in seconds.values()) if seconds else None

    def estimates(self, name: str, direction: Direction) -> tuple[Estimate, ...]:
        """Estimate the change of a metric at each look so far; the last one is the answer.

        Runs that were not measured in turns are looked at once.

        Raises:
            StatsError: The values of the last look are no numbers that a test can be made of.
        """
        noise = self.noise.get(name)
        prior, bias = prior_from(noise), noise.bias if noise else 0.0
        if not self.paired:
            base, head = self.tested(name)
            apart: Apart = between_from(noise) or "unknown"
            return (
                unpaired_estimate(base.values, head.values, direction, prior=prior, apart=apart, bias=bias),
            )
        found = []
        for look, spent in self._looked(fewest("paired", prior)):
            base, head = self.tested(name, look)
            with contextlib.suppress(StatsError) if look != self.tried else contextlib.nullcontext():
                found.append(
                    paired_estimate(base.values, head.values, direction, prior=prior, bias=bias, shares=spent)
                )
        return tuple(found)

    def _looked(self, first: int) -> list[tuple[int, tuple[float, float]]]:
        """Looks so far, as numbers of planned blocks, and the shares of the error rates spent there and last.

        Looks at fewer blocks than anything is claimed on spend nothing. Where measuring ended
        between two looks, the later one was taken early. The last look takes spare blocks in.
        """
        looks = [look for look in self.looks if look >= first] or [*self.looks[-1:]] or [self.tried]
        taken = [look for look in looks[:-1] if look < self.tried]
        spent = shares(len(looks))
        return [(look, (spent[place], spent[-1])) for place, look in enumerate((*taken, self.tried))]

    def tested(self, name: str, look: int | None = None) -> tuple[Values, Values]:
        """The values of both sides that a test rests on; pairs only where blocks are paired.

        Args:
            name: Of the metric.
            look: How many of the planned blocks count; ``None``: all that were measured.
        """
        base, head = self.base.values(name, self.alone), self.head.values(name, self.alone)
        if self.paired:
            common = base.keys() & head.keys()
            if look is not None and self.planned:
                common &= set(self.planned[:look])
            base = {block: value for block, value in base.items() if block in common}
            head = {block: value for block, value in head.items() if block in common}
        return values_of(base), values_of(head)


def noise_of(evidence: Iterable[Evidence]) -> list[Noise]:
    """All that is known of the noise of some benchmarks."""
    return [noise for each in evidence for noise in each.noise.values()]


def values_of(by_block: dict[int, float]) -> Values:
    """Write the values of one side down as a record."""
    values = tuple(by_block.values())
    return Values(
        median=median(values) if values else None,
        launches=len(values),
        values=values,
        blocks=tuple(by_block),
    )


def elapsed_s(launches: Iterable[Launch]) -> float:
    """Time spent on launches: those of sides that were resident together ran at the same time."""
    together: dict[tuple[int, int, int], list[Launch]] = {}
    for launch in launches:
        together.setdefault((launch.block, launch.world_size, launch.attempt), []).append(launch)
    return math.fsum(
        (math.fsum if each[0].alone else max)(launch.seconds for launch in each) for each in together.values()
    )


def pauses_s(launches: Iterable[Launch]) -> float:
    """Time between launches, in which the next ones are made ready: servers start, torch is imported.

    Longer ones than `INTERRUPTED_S` are left out: somebody interrupted the measurement.
    """
    spans = sorted(
        (started, started + launch.seconds)
        for launch in launches
        for started in [datetime.fromisoformat(launch.started).timestamp()]
    )
    ends = itertools.accumulate((end for _, end in spans), max)
    gaps = (start - end for end, (start, _) in zip(ends, spans[1:], strict=False))
    return math.fsum(gap_s for gap_s in gaps if 0 < gap_s < INTERRUPTED_S)


def gather(base: Run, head: Run, noise: Iterable[Noise] = ()) -> tuple[Evidence, ...]:
    """Collect what two runs hold, benchmark by benchmark, in the order of the suite.

    Planned benchmarks that nobody measured are among them.

    Args:
        base: What head is compared with.
        head: What is judged.
        noise: What earlier runs tell; blocks that were measured together have it in their manifest.

    Raises:
        RecordError: The plan in a manifest cannot be read.
    """
    paired = bool(base.manifest.comparison) and base.manifest.comparison == head.manifest.comparison
    before, after = base.manifest, head.manifest
    revisions_differ = before.commit != after.commit and before.environment == after.environment
    worlds = _world_sizes((base, head))
    plan = read_plan(head.manifest.plan) if paired and head.manifest.plan else None
    design = "paired" if paired else "unpaired"
    known = [each for each in (head.manifest.noise if paired else noise) if each.design == design]
    return tuple(
        Evidence(
            benchmark=label,
            paired=paired,
            planned=tuple(block.index for block in plan.tested) if plan else (),
            looks=plan.looks if plan else (),
            noise={each.metric: each for each in known if each.benchmark == label},
            revisions_differ=revisions_differ,
            base=_side(base, label, worlds[label]),
            head=_side(head, label, worlds[label]),
        )
        for label in worlds
    )


def _world_sizes(runs: Sequence[Run]) -> dict[str, int]:
    """Every benchmark that was planned or measured, with its number of ranks."""
    planned = {bench.label: bench.world_size for run in reversed(runs) for bench in _planned(run)}
    measured = {
        measurement.benchmark: launch.world_size
        for run in runs
        for launch in run.launches
        for measurement in launch.measurements
    }
    return planned | dict(sorted(measured.items()))


def _planned(run: Run) -> Iterable[Benchmark]:
    return read_plan(run.manifest.plan).benchmarks if run.manifest.plan else ()


def _side(run: Run, label: str, world_size: int) -> SideEvidence:
    launches = [launch for launch in run.launches if launch.world_size == world_size]
    launches.sort(key=lambda launch: (launch.block, launch.attempt))
    return SideEvidence(
        complete=run.complete,
        launches=tuple(launches),
        trials=tuple(
            Trial(block=launch.block, alone=launch.alone, measurement=measurement)
            for launch in launches
            for measurement in launch.measurements
            if measurement.benchmark == label
        ),
    )
