"""How the rule does on real launches: ``python -m tests.stats.launches``.

Groups of ten launches of one training job each, on GPU clusters. A group is split at random into
two sides; one is slowed down by a known factor, or by none. The launches that are left are its
history, and the other groups are the other benchmarks of the platform.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from regress.stats.compare import fewest
from regress.stats.interval import as_log, unpaired_estimate
from regress.stats.prior import Prior, borrow, prior_of
from tests.stats.labels import data_path

Floats = NDArray[np.float64]

DATA = "launches/mlperf.json"
MIN_CHANGE = 0.005
LEVEL = 0.01
SUITE = 20
"""Benchmarks of a suite, one of which is slowed down."""

Found = Callable[["Split"], float]
"""The one-sided p-value of "head is slower" that a test gives."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """A group taken apart; logs of seconds."""

    base: tuple[float, ...]
    head: tuple[float, ...]
    left: tuple[float, ...]
    """Launches on neither side."""

    others: tuple[Prior, ...]
    """What the other groups tell."""

    sd: float
    """Standard deviation of the whole group, which no test may know."""


def load() -> list[tuple[float, ...]]:
    """Logs of the median time of each launch, its first window left out, group by group."""
    groups = json.loads(data_path(DATA).read_text(encoding="utf-8"))
    return [tuple(math.log(median(times[1:])) for times in group["launches"]) for group in groups]


def splits(groups: Sequence[tuple[float, ...]], launches: int, repeats: int, seed: int) -> list[list[Split]]:
    """Random splits of each group into two sides of so many launches."""
    draw = np.random.default_rng(seed)
    priors = [prior_of([group]) for group in groups]
    found = []
    for place, group in enumerate(groups):
        others = tuple(each for other, each in enumerate(priors) if other != place and each is not None)
        orders = (draw.permutation(len(group)) for _ in range(repeats))
        shuffled = ([group[index] for index in order] for order in orders)
        found.append(
            [
                Split(
                    base=tuple(each[:launches]),
                    head=tuple(each[launches : 2 * launches]),
                    left=tuple(each[2 * launches :]),
                    others=others,
                    sd=float(np.std(group, ddof=1)),
                )
                for each in shuffled
            ]
        )
    return found


def ours(split: Split) -> float:
    """The rule of `regress.compare`; 1 where it claims nothing on so few launches."""
    if len(split.head) < fewest("unpaired", known(split)):
        return 1.0
    estimate = unpaired_estimate(
        [math.exp(value) for value in split.base],
        [math.exp(value) for value in split.head],
        "lower",
        prior=known(split),
    )
    return estimate.p_worse


def known(split: Split) -> Prior | None:
    """What is known of a group's noise before the two sides are measured."""
    return borrow(prior_of([split.left]), split.others)


def oracle(split: Split) -> float:
    """What nobody can do: the noise of the group is known from all ten launches."""
    difference = np.mean(split.head) - np.mean(split.base)
    return float(stats.norm.sf(difference / (split.sd * math.sqrt(2 / len(split.head)))))


def student(split: Split) -> float:
    """Student's t on the logs."""
    return float(stats.ttest_ind(split.head, split.base, alternative="greater").pvalue)


def welch(split: Split) -> float:
    """Welch's t on the logs."""
    test = stats.ttest_ind(split.head, split.base, equal_var=False, alternative="greater")
    return float(test.pvalue)


def permutation(split: Split) -> float:
    """All ways to deal the launches to two sides, by the difference of the means."""
    pooled, size = np.array(split.base + split.head), len(split.head)
    sums = [pooled[list(each)].sum() for each in itertools.combinations(range(len(pooled)), size)]
    return float(np.mean(np.array(sums) >= sum(split.head) - 1e-12))


def slowed(split: Split, change: float) -> Split:
    """The same with head slower by a fraction."""
    moved = tuple(value + math.log1p(change) for value in split.head)
    return replace(split, head=moved)


def rates(groups: Sequence[Sequence[Split]], change: float, test: Found, family: int = 1) -> Floats:
    """Share of the splits of each group in which the test rejects and the estimate is large enough.

    In a family nothing else changed, so the smallest p-value is held against the level of Holm's
    first step.
    """
    least = as_log(MIN_CHANGE, "lower")
    return np.array(
        [
            np.mean(
                [
                    test(each) <= LEVEL / family and np.mean(each.head) - np.mean(each.base) >= least
                    for each in (slowed(split, change) for split in group)
                ]
            )
            for group in groups
        ]
    )


def rejected(groups: Sequence[Sequence[Split]], test: Found) -> Floats:
    """Share of identical sides that are called different, whatever the size of the difference."""
    return np.array([np.mean([test(split) <= LEVEL for split in group]) for group in groups])


def lower_limit(rate: Floats, seed: int = 0) -> float:
    """Lower 95 % limit of the mean over groups, by bootstrap."""
    draw = np.random.default_rng(seed)
    means = rate[draw.integers(0, len(rate), (4000, len(rate)))].mean(axis=1)
    return float(np.percentile(means, 5))


CONTENDERS: dict[str, Found] = {
    "regress": ours,
    "Student": student,
    "Welch": welch,
    "permutation": permutation,
    "noise known": oracle,
}


def main(repeats: int = 60) -> None:
    """Print the table of docs/method.md."""
    if not data_path(DATA).exists():
        print(f"skipped: no {data_path(DATA)}; REGRESS_DATA names the folder of the real data")
        return
    groups = load()
    print("| test | launches | A/A rejected | +1 % found | +2 % found | +1 % in 20 | +2 % in 20 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for launches in (3, 4, 5):
        taken = splits(groups, launches, repeats, seed=launches)
        for name, test in CONTENDERS.items():
            cells = [f"{100 * rejected(taken, test).mean():.1f} %"]
            for family, change in itertools.product((1, SUITE), (0.01, 0.02)):
                found = rates(taken, change, test, family)
                cells.append(f"{100 * found.mean():.1f} % (≥ {100 * lower_limit(found):.1f})")
            print(f"| {name} | {launches} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
