"""What comparisons of equal and of slowed sides say about the noise, the bias and the sight of a platform.

A difference is ``log(second / first)`` of the two sides of a block. Where one of them was slowed down, its
sign says which: +1 the second, -1 the first, 0 none.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from scipy import special

from regress.errors import StatsError
from regress.stats.power import detectable

Arm = Sequence[tuple[float, int]]
"""Differences of blocks that were measured alike, each with its sign."""

Rule = Callable[[Sequence[float], Sequence[float]], bool]
"""Whether head, the second of two paired sides, is called `regressed`."""

MOST_BLOCKS = 60
"""Up to which it is worked out how many blocks would see enough."""

NORMAL = 1.4826
"""Standard deviation over median absolute deviation, for normal values."""


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean with its noise."""

    mean: float
    """Of the values."""

    sd: float
    """Of one value."""

    df: int
    """Degrees of freedom of ``sd``."""

    number: int
    """How many values."""

    def bounds(self, confidence: float) -> tuple[float, float]:
        """The two-sided interval of the mean (Student's t)."""
        reach = float(special.stdtrit(self.df, (1 + confidence) / 2)) * self.sd / math.sqrt(self.number)
        return self.mean - reach, self.mean + reach


@dataclass(frozen=True, kw_only=True)
class Share:
    """How often some comparisons said `regressed`; see `regress.record.calibration.Rate`."""

    found: int
    """Comparisons that said so."""

    resampled: int
    """Comparisons that were made."""

    independent: int
    """Of them at most so many share no block."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95 % interval of Clopper and Pearson (1934), as if only the independent ones had been made.

        Their number of finds is the resampled rate's share of them, which need not be whole: the beta
        quantiles that give the interval are taken there all the same.
        """
        of, hits = self.independent, self.independent * self.found / self.resampled
        low = float(special.betaincinv(hits, of - hits + 1, 0.025)) if hits > 0 else 0.0
        high = float(special.betaincinv(hits + 1, of - hits, 0.975)) if hits < of else 1.0
        return low, high


def mean_of(values: Sequence[float], *, fitted: int = 0) -> Mean | None:
    """The mean of some values; ``None`` where no noise can be told.

    Args:
        values: Any.
        fitted: How many numbers beside the mean were fitted to them.
    """
    df = len(values) - 1 - fitted
    if df < 1:
        return None
    mean = math.fsum(values) / len(values)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / df)
    return Mean(mean=mean, sd=sd, df=df, number=len(values))


def bias(arms: Sequence[Arm]) -> Mean | None:
    """How much slower the second side is when nothing differs, over all arms.

    The effect of each arm's slowdown is taken out: half of what the means of its two signs differ in.
    An arm that has blocks of one sign alone cannot tell effect and bias apart, and is left out.
    """
    rests: list[float] = []
    fitted = 0
    for arm in arms:
        by_sign = {sign: [d for d, s in arm if s == sign] for sign in (-1, 1)}
        if not any(by_sign.values()):
            rests += [difference for difference, _ in arm]
        elif all(by_sign.values()):
            up, down = (math.fsum(by_sign[sign]) / len(by_sign[sign]) for sign in (1, -1))
            rests += [difference - sign * (up - down) / 2 for difference, sign in arm]
            fitted += 1
    return mean_of(rests, fitted=fitted)


def effect(arm: Arm) -> Mean | None:
    """How much slower the slowed side is, on the log scale."""
    return mean_of([sign * difference for difference, sign in arm if sign])


