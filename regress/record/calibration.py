"""What a platform was found to see: noise, bias, and slowdowns that were planted to be found.

Noise and bias are on the log scale, where 0.01 is nearly 1 %; what was planted and what can be found are
fractions of the plain step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regress.record.platform import Platform
from regress.units import share

SCHEMA = "regress.calibration/1"
"""Of ``--json``, and of the files in ``calibrations/`` of the store."""

SlowdownKind = Literal["sleep", "kernel", "collective", "stall"]
"""``sleep``: nothing is done for so long. ``kernel``: matrix products. ``collective``: an all-reduce.
``stall``: ten times as long a sleep, in one timed step of ten."""

KINDS: tuple[SlowdownKind, ...] = ("sleep", "kernel", "collective", "stall")

Mode = Literal["resident", "alone"]
"""Whether both sides of a block took turns, or had the machine for themselves one after the other."""


@dataclass(frozen=True, kw_only=True)
class Slowdown:
    """What makes the steps of one side longer."""

    kind: SlowdownKind
    """See `SlowdownKind`."""

    fraction: float
    """Of the step without it; 0 for the side that it is measured against."""

    def __str__(self) -> str:
        return f"{self.kind} {share(self.fraction)}"


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Standard deviations on the log scale; ``None`` where too little was measured to tell."""

    within_launch: float | None
    """Of the steps of one launch about their median: robust, median over launches."""

    between_launches: float | None
    """Of the launches of one code in this calibration: what an unpaired comparison has to do with."""

    of_differences: float | None
    """Of the differences within blocks, slowdowns taken out: what a paired comparison has to do with."""

    df: int
    """Degrees of freedom of ``of_differences``."""

    between_days: float | None
    """Of one code's level from day to day, over stored runs and earlier calibrations."""

    days: int = 0
    """How many days of the same code ``between_days`` rests on."""


@dataclass(frozen=True, kw_only=True)
class Bias:
    """How much slower the second of two equal sides was, on the log scale: 0 on a sound platform."""

    mean: float
    """Over all blocks, slowdowns taken out: they fell on either side equally often."""

    low: float
    """Lower end of the 90 % interval of ``mean``."""

    high: float
    """Upper end."""

    blocks: int
    """How many it rests on."""

    @property
    def shown(self) -> bool:
        """Whether the interval leaves out 0; else nothing says that equal sides differ."""
        return self.low * self.high > 0

    @property
    def bound(self) -> float:
        """The largest size that the interval allows."""
        return max(abs(self.low), abs(self.high))

    @property
    def shift(self) -> float:
        """How far the null of a test is shifted: by the bound of a bias that is shown, else not.

        What few blocks cannot exclude is mostly their noise; it says no more of the platform than
        no calibration at all.
        """
        return self.bound if self.shown else 0.0


