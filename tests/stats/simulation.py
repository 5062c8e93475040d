"""Error rates of the whole rule: ``python -m tests.stats.simulation [rates] [orders] [costs] [days]``."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from regress.stats.compare import CONFIDENCE, Answer, Criteria, answer, fewest, holm, sees
from regress.stats.interval import Design, Estimate, paired_estimate, unpaired_estimate
from regress.stats.prior import Prior, prior_of
from regress.stats.sequential import sequential_p, shares
from regress.verdict.buying import hopeless
from regress.verdict.noise import between_runs

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Floats]
"""Logs of launches in the order in which they are taken, shape ``(benchmarks, launches)``."""

SD = 0.01
"""Of normal noise; the others are made of it."""

LOOKS = (3, 5, 8)


def normal(draw: np.random.Generator, benchmarks: int, launches: int) -> Floats:
    """Independent launches, as the t test would have them."""
    return draw.normal(0, SD, (benchmarks, launches))


def heavy(draw: np.random.Generator, benchmarks: int, launches: int) -> Floats:
    """The tails of Student's t at three degrees of freedom."""
    return SD * draw.standard_t(3, (benchmarks, launches))


def spiky(draw: np.random.Generator, benchmarks: int, launches: int) -> Floats:
    """One launch in twenty takes ten standard deviations longer."""
    spikes = draw.random((benchmarks, launches)) < 0.05
    return normal(draw, benchmarks, launches) + 10 * SD * spikes


def spread_spikes(draw: np.random.Generator, benchmarks: int, launches: int) -> Floats:
    """One launch in ten takes longer, by an exponential time of ten standard deviations on average."""
    spikes = draw.random((benchmarks, launches)) < 0.1
    return normal(draw, benchmarks, launches) + spikes * draw.exponential(10 * SD, (benchmarks, launches))


def bimodal(draw: np.random.Generator, benchmarks: int, launches: int) -> Floats:
    """Each launch is fast or slow, at even odds, ten standard deviations apart."""
    return normal(draw, benchmarks, launches) + 10 * SD * (draw.random((benchmarks, launches)) < 0.5)


def lopsided(draw: np.random.Generator, benchmarks: int, launches: int) -> Floats:
    """One launch in five is slow."""
    return normal(draw, benchmarks, launches) + 10 * SD * (draw.random((benchmarks, launches)) < 0.2)


def autocorrelated(draw: np.random.Generator, benchmarks: int, launches: int) -> Floats:
    """What the machine does lasts: AR(1) with coefficient 0.5 from launch to launch, as they are taken."""
    found = draw.normal(0, SD, (benchmarks, launches))
    for place in range(1, launches):
        found[:, place] = 0.5 * found[:, place - 1] + math.sqrt(0.75) * found[:, place]
    return found


def correlated(draw: np.random.Generator, benchmarks: int, launches: int) -> Floats:
    """Half of the variance of a launch is common to all benchmarks."""
    common = draw.normal(0, SD, (1, launches))
    return math.sqrt(0.5) * (common + draw.normal(0, SD, (benchmarks, launches)))


Order = Literal["drawn", "pairs", "own"]
"""Who goes first: drawn for each block, or in permuted pairs of blocks; or each side has noise of its own."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A suite that is compared, again and again."""

    benchmarks: int
    """In the family."""

    looks: tuple[int, ...]
    """Blocks, or launches a side, after which it is asked; one number is one look."""

    design: Design
    """Paired, or two groups of launches that were taken in turns."""

    noise: Noise
    """Of a launch."""

    history: int = 0
    """Earlier blocks, or launches, that are known."""

    min_change: float = 0.0
    """In standard deviations of a launch. 0: nothing but the test stands between noise and an alarm."""

    changed: int = 0
    """Benchmarks that are far slower; an alarm is one of the others."""

    order: Order = "drawn"
    """Of the two launches of a block."""


def alarms(case: Case, repeats: int, *, seed: int, false_alarms: float = 0.01) -> int:
    """Count the repeats in which a benchmark that had not changed was called `regressed`."""
    draw = np.random.default_rng(seed)
    criteria = Criteria(
        min_change=case.min_change * SD, must_see=3 * case.min_change * SD, false_alarms=false_alarms
    )
    count = 0
    for _ in range(repeats):
        ends = compared(draw, case, criteria, changes=[1.0] * case.changed)
        count += any(end.answer == "regressed" for end in ends[case.changed :])
    return count


@dataclass(frozen=True, kw_only=True)
class End:
    """How a benchmark ended."""

    answer: Answer
    """To the question."""

    blocks: int
    """That it took."""

    estimate: Estimate
    """At its last look."""


