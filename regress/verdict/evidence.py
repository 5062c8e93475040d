"""All that two runs hold of one benchmark, and which launches of it are set against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from regress.record.comparison import Values
from regress.record.metric import METRICS, Direction, Metric, metric
from regress.record.run import Launch, Measurement, Run
from regress.spec.benchmark import Benchmark
from regress.spec.plan import read_plan
from regress.stats.interval import Estimate, paired_estimate, unpaired_estimate


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
        """The blocks of its launches: alone, resident, or (``None``) all."""
        return {launch.block for launch in self.launches if alone in (None, launch.alone)}

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
        """The blocks of the tested launches of either side."""
        return self.base.blocks(self.alone) | self.head.blocks(self.alone)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """All that either side measured, in the order of the metric table, phases last."""
        trials = (*self.base.measured, *self.head.measured)
        names = dict.fromkeys(sample.metric for trial in trials for sample in trial.measurement.samples)
        listed = [name for name in METRICS if name in names]
        return tuple(metric(name) for name in (*listed, *(name for name in names if name not in METRICS)))

    @property
    def estimator(self) -> Callable[[Sequence[float], Sequence[float], Direction], Estimate]:
        """What estimates the change from `tested` values."""
        return paired_estimate if self.paired else unpaired_estimate

    def tested(self, name: str) -> tuple[Values, Values]:
        """The values of both sides that a test rests on; pairs only where blocks are paired."""
        base, head = self.base.values(name, self.alone), self.head.values(name, self.alone)
        if self.paired:
            common = base.keys() & head.keys()
            base = {block: value for block, value in base.items() if block in common}
            head = {block: value for block, value in head.items() if block in common}
        return values_of(base), values_of(head)


def values_of(by_block: dict[int, float]) -> Values:
    """Write the values of one side down as a record."""
    values = tuple(by_block.values())
    return Values(
        median=median(values) if values else None,
        launches=len(values),
        values=values,
        blocks=tuple(by_block),
    )


def gather(base: Run, head: Run) -> tuple[Evidence, ...]:
    """Collect what two runs hold, benchmark by benchmark, in the order of the suite.

    Planned benchmarks that nobody measured are among them.

    Raises:
        RecordError: The plan in a manifest cannot be read.
    """
    paired = bool(base.manifest.comparison) and base.manifest.comparison == head.manifest.comparison
    before, after = base.manifest, head.manifest
    revisions_differ = before.commit != after.commit and before.environment == after.environment
    worlds = _world_sizes((base, head))
    return tuple(
        Evidence(
            benchmark=label,
            paired=paired,
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
