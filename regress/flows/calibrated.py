"""What the launches of a calibration say of the platform."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import regress
from regress.flows.arms import Arm, Pair, pairs_of
from regress.flows.levels import Level, Levels, code_of, steps, value
from regress.flows.undertaking import Undertaking
from regress.record import noise
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
from regress.record.run import Launch
from regress.spec.benchmark import Benchmark
from regress.spec.suite import LoadedSuite
from regress.stats import calibration as stats
from regress.stats.compare import FEWEST, Criteria, compare
from regress.store.runset import RunSet
from regress.units import share
from regress.verdict.canary import canary_notes
from regress.verdict.criteria import criteria_for, unbiased
from regress.verdict.judge import BUSY

SIGHTS = (3, 5, 10)
"""Numbers of blocks of which is said what they see."""

LARGEST = 0.99
"""Beyond it no change is told from bias."""

CONFIDENCE = 0.9
"""Of the intervals of bias and of what was measured of a slowdown."""


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
    measured = [block for block in plan.blocks[1:] if block.index <= rounds * len(arms)]
    pairs = {
        benchmark: {arm: list(pairs_of(undertaking, benchmark, arm, runs, measured)) for arm in arms}
        for benchmark in plan.benchmarks
    }
    asked = criteria_for(loaded.suite.policy, platform)
    criteria = _aware(asked, pairs)
    level = criteria.false_alarms / len(plan.benchmarks)
    rule = _Rule(criteria=criteria, level=level, blocks=loaded.suite.blocks.count, seed=plan.seed)
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
        asked_min_change=asked.min_change,
        min_change=criteria.min_change,
        must_see=criteria.must_see,
        level=level,
        benchmarks=tuple(
            _benchmark(
                benchmark,
                pairs[benchmark],
                rule,
                blocks=len(measured),
                days=levels.get((benchmark.label, benchmark.digest), ()),
                today=(code, manifest.started[:10]),
            )
            for benchmark in plan.benchmarks
        ),
        folder=str(next(iter(runs.writers.values())).folder.parent.parent),
        notes=_notes([launch for writer in runs.writers.values() for launch in writer.launches]),
    )


def mode_of(undertaking: Undertaking) -> Mode:
    """How the sides of a block are measured."""
    return "alone" if undertaking.plan.blocks[-1].alone else "resident"


def _notes(launches: Sequence[Launch]) -> tuple[str, ...]:
    """How the machine was meanwhile: a calibration of a busy one says what a busy one sees."""
    used = [launch.foreign_cpu for launch in launches if launch.foreign_cpu is not None]
    busy = [each for each in used if each >= BUSY]
    if not busy:
        return canary_notes(launches)
    text = (
        f"the machine was busy: others used {share(BUSY)} of its cores and more in {len(busy)} of "
        f"{len(used)} launches, up to {share(max(busy))}; calibrate again when it is quiet"
    )
    return (text, *canary_notes(launches))


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

    def sights(self, sd: float, bias: float) -> tuple[Sight, ...]:
        """What some numbers of blocks see."""
        known = {"level": self.level, "min_change": self.criteria.min_change, "bias": bias}
        return tuple(Sight(blocks=blocks, detectable=stats.sight(sd, blocks, **known)) for blocks in SIGHTS)

    def recommended(self, sd: float, bias: float) -> int | None:
        """Fewest blocks that see what the suite must see."""
        return stats.enough(
            sd,
            fewest=FEWEST["paired"],
            level=self.level,
            min_change=self.criteria.min_change,
            must_see=self.criteria.must_see,
            bias=bias,
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
    pairs: Mapping[Arm, Sequence[Pair]],
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
    leaning = _leaning(pairs)
    bias = _bias(leaning) if leaning else None
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
        bias=bias,
        sights=rule.sights(leaning.sd, bias.shift) if leaning and bias else (),
        recommended=rule.recommended(leaning.sd, bias.shift) if leaning and bias else None,
        false_alarms=rule.rate(equal, swapped=True),
        planted=tuple(recovery for recovery in recovered if recovery is not None),
    )


def _leaning(pairs: Mapping[Arm, Sequence[Pair]]) -> stats.Mean | None:
    """How much slower the second side is, over all arms."""
    return stats.bias([[(pair.difference("step_s"), pair.sign) for pair in arm] for arm in pairs.values()])


def _aware(criteria: Criteria, pairs: Mapping[Benchmark, Mapping[Arm, Sequence[Pair]]]) -> Criteria:
    """What counts as a change in a comparison that knows of the bias; what must be seen stays as it is."""
    known = [
        noise.Noise(benchmark=benchmark.label, metric="step_s", design="paired", bias=_bias(leaning).shift)
        for benchmark, arms in pairs.items()
        if (leaning := _leaning(arms)) is not None
    ]
    raised, _ = unbiased(criteria, known)
    return replace(criteria, min_change=min(raised.min_change, LARGEST))


def _bias(leaning: stats.Mean) -> Bias:
    low, high = leaning.bounds(CONFIDENCE)
    return Bias(mean=leaning.mean, low=low, high=high, blocks=leaning.number)


def _recovery(slowdown: Slowdown, pairs: Sequence[Pair], rule: _Rule) -> Recovery | None:
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