def compared(
    draw: np.random.Generator, case: Case, criteria: Criteria, changes: Sequence[float] = ()
) -> list[End]:
    """Buy blocks for a suite as a comparison does.

    Args:
        draw: The noise is drawn from it.
        case: The suite.
        criteria: What counts as a change.
        changes: Log ratios of the first benchmarks; the others did not change.

    Returns:
        How each benchmark ended.
    """
    base, head = _sides(draw, case)
    for place, change in enumerate(changes):
        head[place] = [value * math.exp(change) for value in head[place]]
    priors = [_history(draw, case) for _ in range(case.benchmarks)] if case.history else None
    most = case.looks[-1]
    looked: list[list[Estimate]] = [[] for _ in range(case.benchmarks)]
    answers: list[Answer] = ["inconclusive"] * case.benchmarks
    blocks = [most] * case.benchmarks
    left = list(range(case.benchmarks))
    for look in case.looks:
        for place in left:
            prior = priors[place] if priors else None
            estimate = _estimate(case, base[place][:look], head[place][:look], prior)
            if estimate is not None:
                looked[place].append(estimate)
        asked = [place for place in range(case.benchmarks) if looked[place]]
        worse = holm([_over(looked[place], "p_worse") for place in asked])
        better = holm([_over(looked[place], "p_better") for place in asked])
        for place, p_worse, p_better in zip(asked, worse, better, strict=True):
            if place in left or answers[place] == "inconclusive":
                answers[place] = answer(looked[place][-1], criteria, p_worse=p_worse, p_better=p_better)
        for place in [each for each in left if each in asked]:
            gives_up = look < most and hopeless(looked[place][-1], criteria, case.benchmarks, most)
            if answers[place] != "inconclusive" or gives_up:
                left.remove(place)
                blocks[place] = look
    return [
        End(answer=found, blocks=took, estimate=estimates[-1])
        for found, took, estimates in zip(answers, blocks, looked, strict=True)
    ]


def _over(estimates: Sequence[Estimate], name: str) -> float:
    p_values = [getattr(estimate, name) for estimate in estimates]
    return sequential_p(p_values, [estimate.share for estimate in estimates])


def _estimate(case: Case, base: list[float], head: list[float], prior: Prior | None) -> Estimate | None:
    """The estimate at a look; ``None`` where nothing is claimed on so few."""
    least = fewest(case.design, prior)
    looks = [look for look in case.looks if look >= least] or [case.looks[-1]]
    if len(base) < min(looks):
        return None
    estimator = paired_estimate if case.design == "paired" else unpaired_estimate
    spent = shares(len(looks))
    place = next(place for place, look in enumerate(looks) if look >= len(base))
    return estimator(base, head, "lower", prior=prior, shares=(spent[place], spent[-1]))


def _sides(draw: np.random.Generator, case: Case) -> tuple[list[list[float]], list[list[float]]]:
    """Both sides of every benchmark."""
    most = case.looks[-1]
    if case.order == "own":
        base, head = (np.exp(case.noise(draw, case.benchmarks, most)) for _ in range(2))
        return base.tolist(), head.tolist()
    taken = np.exp(case.noise(draw, case.benchmarks, 2 * most)).reshape(case.benchmarks, most, 2)
    first = draw.random(most) < 0.5
    if case.order == "pairs":
        first[1::2] = ~first[: most - 1 : 2]
    base = np.where(first, taken[:, :, 0], taken[:, :, 1])
    head = np.where(first, taken[:, :, 1], taken[:, :, 0])
    return base.tolist(), head.tolist()


def _history(draw: np.random.Generator, case: Case) -> Prior | None:
    """What earlier launches of a benchmark tell, or earlier blocks."""
    if case.design == "unpaired":
        return prior_of([case.noise(draw, 1, case.history)[0].tolist()])
    earlier = case.noise(draw, 1, 2 * case.history).reshape(case.history, 2)
    sign = draw.choice([-1.0, 1.0], case.history)
    return prior_of([(sign * (earlier[:, 1] - earlier[:, 0])).tolist()], launches_each=2)


def rate_interval(count: int, repeats: int, confidence: float = 0.99) -> tuple[float, float]:
    """Clopper and Pearson's interval of a rate."""
    tail = (1 - confidence) / 2
    low = special.betaincinv(count, repeats - count + 1, tail) if count else 0.0
    high = special.betaincinv(count + 1, repeats - count, 1 - tail) if count < repeats else 1.0
    return float(low), float(high)


ANY: tuple[Noise, ...] = (normal, autocorrelated, heavy, spiky, spread_spikes, correlated)
MODES: tuple[Noise, ...] = (bimodal, lopsided)
SIZES = (1, 5, 20, 200)


