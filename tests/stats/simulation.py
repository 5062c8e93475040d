"""The error rates of the whole rule, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from regress.stats.compare import Criteria, answer, holm
from regress.stats.interval import Design, paired_estimate, unpaired_estimate

Noise = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


def normal(draw: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Log values of launches as the t test would have them."""
    return draw.normal(0, 0.01, shape)


def heavy(draw: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Log values with the tails of Student's t at three degrees of freedom."""
    return 0.01 * draw.standard_t(3, shape)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A suite that is compared with itself, again and again."""

    family: int
    """Benchmarks."""

    launches: int
    """A side."""

    design: Design
    """Paired, or two groups of launches."""

    noise: Noise
    """Of a launch."""


def alarms(case: Case, repeats: int, *, seed: int, false_alarms: float = 0.01) -> int:
    """Count the repeats in which identical sides were called `regressed` anywhere in the suite.

    ``min_change`` is 0: nothing but the test stands between noise and an alarm.
    """
    draw = np.random.default_rng(seed)
    criteria = Criteria(min_change=0.0, must_see=0.0, false_alarms=false_alarms)
    estimator = paired_estimate if case.design == "paired" else unpaired_estimate
    shape = (case.family, 2, case.launches)
    count = 0
    for _ in range(repeats):
        suite = np.exp(case.noise(draw, shape)).tolist()
        estimates = [estimator(base, head, "lower") for base, head in suite]
        worse = holm([estimate.p_worse for estimate in estimates])
        better = holm([estimate.p_better for estimate in estimates])
        count += any(
            answer(estimate, criteria, p_worse=w, p_better=b) == "regressed"
            for estimate, w, b in zip(estimates, worse, better, strict=True)
        )
    return count


def rate_interval(count: int, repeats: int, confidence: float = 0.99) -> tuple[float, float]:
    """Clopper and Pearson's interval of a rate."""
    tail = (1 - confidence) / 2
    low = special.betaincinv(count, repeats - count + 1, tail) if count else 0.0
    high = special.betaincinv(count + 1, repeats - count, 1 - tail) if count < repeats else 1.0
    return float(low), float(high)


DESIGNS: tuple[tuple[Design, int], ...] = (("paired", 5), ("paired", 8), ("unpaired", 8))

CASES = tuple(
    Case(family=family, launches=launches, design=design, noise=noise)
    for family in (1, 5, 20)
    for design, launches in DESIGNS
    for noise in (normal, heavy)
)


def calibration(repeats: int = 20_000, seed: int = 20) -> dict[Case, tuple[float, float]]:
    """The interval of the false-alarm rate in every case; some minutes at the default length."""
    return {case: rate_interval(alarms(case, repeats, seed=seed), repeats) for case in CASES}


def main() -> None:
    """Print the error rates as a table for docs/method.md."""
    print("| benchmarks | launches a side | noise | false alarms, 99 % interval |")
    print("| --- | --- | --- | --- |")
    for case, (low, high) in calibration().items():
        noise = case.noise.__name__
        print(
            f"| {case.family} | {case.launches} {case.design} | {noise} | {low:.2%} to {high:.2%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
