"""Where the level of a series moves: the search for boundaries, and the tests they must pass.

Three steps, each near-linear in the points. *Candidates* are the places where the means of
the points before and after differ most, at scales that double. *Partition* chooses among
them the cheapest set, by dynamic programming: weighted squares around the levels, and a
penalty per level (Jackson et al. 2005, "An algorithm for optimal partitioning of data on an
interval"; the penalty grows with log n as in Yao 1988). It is loose: what it leaves out is
no step. *Pruning* then drops the weakest boundary, until each that is left passes its test
between the neighbours that are left.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from regress.stats.trace import REACH, Trace

Places = NDArray[np.intp]

LOOK_BACK = 150
"""Candidates back to which the start of a segment is looked for; keeps the partition linear."""

NUDGE = 6
"""Points by which a boundary may move to where it fits best."""

FEWEST = 3
"""Points that make a level of their own visible beside a boundary."""

CLEARLY = 10.0
"""Weighted squares by which one place must fit better than another."""

SPAN_REACH = 500
"""Points on each side that tell what a series spans."""

LARGE = 0.02
"""A step of this size is large whatever the series spans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a boundary must show."""

    shortest: int
    """Points that a level must last."""

    newest: int
    """The same for the last level, which may go on."""

    penalty: float
    """Price of a level in the partition, times log n."""

    young_penalty: float
    """The same for the last level while it has at most `REACH` points, and cannot pay as much yet."""

    z: float
    """Least shift of the level in its standard errors, after autocorrelation."""

    min_change: float
    """Least shift, a fraction of the old level."""

    share: float
    """Least shift as a share of what the series spans around it, unless it is `LARGE`; 0 asks for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentation:
    """The boundaries that passed."""

    cuts: tuple[int, ...]
    """First point of each new level, ascending."""

    autocorrelation: float
    """Of neighbours around the levels, in [0, 0.8]."""


def segmentation(trace: Trace, rules: Rules) -> Segmentation:
    """Find the boundaries of a series that pass the rules."""
    if len(trace) < rules.shortest + rules.newest:
        return Segmentation(cuts=(), autocorrelation=0.0)
    loose = _partition(trace, _candidates(trace, rules), rules)
    # one standard error of a correlation of nothing is left out, so that independent points cost nothing;
    # with correlation r between neighbours, and none beyond, a mean varies 1 + 2 r times as much
    inflation = math.sqrt(1 + 2 * max(trace.autocorrelation(loose) - 1 / math.sqrt(len(trace)), 0.0))
    cuts = _pruned(loose, len(trace), _strength(trace, rules, inflation))
    cuts = _nudged(trace, cuts, rules)
    return Segmentation(cuts=tuple(cuts), autocorrelation=trace.autocorrelation(cuts))