def rows() -> list[Case]:
    """What is stated: from 3 blocks with a history, from 5 without, from 7 where launches have modes."""
    found = []
    for noise in (*ANY, *MODES):
        first = 7 if noise in MODES else 5
        found += [
            _case(1, (3,), "paired", noise, history=12),
            _case(1, (first,), "paired", noise),
            _case(1, LOOKS, "paired", noise, history=12, min_change=1.0),
            _case(1, (first, 8), "paired", noise, min_change=1.0),
            _case(1, (3,), "unpaired", noise, history=12),
            _case(1, (first,), "unpaired", noise),
        ]
    return found


def _case(
    benchmarks: int,
    looks: tuple[int, ...],
    design: Design,
    noise: Noise,
    *,
    history: int = 0,
    min_change: float = 0.0,
    changed: int = 0,
) -> Case:
    return Case(
        benchmarks=benchmarks,
        looks=looks,
        design=design,
        noise=noise,
        history=history,
        min_change=min_change,
        changed=changed,
    )


def print_orders(repeats: int = 20_000, seed: int = 50) -> None:
    """Print what lasting noise does when sides go first in pairs, as they are drawn, or apart."""
    print("| who goes first | blocks | false alarms, 99 % interval |")
    print("| --- | --- | --- |")
    orders: dict[Order, str] = {
        "drawn": "drawn for each block",
        "pairs": "permuted pairs",
        "own": "each side has noise of its own",
    }
    for (order, name), blocks in itertools.product(orders.items(), (5, 8)):
        case = replace(_case(1, (blocks,), "paired", autocorrelated), order=order)
        low, high = rate_interval(alarms(case, repeats, seed=seed), repeats)
        print(f"| {name} | {blocks} | {low:.2%} to {high:.2%} |", flush=True)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What buying blocks spends and finds, beside a plan whose number of blocks is fixed before."""

    noise: float
    """Standard deviation of a block's difference, over ``min_change``."""

    change: float
    """True change, over ``min_change``."""

    fixed: float
    """Blocks of the fixed plan that finds three times ``min_change`` in 9 of 10, nothing being known."""

    fixed_known: float
    """The same with the history."""

    spent: float
    """Blocks of each benchmark, on average."""

    decided: float
    """Share of the benchmarks that are decided."""

    right: float
    """Share that is decided rightly."""

    off: float
    """Mean error of the estimates, over ``min_change``: stopping favours the extreme ones."""

    covered: float
    """Share of the 90 % intervals, as they are printed, that hold the true change."""