def within(launches: Sequence[Sequence[float]]) -> float | None:
    """Robust standard deviation of the logs of the steps of a launch; median over launches."""
    found = [_robust_sd([math.log(step) for step in steps]) for steps in launches if len(steps) > 2]
    return median(found) if found else None


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation of the logs of positive values."""
    found = mean_of([math.log(value) for value in values])
    return None if found is None else found.sd


def between_days(levels: Sequence[tuple[str, str, float]]) -> tuple[float, int] | None:
    """How much one code's level moves from day to day.

    Args:
        levels: Code, day and a positive level of it on that day, in any order.

    Returns:
        Standard deviation of the logs of the days' levels about their code's mean, and the number of
        days it rests on; ``None`` where no code was measured on two days.
    """
    codes: dict[str, dict[str, list[float]]] = {}
    for code, day, level in levels:
        codes.setdefault(code, {}).setdefault(day, []).append(math.log(level))
    squares, df, number = 0.0, 0, 0
    for days in codes.values():
        means = [math.fsum(logs) / len(logs) for logs in days.values()]
        if len(means) > 1:
            center = math.fsum(means) / len(means)
            squares += math.fsum((mean - center) ** 2 for mean in means)
            df += len(means) - 1
            number += len(means)
    return (math.sqrt(squares / df), number) if df else None


def sight(sd: float, blocks: int, *, level: float, min_change: float, bias: float = 0.0) -> float:
    """Smallest worsening, a fraction, that so many paired blocks find 9 times in 10.

    Args:
        sd: Of the difference within a block, log scale.
        blocks: At least 2.
        level: Of the test.
        min_change: Smallest change worth a verdict.
        bias: How far equal sides may differ, log scale.
    """
    se = sd / math.sqrt(blocks)
    return detectable(se, blocks - 1, level=level, min_change=min_change, direction="lower", bias=bias)


def enough(
    sd: float, *, fewest: int, level: float, min_change: float, must_see: float, bias: float = 0.0
) -> int | None:
    """Fewest blocks that see ``must_see``; ``None`` where `MOST_BLOCKS` do not. See `sight`."""
    for blocks in range(fewest, MOST_BLOCKS + 1):
        if sight(sd, blocks, level=level, min_change=min_change, bias=bias) <= must_see:
            return blocks
    return None


def resampled(
    pairs: Sequence[tuple[float, float]],
    rule: Rule,
    *,
    blocks: int,
    swapped: bool,
    most: int = 200,
    seed: int = 0,
) -> Share:
    """Compare some of the blocks, over and over.

    Args:
        pairs: Of each block the values of base and of head.
        rule: Of the verdict.
        blocks: Of one comparison; at most as many as there are pairs.
        swapped: Whether the sides of each block are swapped at random: they are equal.
        most: Comparisons; fewer where there are fewer subsets of blocks, and nothing is swapped.
        seed: Of what is drawn.

    Raises:
        StatsError: There are fewer blocks.
    """
    if not 2 <= blocks <= len(pairs):
        raise StatsError(f"{len(pairs)} blocks make no comparison of {blocks}")
    said: dict[tuple[tuple[int, bool], ...], bool] = {}
    found = number = 0
    for choice in _choices(len(pairs), blocks, swapped, most, random.Random(seed)):
        if choice not in said:
            sides = [pairs[index][::-1] if swap else pairs[index] for index, swap in choice]
            said[choice] = rule([base for base, _ in sides], [head for _, head in sides])
        found += said[choice]
        number += 1
    return Share(found=found, resampled=number, independent=len(pairs) // blocks)


def pooled(shares: Sequence[Share]) -> Share:
    """The shares of several benchmarks as one; there is at least one."""
    return Share(
        found=sum(share.found for share in shares),
        resampled=sum(share.resampled for share in shares),
        independent=sum(share.independent for share in shares),
    )


def _choices(
    number: int, size: int, swapped: bool, most: int, draw: random.Random
) -> Iterator[tuple[tuple[int, bool], ...]]:
    if not swapped and math.comb(number, size) <= most:
        for chosen in itertools.combinations(range(number), size):
            yield tuple((index, False) for index in chosen)
        return
    for _ in range(most):
        chosen = tuple(sorted(draw.sample(range(number), size)))
        yield tuple((index, swapped and draw.random() < 0.5) for index in chosen)


def _robust_sd(values: Sequence[float]) -> float:
    center = median(values)
    return NORMAL * median(abs(value - center) for value in values)