def _candidates(trace: Trace, rules: Rules) -> Places:
    """Where a boundary may lie: the peaks of the scan at each scale, and all places near the end."""
    n = len(trace)
    least = math.sqrt(rules.young_penalty * math.log(n)) / 2  # half of what the partition asks for
    last = n - rules.newest
    found = [np.arange(max(rules.shortest, n - 2 * rules.shortest), last + 1)]
    scale = rules.shortest
    while 2 * scale <= n and scale <= REACH:
        places = np.arange(scale, n - scale + 1)
        steps = (trace.sums[2 * scale :] - 2 * trace.sums[scale:-scale] + trace.sums[: -2 * scale]) / scale
        noise = trace.noise[np.minimum(places, n - 1)] * math.sqrt(2 / scale)
        z = np.abs(steps) / noise
        found.append(places[(z >= _highest_near(z, max(scale // 2, 2))) & (z > least)])
        scale *= 2
    return np.unique(np.concatenate(found))


def _highest_near(values: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """The highest value within ``reach`` places of each, by windows that double."""
    highest = np.pad(values, reach, constant_values=-np.inf)
    width, whole = 1, 2 * reach + 1
    while 2 * width <= whole:
        highest = np.maximum(highest[:-width], highest[width:])
        width *= 2
    rest = whole - width
    return np.maximum(highest[: len(values)], highest[rest : rest + len(values)])


def _partition(trace: Trace, candidates: Places, rules: Rules) -> list[int]:
    """The cheapest choice of boundaries among the candidates."""
    n = len(trace)
    edges = np.concatenate([[0], candidates, [n]])
    weights, sums = trace.weight_sums[edges], trace.weighted_sums[edges]
    penalty = rules.penalty * math.log(n)
    discount = penalty - rules.young_penalty * math.log(n)
    starts = np.searchsorted(edges, edges - rules.shortest, side="right")
    starts[-1] = np.searchsorted(edges, n - rules.newest, side="right")
    cost = np.full(len(edges), np.inf)
    cost[0] = 0.0
    previous = np.zeros(len(edges), dtype=np.intp)
    for edge in range(1, len(edges)):
        stop = int(starts[edge])
        if stop == 0:
            continue
        start = max(0, stop - LOOK_BACK)
        gain = (sums[edge] - sums[start:stop]) ** 2 / (weights[edge] - weights[start:stop])
        total = cost[start:stop] - gain
        if edge == len(edges) - 1:
            total -= discount * (n - edges[start:stop] <= REACH)
        best = int(total.argmin())
        cost[edge] = total[best] + penalty
        previous[edge] = start + best
    cuts = []
    edge = int(previous[-1])
    while edge > 0:
        cuts.append(int(edges[edge]))
        edge = int(previous[edge])
    return cuts[::-1]


def _nudged(trace: Trace, cuts: list[int], rules: Rules) -> list[int]:
    """Move each boundary, one after the other, to where two levels fit the points around it best."""
    n = len(trace)
    edges = [0, *cuts, n]
    for at in range(1, len(edges) - 1):
        here = edges[at]
        start, end = max(edges[at - 1], here - REACH), min(edges[at + 1], here + REACH)
        first = max(start + rules.shortest, here - NUDGE)
        last = min(end - (rules.newest if end == n else rules.shortest), here + NUDGE)
        if first >= last:
            continue
        places = np.arange(first, last + 1)
        edges[at] = int(places[np.argmax(trace.fit(start, places, end))])
    return edges[1:-1]


def _strength(trace: Trace, rules: Rules, inflation: float) -> Callable[[int, int, int], float]:
    """How far a boundary is above what the rules ask: 1 is just enough."""
    least, large = math.log1p(rules.min_change), math.log1p(LARGE)

    def strength(start: int, boundary: int, end: int) -> float:
        shift = trace.shift(start, boundary, end)
        size = abs(shift.change)
        needed = least
        if rules.share and size < large:
            needed = max(least, rules.share * trace.span(boundary, SPAN_REACH))
        enough = size / needed if needed else math.inf
        if _elsewhere(trace, rules, start, boundary, end) or _mixed(trace, rules, boundary, end):
            return 0.0
        return min(size / (shift.se * inflation * rules.z), enough)

    return strength


def _elsewhere(trace: Trace, rules: Rules, start: int, boundary: int, end: int) -> bool:
    """Whether two levels fit clearly better at a place that leaves one of them too short.

    A boundary beside a short excursion, or before a step too new, takes a few points of the
    other level into its own and may still look strong.
    """
    newest = rules.newest if end == len(trace) else rules.shortest
    first, last = max(start, boundary - REACH), min(end, boundary + REACH)
    too_early = np.arange(first + FEWEST, min(start + rules.shortest, boundary))
    too_late = np.arange(max(end - newest, boundary) + 1, last - FEWEST + 1)
    places = np.concatenate([too_early, too_late])
    if not len(places):
        return False
    best = float(trace.fit(first, places, last).max())
    return best > float(trace.fit(first, np.array([boundary]), last)[0]) + CLEARLY


def _mixed(trace: Trace, rules: Rules, boundary: int, end: int) -> bool:
    """Whether a last level of few points holds one that lies on the old side of the step.

    A mean of three is moved by two of them; a new level has no old points in it.
    """
    if end < len(trace) or end - boundary >= rules.shortest:
        return False
    old = float(trace.logs[max(0, boundary - rules.shortest) : boundary].mean())
    steps = trace.unclipped[boundary:] - old
    middle = float(np.median(steps)) / 2
    return bool((steps * math.copysign(1.0, middle)).min() < abs(middle))


def _pruned(cuts: list[int], n: int, strength: Callable[[int, int, int], float]) -> list[int]:
    """Drop the weakest boundary until all that are left are strong enough."""
    edges = [0, *cuts, n]
    before = {right: left for left, right in pairwise(edges)}
    after = dict(pairwise(edges))
    current = {cut: strength(before[cut], cut, after[cut]) for cut in cuts}
    queue = [(value, cut) for cut, value in current.items()]
    heapq.heapify(queue)
    while queue:
        value, cut = heapq.heappop(queue)
        if current.get(cut) != value:
            continue  # judged anew since
        if value >= 1:
            break
        del current[cut]
        left, right = before[cut], after[cut]
        before[right], after[left] = left, right
        for neighbour in (left, right):
            if neighbour in current:
                current[neighbour] = strength(before[neighbour], neighbour, after[neighbour])
                heapq.heappush(queue, (current[neighbour], neighbour))
    return sorted(current)