@dataclass(frozen=True, kw_only=True)
class Rate:
    """How often a comparison of some of the blocks said `regressed`."""

    blocks: int
    """Of one comparison."""

    found: int
    """Comparisons that said so."""

    resampled: int
    """Comparisons of blocks that were drawn from those measured, without putting back."""

    independent: int
    """Comparisons that share no block: so many at most are there in the blocks measured."""

    low: float
    """Lower end of the 95 % interval of the rate, as if only the independent ones had been made."""

    high: float
    """Upper end."""

    @property
    def share(self) -> float:
        """Of the resampled comparisons."""
        return self.found / self.resampled


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What so many blocks can see, by the noise that was measured."""

    blocks: int
    """Of a comparison."""

    detectable: float
    """Smallest true worsening that is called `regressed` 9 times in 10."""


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """How much of a planted slowdown was measured, and how often it was found."""

    slowdown: Slowdown
    """As it was asked for."""

    metric: str
    """Where it shows: ``step_s``, or ``step_mean_s`` for stalls, which leave the median as it is."""

    blocks: int
    """In which both sides were measured."""

    planted: float
    """What was planted in fact, as it took in the steps: work comes in whole pieces, and takes longer on a
    busy machine."""

    measured: float
    """Estimate, in that metric."""

    low: float
    """Lower end of the 90 % interval of ``measured``."""

    high: float
    """Upper end."""

    detection: Rate | None
    """How often the step time was called `regressed`; ``None`` where too few blocks were measured."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkCalibration:
    """What was found of one benchmark."""

    benchmark: str
    """Label."""

    definition: str
    """Hash of its definition."""

    step_s: float | None
    """Median over the launches in which nothing was planted; ``None`` where all of them failed."""

    blocks: int
    """In which both of two equal sides were measured."""

    lost: int
    """Blocks, of all arms, in which a side failed."""

    noise: Noise
    """Within launches, between them, between days."""

    bias: Bias | None
    """``None`` where fewer than two blocks were measured."""

    sights: tuple[Sight, ...]
    """For some numbers of blocks; empty where the noise is not known."""

    recommended: int | None
    """Fewest blocks that see what the suite must see; ``None`` where no affordable number does."""

    false_alarms: Rate | None
    """Of comparisons of equal sides; ``None`` where too few blocks were measured."""

    planted: tuple[Recovery, ...]
    """In the order in which they were asked for."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The answer of one `regress calibrate`."""

    schema: str = SCHEMA
    """Name and version of this form."""

    calibration: str
    """Identity, shared by the runs that it rests on."""

    suite: str
    """Name."""

    platform: Platform
    """What it was measured on."""

    mode: Mode
    """How the sides of a block were measured."""

    launcher: str
    """What started the ranks."""

    code: str
    """What names the code that both sides ran: a commit, or ``installed`` and the version; empty for
    changes that no commit has."""

    regress: str
    """Version of the harness."""

    started: str
    """UTC, ISO 8601."""

    seconds: float
    """All launches together; those of resident sides count once."""

    rounds: int
    """Blocks of each arm that were measured."""

    planned: int
    """Blocks of each arm that were to be measured; a budget ends a calibration before."""

    slowdowns: tuple[Slowdown, ...]
    """Arms beside that of two equal sides."""

    asked_min_change: float
    """Smallest change worth a verdict, as the suite has it."""

    min_change: float
    """The same in comparisons here: raised to four times the largest bias that is not excluded."""

    must_see: float
    """Worsening that a gate must be able to see, as the suite has it."""

    level: float
    """Of the test of one benchmark: the suite's false alarms, shared between its benchmarks."""

    benchmarks: tuple[BenchmarkCalibration, ...]
    """In the order of the suite."""

    folder: str
    """Where it lies, and its runs below."""

    notes: tuple[str, ...] = ()
    """What a reader should know: others used the machine, or the node moved."""

    def shift(self, benchmark: str) -> float:
        """How far the null of the tests of a benchmark is shifted, log scale; see `Bias`."""
        found = (each.bias for each in self.benchmarks if each.benchmark == benchmark)
        bias = next(found, None)
        return 0.0 if bias is None else bias.shift


@dataclass(frozen=True, kw_only=True)
class PooledRate:
    """A rate over all benchmarks of a calibration."""

    slowdown: Slowdown | None
    """``None`` for two equal sides: then it is the rate of false alarms."""

    rate: Rate
    """See `Rate`."""


@dataclass(frozen=True, kw_only=True)
class CalibrationSummary:
    """What the last calibration says of a comparison's platform, in brief."""

    calibration: str
    """Identity."""

    suite: str
    """That was calibrated: not always the one that is compared."""

    platform: str
    """Key."""

    mode: Mode
    """How the sides of a block were measured."""

    started: str
    """UTC, ISO 8601."""

    benchmarks: int
    """How many it is of."""

    bias_bound: float | None
    """Largest of all benchmarks, log scale; ``None`` where it is not known."""

    rates: tuple[PooledRate, ...]
    """False alarms first, then each planted slowdown; without those that are not known."""

    recommended: int | None
    """Blocks that suffice for every benchmark; ``None`` where no affordable number does."""

    notes: tuple[str, ...] = ()
    """How the machine was meanwhile."""