def cost(
    noise: float,
    change: float,
    *,
    benchmarks: int,
    history: int,
    repeats: int,
    seed: int,
    looks: tuple[int, ...] = LOOKS,
) -> Cost:
    """Simulate suites in which one benchmark in four changed, or none."""
    draw = np.random.default_rng(seed)
    min_change = math.sqrt(2) * SD / noise
    criteria = Criteria(min_change=min_change, must_see=3 * min_change, false_alarms=0.01)
    case = _case(benchmarks, looks, "paired", normal, history=history, min_change=min_change / SD)
    moved = max(1, benchmarks // 4) if change else 0
    shown = range(moved) if change else range(benchmarks)
    rightly = "regressed" if change > 1 else "unchanged"
    ends: list[End] = []
    for _ in range(repeats):
        found = compared(draw, case, criteria, [math.log1p(change * min_change)] * moved)
        ends += [found[place] for place in shown]
    bounds = [end.estimate.bounds(CONFIDENCE) for end in ends]
    prior = None
    if history:
        prior = Prior(sd=math.sqrt(2) * SD, df=10, launches=2 * history, residuals=(0.0,) * history)
    return Cost(
        noise=noise,
        change=change,
        fixed=fixed_plan(criteria, benchmarks, None),
        fixed_known=fixed_plan(criteria, benchmarks, prior),
        spent=fmean(end.blocks for end in ends),
        decided=fmean(end.answer != "inconclusive" for end in ends),
        right=fmean(end.answer == rightly for end in ends),
        off=fmean(end.estimate.change for end in ends) / min_change - change,
        covered=fmean(low <= change * min_change <= high for low, high in bounds),
    )


def fixed_plan(criteria: Criteria, benchmarks: int, prior: Prior | None) -> int:
    """Blocks with which ``must_see`` is found in 9 of 10, looked at once."""
    for blocks in range(fewest("paired", prior), 1000):
        drawn = np.random.default_rng(blocks).normal(0, SD, 4)
        estimate = paired_estimate([1.0] * 4, np.exp(drawn).tolist(), "lower", prior=prior)
        noisy = replace(estimate, sd=math.sqrt(2) * SD)
        if sees(noisy, criteria, criteria.false_alarms / benchmarks, blocks) <= criteria.must_see:
            return blocks
    raise AssertionError("no affordable plan")


def print_costs(repeats: int = 400, benchmarks: int = 20) -> None:
    """Print what buying blocks spends, as a table for docs/method.md."""
    head = (
        "history | noise | change | fixed | with history | bought | spent | decided | rightly | off | covered"
    )
    print(f"| {head} |")
    print("|" + " --- |" * 11)
    for history, noise, change in itertools.product(
        (40, 12, 0), (0.1, 0.25, 0.35, 0.5, 1.0, 2.0), (0.0, 1.0, 5 / 3, 5.0)
    ):
        found = cost(noise, change, benchmarks=benchmarks, history=history, repeats=repeats, seed=30)
        cells = (
            history or "none",
            noise,
            f"{change:.1f}",
            found.fixed,
            found.fixed_known,
            f"{found.spent:.2f}",
            f"{found.spent / found.fixed:.0%}",
            f"{found.decided:.0%}",
            f"{found.right:.0%}",
            f"{found.off:+.2f}",
            f"{found.covered:.0%}",
        )
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def days(repeats: int, *, sessions: int, launches: int, between: float, seed: int) -> int:
    """Count false alarms between runs of two days, whose variation is known from earlier ones.

    Args:
        repeats: Comparisons.
        sessions: Earlier runs; 0: nobody knows how days differ.
        launches: Of each run.
        between: Standard deviation of a day, over that of a launch.
        seed: The noise is drawn from it.
    """
    draw = np.random.default_rng(seed)
    count = 0
    for _ in range(repeats):
        level = draw.normal(0, between * SD, sessions + 2)[:, None]
        runs = level + draw.normal(0, SD, (sessions + 2, launches))
        groups = runs[:-2].tolist()
        own = prior_of(groups)
        apart = between_runs([(fmean(group), 1 / launches) for group in groups], own)
        estimate = unpaired_estimate(
            np.exp(runs[-2]).tolist(),
            np.exp(runs[-1]).tolist(),
            "lower",
            prior=own,
            apart=apart or "unknown",
        )
        count += estimate.p_worse <= 0.01
    return count


def print_days(repeats: int = 5_000) -> None:
    """Print the false alarms between runs of two days, as a table for docs/method.md."""
    print("| earlier runs | launches | day / launch | false alarms, 99 % interval |")
    print("| --- | --- | --- | --- |")
    for sessions, between in itertools.product((0, 4, 8, 20), (0.0, 1.0, 3.0)):
        count = days(repeats, sessions=sessions, launches=8, between=between, seed=40)
        low, high = rate_interval(count, repeats)
        print(f"| {sessions or 'none'} | 8 | {between} | {low:.2%} to {high:.2%} |", flush=True)


def repeats_of(case: Case) -> int:
    """At least 2,000, as the target demands; more where they are cheap."""
    return max(2_000, min(20_000, 40_000 // case.benchmarks))


def print_rates(seed: int = 20) -> None:
    """Print the false alarms of identical suites as a table for docs/method.md."""
    print(f"| noise | design | blocks | history | {' | '.join(map(str, SIZES))} benchmarks |")
    print("| --- | --- | --- | --- |" + " --- |" * len(SIZES))
    with ProcessPoolExecutor() as workers:
        everything = [replace(row, benchmarks=size) for row in rows() for size in SIZES]
        rates = workers.map(functools.partial(_rate, seed), everything)
        for row in rows():
            cells = [f"{low:.2%} to {high:.2%}" for low, high in itertools.islice(rates, len(SIZES))]
            name, looks = row.noise.__name__.replace("_", " "), " then ".join(map(str, row.looks))
            known = row.history or "none"
            print(f"| {name} | {row.design} | {looks} | {known} | {' | '.join(cells)} |", flush=True)
    print_strong(seed)


def print_strong(seed: int) -> None:
    """Print the false alarms of ten benchmarks beside ten that are far slower."""
    for noise in (normal, heavy):
        case = _case(20, LOOKS, "paired", noise, history=12, min_change=1.0, changed=10)
        low, high = _rate(seed, case)
        print(
            f"ten of twenty far slower, {noise.__name__}: {low:.2%} to {high:.2%} among the others",
            flush=True,
        )


def _rate(seed: int, case: Case) -> tuple[float, float]:
    repeats = repeats_of(case)
    return rate_interval(alarms(case, repeats, seed=seed), repeats)


def main() -> None:
    """Print what is asked for; all without arguments."""
    wanted = sys.argv[1:] or ["rates", "orders", "costs", "days"]
    if "rates" in wanted:
        print_rates()
    if "orders" in wanted:
        print_orders()
    if "costs" in wanted:
        print_costs()
    if "days" in wanted:
        print_days()


if __name__ == "__main__":
    main()
