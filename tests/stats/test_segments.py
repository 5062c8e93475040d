"""The search for boundaries against a slow and plain one."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from regress.stats.segments import Rules, _candidates, _highest_near, _partition, _pruned, segmentation
from regress.stats.trace import Trace, trace

RULES = Rules(shortest=3, newest=2, penalty=1.0, young_penalty=1.0, z=3.0, min_change=0.005, share=0.0)


def price(seen: Trace, cuts: tuple[int, ...]) -> float:
    """Weighted squares around the level of each segment, and the penalty per level."""
    total = 0.0
    for start, end in itertools.pairwise((0, *cuts, len(seen))):
        logs, weights = seen.logs[start:end], seen.noise[start:end] ** -2
        level = float((weights * logs).sum() / weights.sum())
        total += float((weights * (logs - level) ** 2).sum()) + RULES.penalty * math.log(len(seen))
    return total


def allowed(cuts: tuple[int, ...], n: int) -> bool:
    lengths = [end - start for start, end in itertools.pairwise((0, *cuts, n))]
    return lengths[-1] >= RULES.newest and all(length >= RULES.shortest for length in lengths[:-1])


@pytest.mark.parametrize("seed", range(40))
def test_the_partition_is_the_cheapest(seed: int) -> None:
    draw = np.random.default_rng(seed)
    seen = trace(np.exp(draw.normal(0, 0.01, 12) + 0.03 * draw.integers(0, 2, 12)))
    places = range(1, 12)
    choices = [
        cuts for number in range(5) for cuts in itertools.combinations(places, number) if allowed(cuts, 12)
    ]
    best = min(choices, key=lambda cuts: price(seen, cuts))
    assert tuple(_partition(seen, np.array(places), RULES)) == best


def test_a_young_last_level_is_cheaper() -> None:
    logs = np.tile([0.0, 0.01], 60)
    logs[80:] += 0.02
    rules = replace(RULES, penalty=40.0)
    for young_penalty, cuts in ((40.0, []), (1.0, [80])):
        seen = trace(np.exp(logs[:90]))
        assert _partition(seen, np.array([80]), replace(rules, young_penalty=young_penalty)) == cuts
    assert _partition(trace(np.exp(logs[:115])), np.array([80]), replace(rules, young_penalty=1.0)) == []


def test_the_weakest_boundary_goes_first_and_its_neighbours_are_judged_anew() -> None:
    judged = []

    def strength(start: int, boundary: int, end: int) -> float:
        judged.append((start, boundary, end))
        return {(10, 20, 30): 0.5, (0, 10, 20): 0.7, (0, 10, 30): 1.2, (20, 30, 40): 0.9}.get(
            (start, boundary, end), 1.5
        )

    assert _pruned([10, 20, 30], 40, strength) == [10, 30]
    assert judged[3:] == [(0, 10, 30), (10, 30, 40)]


@pytest.mark.parametrize("reach", [1, 2, 3, 5, 8])
def test_the_highest_near(reach: int) -> None:
    values = np.random.default_rng(reach).normal(size=40)
    plain = [values[max(0, place - reach) : place + reach + 1].max() for place in range(40)]
    assert _highest_near(values, reach).tolist() == plain


def test_a_long_level_is_not_parted_by_the_reach_of_the_search() -> None:
    rules = replace(RULES, z=6.0)
    seen = trace(np.exp(np.random.default_rng(2).normal(0, 0.01, 20_000)))
    assert len(_partition(seen, _candidates(seen, rules), rules)) > 20
    assert segmentation(seen, rules).cuts == ()
