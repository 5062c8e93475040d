"""How well changes in a history are found, beside other tools, and how often where there is none.

``python -m tests.stats.history [labels] [rates] [speed]`` prints the tables of docs/method.md.
"""

from __future__ import annotations

import itertools
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import signal, special

from regress.stats.drift import drift
from regress.stats.series import CONFIRMED, SUSPECTED, change_points, points
from tests.stats.labels import (
    NEAR,
    Labelled,
    Method,
    count,
    cross_validated,
    data_path,
    judged,
    load,
    resampled_f1,
    seen_by,
    shuffled_share,
)
from tests.stats.peers import divisive_t, kernel, windowed_t

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Floats]
"""Logs of a series in which nothing changes."""

SD = 0.01


def confirmed(values: Sequence[float]) -> list[int]:
    return [point.index for point in change_points(values) if point.state == "confirmed"]


def reported(values: Sequence[float]) -> list[int]:
    return [point.index for point in change_points(values)]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A method in the table."""

    name: str
    sure: Method
    early: Method
    quadratic: bool = False
    """Whether it needs memory that grows with the square of the points."""


OURS = Contender(name="regress", sure=confirmed, early=reported)
PEERS = (
    Contender(name="Mozilla, t > 7", sure=windowed_t, early=windowed_t),
    Contender(name="Otava, p 1e-6, 1 %", sure=divisive_t, early=divisive_t),
    Contender(name="kernel, rbf, 10", sure=kernel, early=kernel, quadratic=True),
)


def independent(draw: np.random.Generator, n: int) -> Floats:
    return draw.normal(0, SD, n)


def ar1(correlation: float) -> Noise:
    def noise(draw: np.random.Generator, n: int) -> Floats:
        logs = draw.normal(0, SD, n)
        logs[1:] *= np.sqrt(1 - correlation**2)
        filtered: Floats = signal.lfilter([1.0], [1.0, -correlation], logs)
        return filtered

    return noise


def wandering(draw: np.random.Generator, n: int) -> Floats:
    """A level that moves slowly and comes back, under noise that hides it from neighbours."""
    return ar1(0.9)(draw, n) + draw.normal(0, SD, n)


def heavy(draw: np.random.Generator, n: int) -> Floats:
    return SD * draw.standard_t(3, n)


def spiky(draw: np.random.Generator, n: int) -> Floats:
    return draw.normal(0, SD, n) + 20 * SD * (draw.random(n) < 0.05)


def bimodal(draw: np.random.Generator, n: int) -> Floats:
    return draw.normal(0, SD, n) + 5 * SD * (draw.random(n) < 0.3)


def rounded(draw: np.random.Generator, n: int) -> Floats:
    """Whole numbers around 50, most of them equal."""
    return np.log(np.round(50 + 0.4 * draw.normal(size=n)))


NOISES: dict[str, Noise] = {
    "independent": independent,
    "AR(1) 0.5": ar1(0.5),
    "AR(1) 0.8": ar1(0.8),
    "wandering": wandering,
    "heavy": heavy,
    "spiky": spiky,
    "bimodal": bimodal,
    "rounded": rounded,
}


@dataclass(frozen=True, kw_only=True)
class Alarms:
    """Of series in which nothing changed."""

    suspected: int
    confirmed: int
    new_points: int


def alarms(noise: Noise, *, series: int, new_points: int, seed: int) -> Alarms:
    """Watch series of 100 to 500 points grow point by point, and count what is reported for the first time.

    A point that lies within `NEAR` of one reported before is the same alarm.
    """
    draw = np.random.default_rng(seed)
    totals = {"suspected": 0, "confirmed": 0}
    for _ in range(series):
        start = int(draw.integers(100, 501 - new_points))
        values = np.exp(noise(draw, start + new_points))
        seen: dict[str, list[int]] = {"suspected": [], "confirmed": []}
        for end in range(start, start + new_points + 1):
            for point in change_points(values[:end]):
                for state in {"suspected", point.state}:
                    if all(abs(point.index - other) > NEAR for other in seen[state]):
                        seen[state].append(point.index)
                        totals[state] += end > start
    return Alarms(new_points=series * new_points, **totals)


def per_hundred(count: int, new_points: int, confidence: float = 0.99) -> tuple[float, float]:
    """Interval of the rate per 100 new points, alarms being rare and independent (Garwood 1936)."""
    tail = (1 - confidence) / 2
    low = special.gammaincinv(count, tail) if count else 0.0
    high = special.gammaincinv(count + 1, 1 - tail)
    return 100 * float(low) / new_points, 100 * float(high) / new_points


def stepped(n: int, seed: int = 5) -> Floats:
    """A long history: a step of about 3 % every 100 points, noise of 1 %."""
    draw = np.random.default_rng(seed)
    steps = np.repeat(draw.normal(0, 3 * SD, n // 100), 100)
    return np.exp(steps + draw.normal(0, SD, n))


def cost(method: Method, values: Floats, repeats: int = 3) -> tuple[float, float]:
    """CPU seconds, the best of a few runs, and the most megabytes that were allocated at once."""
    numbers = values.tolist()
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        method(numbers)
        seconds.append(time.process_time() - begin)
    tracemalloc.start()
    method(numbers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return min(seconds), peak / 1e6


def print_labels(series: Sequence[Labelled]) -> None:
    """The contest on labelled series."""
    known = judged(series)
    print(
        f"{len(known)} series, {sum(len(one.labels or ()) for one in known)} labels, "
        f"{sum(len(one.unanimous) for one in known)} of them unanimous\n"
    )
    print("| method | precision | recall | F1 | 95 % limits | shuffled | by 3 / 5 / 12 points |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    resampled = {}
    for one in (OURS, *PEERS):
        counts = count(one.sure, known)
        resampled[one.name] = resampled_f1(counts)
        low, high = np.quantile(resampled[one.name], [0.025, 0.975])
        seen = [seen_by(method, known, k) for method, k in ((one.early, 3), (one.early, 5), (one.sure, 12))]
        print(
            f"| {one.name} | {counts.precision:.3f} | {counts.recall:.3f} | {counts.f1:.3f} "
            f"| {low:.3f} to {high:.3f} | {shuffled_share(one.sure, series):.3f} "
            f"| {' / '.join(f'{share:.2f}' for share in seen)} |",
            flush=True,
        )
    for peer in PEERS:
        low, high = np.quantile(resampled[OURS.name] - resampled[peer.name], [0.025, 0.975])
        print(f"\nF1 above that of {peer.name}, same draws: {low:+.3f} to {high:+.3f}")
    grid = itertools.product((4.25, 4.75, 5.25, 5.75), (5.5, 6.5, 7.5), (0.2, 0.25, 0.3))
    rules = [replace(CONFIRMED, z=z, penalty=penalty, share=share) for z, penalty, share in grid]
    candidates = [count(_confirmed_by(rule), known) for rule in rules]
    scores = [one.f1 for one in candidates]
    honest = [cross_validated(candidates, seed=seed).f1 for seed in range(20)]
    print(
        f"\n{len(rules)} neighbouring rules: F1 {min(scores):.3f} to {max(scores):.3f}; rules chosen on nine "
        f"tenths and scored on the last, 20 times: {min(honest):.3f} to {max(honest):.3f}"
    )


def _confirmed_by(rules: object) -> Method:
    def method(values: Sequence[float]) -> list[int]:
        found = points(values, SUSPECTED, rules)  # type: ignore[arg-type]
        return [point.index for point in found if point.state == "confirmed"]

    return method


def print_rates(series: int = 2_000, new_points: int = 10, seed: int = 18) -> None:
    """Alarms where nothing changed."""
    print("| noise | suspected per 100 new points | confirmed | drift at 60, 120, 300 points |")
    print("| --- | --- | --- | --- |")
    for name, noise in NOISES.items():
        found = alarms(noise, series=series, new_points=new_points, seed=seed)
        cells = [
            "{:.2f} to {:.2f}".format(*per_hundred(number, found.new_points))
            for number in (found.suspected, found.confirmed)
        ]
        drifting = " ".join(
            f"{drift_alarms(noise, n=n, looks=series, seed=seed) / series:.2%}" for n in (60, 120, 300)
        )
        print(f"| {name} | {cells[0]} | {cells[1]} | {drifting} |", flush=True)


def drift_alarms(noise: Noise, *, n: int, looks: int, seed: int, slope: float = 0.0) -> int:
    """Looks at series of n points, anchored at the 30th, that find a drift; ``slope`` per point is added."""
    draw = np.random.default_rng(seed)
    trend = slope * np.maximum(np.arange(n) - 30, 0)
    found = 0
    for _ in range(looks):
        values = np.exp(noise(draw, n) + trend)
        found += drift(values, anchor=30, min_change=0.0) is not None
    return found


def covered(noise: Noise, *, step: float, after: int, series: int, seed: int) -> tuple[int, int]:
    """How many of the steps that were found have an interval that holds the true size, and how many are."""
    draw = np.random.default_rng(seed)
    inside = found = 0
    for _ in range(series):
        values = np.exp(noise(draw, 60 + after))
        values[60:] *= 1 + step
        for point in change_points(values):
            if abs(point.index - 60) <= NEAR:
                found += 1
                inside += point.low <= step <= point.high
    return inside, found


def print_coverage(series: int = 1_000, seed: int = 18) -> None:
    """How often the interval of a step that was found holds its true size."""
    print("| noise | step / noise | points after | found | interval holds the size |")
    print("| --- | --- | --- | --- | --- |")
    for name, step, after in itertools.product(("independent", "AR(1) 0.5"), (2, 3, 5), (5, 12, 40)):
        inside, found = covered(NOISES[name], step=step * SD, after=after, series=series, seed=seed)
        print(f"| {name} | {step} | {after} | {found / series:.0%} | {inside / found:.0%} |", flush=True)


def print_speed() -> None:
    """What a long history costs."""
    print("| method | points | CPU s | MB |")
    print("| --- | --- | --- | --- |")
    for one in (OURS, *PEERS):
        for n in (10_000, 100_000, 1_000_000) if one is OURS else (10_000,):
            if one.quadratic:
                print(f"| {one.name} | {n:,} | not run: memory grows with the square | |")
                continue
            seconds, megabytes = cost(one.early, stepped(n), repeats=3 if n < 100_000 else 1)
            print(f"| {one.name} | {n:,} | {seconds:.3f} | {megabytes:.1f} |", flush=True)


def main(parts: Sequence[str]) -> None:
    """Print the tables that are named, or all."""
    if not parts or "labels" in parts:
        series = load()
        if series is None:
            print(f"labelled series: skipped, {data_path()} is absent (set REGRESS_DATA)")
        else:
            print_labels(series)
        print()
    if not parts or "rates" in parts:
        print_rates()
        print()
        print_coverage()
        print()
    if not parts or "speed" in parts:
        print_speed()


if __name__ == "__main__":
    main(sys.argv[1:])
