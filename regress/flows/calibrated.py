"""What the launches of a calibration say of the platform."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import regress
from regress.flows.levels import Level, Levels, code_of, measurements, steps, value
from regress.flows.undertaking import Undertaking
from regress.record.calibration import (
    BenchmarkCalibration,
    Bias,
    Calibration,
    Mode,
    Noise,
    Rate,
    Recovery,
    Sight,
    Slowdown,
)
from regress.record.run import Measurement
from regress.spec.benchmark import Benchmark
from regress.spec.plan import Block
from regress.spec.suite import LoadedSuite
from regress.stats import calibration as stats
from regress.stats.compare import FEWEST, Criteria, compare
from regress.store.runset import RunSet
from regress.verdict.criteria import criteria_for

SIGHTS = (3, 5, 10)
"""Numbers of blocks of which is said what they see."""

CONFIDENCE = 0.9
"""Of the intervals of bias and of what was measured of a slowdown."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """Blocks that are measured alike: two equal sides, or one of them slowed down."""

    name: str
    """For example ``equal`` or ``kernel-2``."""

    slowdown: Slowdown | None
    """``None``: nothing is planted."""

    @classmethod
    def of(cls, slowdown: Slowdown | None) -> Arm:
        """The arm of a slowdown, or of equal sides."""
        name = EQUAL if slowdown is None else f"{slowdown.kind}-{100 * slowdown.fraction:g}"
        return cls(name=name, slowdown=slowdown)

    @property
    def roles(self) -> tuple[str, str]:
        """Of the two sides; either is the slowed one in half of the blocks."""
        return f"{self.name}.1", f"{self.name}.2"


EQUAL = "equal"
"""Name of the arm in which nothing is planted."""


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """A benchmark in a block in which both sides were measured."""

    first: Measurement
    second: Measurement
    sign: int
    """+1 where the second was slowed down, -1 where the first was, 0 where neither."""

    def difference(self, metric: str) -> float:
        """Log of second over first."""
        return math.log(value(self.second, metric) / value(self.first, metric))

    @property
    def plain(self) -> tuple[Measurement, ...]:
        """The sides that were not slowed down."""
        return {-1: (self.second,), 1: (self.first,)}.get(self.sign, (self.first, self.second))

    @property
    def by_label(self) -> tuple[Measurement, Measurement]:
        """The plain one, then the slowed one."""
        return (self.second, self.first) if self.sign < 0 else (self.first, self.second)

    def values(self, metric: str) -> tuple[float, float]:
        """Those of `by_label`."""
        plain, slowed = self.by_label
        return value(plain, metric), value(slowed, metric)


def describe(
    undertaking: Undertaking,
    arms: Sequence[Arm],
    runs: RunSet,
    levels: Levels,
    loaded: LoadedSuite,
    *,
    rounds: int,
    seconds: float,
) -> Calibration:
    """Say what was measured, benchmark by benchmark.

    Args:
        undertaking: With the plan that was carried out.
        arms: That of equal sides first.
        runs: Hold the launches.
        levels: Of earlier days.
        loaded: The suite.
        rounds: That were measured.
        seconds: That were spent.
    """
    plan, platform = undertaking.plan, undertaking.catalogs[-1].platform
    manifest = next(iter(runs.writers.values())).manifest
    criteria = criteria_for(loaded.suite.policy, platform)
    level = criteria.false_alarms / len(plan.benchmarks)
    rule = _Rule(criteria=criteria, level=level, blocks=loaded.suite.blocks.count, seed=plan.seed)
    measured = [block for block in plan.blocks[1:] if block.index <= rounds * len(arms)]
    code = code_of(manifest)
    return Calibration(
        calibration=manifest.comparison,
        suite=plan.suite,
        platform=platform,
        mode=mode_of(undertaking),
        launcher=undertaking.means.launcher,
        code=code,
        regress=regress.__version__,
        started=manifest.started,
        seconds=round(seconds, 3),
        rounds=rounds,
        planned=(len(plan.blocks) - 1) // len(arms),
        slowdowns=tuple(arm.slowdown for arm in arms if arm.slowdown is not None),
        min_change=criteria.min_change,
        must_see=criteria.must_see,
        level=level,
        benchmarks=tuple(
            _benchmark(
                benchmark,
                {arm: list(_pairs(undertaking, benchmark, arm, runs, measured)) for arm in arms},
                rule,
                blocks=len(measured),
                days=levels.get((benchmark.label, benchmark.digest), ()),
                today=(code, manifest.started[:10]),
            )
            for benchmark in plan.benchmarks
        ),
        folder=str(next(iter(runs.writers.values())).folder.parent.parent),
    )


def mode_of(undertaking: Undertaking) -> Mode:
    """How the sides of a block are measured."""
    return "alone" if undertaking.plan.blocks[-1].alone else "resident"


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """How a comparison would be decided."""

    criteria: Criteria
    level: float
    blocks: int
    seed: int

    def __call__(self, base: Sequence[float], head: Sequence[float]) -> bool:
        min_change = self.criteria.min_change
        found = compare(base, head, paired=True, min_change=min_change, false_alarms=self.level)
        return found.verdict == "regressed"

    def sights(self, sd: float) -> tuple[Sight, ...]:
        """What some numbers of blocks see."""
        level, min_change = self.level, self.criteria.min_change
        return tuple(
            Sight(blocks=blocks, detectable=stats.sight(sd, blocks, level=level, min_change=min_change))
            for blocks in SIGHTS
        )

    def recommended(self, sd: float) -> int | None:
        """Fewest blocks that see what the suite must see."""
        return stats.enough(
            sd,
            fewest=FEWEST["paired"],
            level=self.level,
            min_change=self.criteria.min_change,
            must_see=self.criteria.must_see,
        )

    def rate(self, pairs: Sequence[tuple[float, float]], *, swapped: bool) -> Rate | None:
        """How often comparisons of some of the blocks say so: of as many blocks as the suite has, or all."""
        blocks = min(self.blocks, len(pairs))
        if blocks < FEWEST["paired"]:
            return None
        share = stats.resampled(pairs, self, blocks=blocks, swapped=swapped, seed=self.seed)
        low, high = share.bounds
        return Rate(
            blocks=blocks,
            found=share.found,
            resampled=share.resampled,
            independent=share.independent,
            low=low,
            high=high,
        )


def _benchmark(
    benchmark: Benchmark,
    pairs: Mapping[Arm, Sequence[_Pair]],
    rule: _Rule,
    *,
    blocks: int,
    days: Sequence[Level],
    today: tuple[str, str],
) -> BenchmarkCalibration:
    """What was found of one benchmark.

    Args:
        benchmark: Which.
        pairs: Of each arm.
        rule: Of a comparison.
        blocks: That were measured, or tried, in all arms.
        days: What it took before.
        today: Code and day of this calibration.
    """
    plain = [each for arm in pairs.values() for pair in arm for each in pair.plain]
    times = [value(each, "step_s") for each in plain]
    step_s = median(times) if times else None
    arms = [[(pair.difference("step_s"), pair.sign) for pair in arm] for arm in pairs.values()]
    leaning = stats.bias(arms)
    code, day = today
    moving = stats.between_days([*days, *([(code, day, step_s)] if step_s is not None and code else [])])
    equal = [
        pair.values("step_s") for arm, theirs in pairs.items() if arm.slowdown is None for pair in theirs
    ]
    recovered = (_recovery(arm.slowdown, theirs, rule) for arm, theirs in pairs.items() if arm.slowdown)
    return BenchmarkCalibration(
        benchmark=benchmark.label,
        definition=benchmark.digest,
        step_s=step_s,
        blocks=len(equal),
        lost=blocks - sum(map(len, pairs.values())),
        noise=Noise(
            within_launch=stats.within([steps(each) for each in plain]),
            between_launches=stats.spread(times),
            of_differences=leaning.sd if leaning else None,
            df=leaning.df if leaning else 0,
            between_days=moving[0] if moving else None,
            days=moving[1] if moving else 0,
        ),
        bias=_bias(leaning) if leaning else None,
        sights=rule.sights(leaning.sd) if leaning else (),
        recommended=rule.recommended(leaning.sd) if leaning else None,
        false_alarms=rule.rate(equal, swapped=True),
        planted=tuple(recovery for recovery in recovered if recovery is not None),
    )


def _bias(leaning: stats.Mean) -> Bias:
    low, high = leaning.bounds(CONFIDENCE)
    return Bias(mean=leaning.mean, low=low, high=high, blocks=leaning.number)


def _recovery(slowdown: Slowdown, pairs: Sequence[_Pair], rule: _Rule) -> Recovery | None:
    """What was measured of a slowdown; ``None`` where that cannot be told."""
    metric = "step_mean_s" if slowdown.kind == "stall" else "step_s"
    seen = stats.effect([(pair.difference(metric), pair.sign) for pair in pairs])
    if seen is None:
        return None
    planted = [(pair.by_label[1].planted_s or 0.0) / pair.values(metric)[0] for pair in pairs]
    low, high = seen.bounds(CONFIDENCE)
    return Recovery(
        slowdown=slowdown,
        metric=metric,
        blocks=seen.number,
        planted=math.fsum(planted) / len(planted),
        measured=math.expm1(seen.mean),
        low=math.expm1(low),
        high=math.expm1(high),
        detection=rule.rate([pair.values("step_s") for pair in pairs], swapped=False),
    )


def _pairs(
    undertaking: Undertaking, benchmark: Benchmark, arm: Arm, runs: RunSet, blocks: Sequence[Block]
) -> Iterator[_Pair]:
    by_block = [measurements(runs.writers[role].launches, benchmark.label) for role in arm.roles]
    for block in blocks:
        if set(block.sides) != set(arm.roles):
            continue
        first, second = (found.get(block.index) for found in by_block)
        if first is not None and second is not None:
            slowed = [bool(_amount(undertaking, block, role)) for role in arm.roles]
            yield _Pair(first=first, second=second, sign=slowed[1] - slowed[0])


def _amount(undertaking: Undertaking, block: Block, role: str) -> float:
    slowdown = undertaking.slowdown(block, role)
    return 0.0 if slowdown is None else slowdown.fraction
