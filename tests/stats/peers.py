"""What other tools do to find changes in a history: the published methods, in lines of our own.

Each takes the values of one series and returns the first points of the new levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]


def windowed_t(
    values: Sequence[float], *, threshold: float = 7.0, back: tuple[int, int] = (12, 24), fore: int = 12
) -> list[int]:
    """Mozilla's alerting: Welch's t of the points before and after, weighted towards the middle.

    A point is a change where t exceeds the threshold and that of both its neighbours.
    """
    data = np.asarray(values, dtype=np.float64)
    n, t = len(data), np.zeros(len(values))
    for place in range(1, n):
        old, new = data[max(0, place - back[1]) : place][::-1], data[place : place + fore]
        t[place] = _welch(old, new)
    found = []
    for place in range(back[0], n - fore + 1):
        after = t[place + 1] if place + 1 < n else 0.0
        if t[place] > threshold and t[place] >= t[place - 1] and t[place] >= after:
            found.append(place)
    return found


def _welch(old: Floats, new: Floats) -> float:
    """Absolute t of two samples whose nearest value counts most, the farther ones linearly less."""
    means, errors = [], []
    for sample in (old, new):
        n = len(sample)
        weights = (n - np.arange(n)) / n
        mean = float((sample * weights).sum() / weights.sum())
        means.append(mean)
        errors.append(float(((sample - mean) ** 2).sum()) / max(n - 1, 1) / n)
    difference = abs(means[1] - means[0])
    return difference / math.sqrt(sum(errors)) if sum(errors) else (math.inf if difference else 0.0)


def divisive_t(
    values: Sequence[float], *, p: float = 1e-6, magnitude: float = 0.01, window: int = 50
) -> list[int]:
    """Otava's: energy statistics choose the split in sliding windows, Student's t judges it.

    Splits are first taken ten times as loosely; then the weakest is dropped until each passes
    between the neighbours that are left and moves the mean by ``magnitude``.
    """
    data = np.asarray(values, dtype=np.float64)
    loose = min(10 * p, 0.05) if p < 0.05 else p
    found: set[int] = set()
    start = 0
    while start < len(data):
        end = min(start + window, len(data))
        cuts = _splits(data, start, end, loose)
        found.update(cuts)
        if end == len(data):
            break
        start = max(cuts) if cuts and max(cuts) > start else start + window // 2
    cuts = sorted(found)
    while cuts:
        edges = [0, *cuts, len(data)]
        tested = [
            _student(data[a:b], data[b:c]) for a, b, c in zip(edges, edges[1:], edges[2:], strict=False)
        ]
        worst = max(range(len(cuts)), key=lambda at: tested[at][0])
        small = min(range(len(cuts)), key=lambda at: tested[at][1])
        if tested[worst][0] > p:
            del cuts[worst]
        elif tested[small][1] < magnitude:
            del cuts[small]
        else:
            break
    return cuts


def _splits(data: Floats, start: int, end: int, p: float) -> list[int]:
    """Split where the energy statistic is largest, and again on both sides, while t rejects."""
    n = end - start
    if n < 4:
        return []
    piece = data[start:end]
    distances = np.abs(piece[:, None] - piece[None, :])
    total = np.zeros((n + 1, n + 1))
    total[1:, 1:] = distances.cumsum(axis=0).cumsum(axis=1)
    sizes = np.arange(2, n - 1)
    rest = n - sizes
    inside_old = total[sizes, sizes]
    across = total[sizes, n] - inside_old
    inside_new = total[n, n] - inside_old - 2 * across
    energy = (
        2 * across / (sizes * rest) - inside_old / (sizes * (sizes - 1)) - inside_new / (rest * (rest - 1))
    )
    cut = int(sizes[np.argmax(energy * sizes * rest / n)])
    if _student(piece[:cut], piece[cut:])[0] > p:
        return []
    cut += start
    return [*_splits(data, start, cut, p), cut, *_splits(data, cut, end, p)]


def _student(old: Floats, new: Floats) -> tuple[float, float]:
    """Two-sided p of Student's t, and how far the mean moves as a fraction of the old one."""
    df = len(old) + len(new) - 2
    moved = abs(float(new.mean() - old.mean()))
    size = moved / abs(float(old.mean())) if old.mean() else math.inf
    squares = float(((old - old.mean()) ** 2).sum() + ((new - new.mean()) ** 2).sum())
    if df < 1 or len(old) < 2 or len(new) < 2:
        return 1.0, size
    if squares == 0:
        return (0.0 if moved else 1.0), size
    t = moved / math.sqrt(squares / df * (1 / len(old) + 1 / len(new)))
    return 2 * float(special.stdtr(df, -t)), size


def kernel(values: Sequence[float], *, penalty: float = 10.0, shortest: int = 2) -> list[int]:
    """Kernel change points: the cheapest partition under a Gaussian kernel (Arlot et al. 2019).

    The width of the kernel is the median of the squared distances.
    """
    data = np.asarray(values, dtype=np.float64)
    n = len(data)
    squares = (data[:, None] - data[None, :]) ** 2
    middle = float(np.median(squares[np.triu_indices(n, 1)])) if n > 1 else 0.0
    similar = np.exp(-np.clip(squares / (middle or 1.0), 1e-2, 1e2))
    np.fill_diagonal(similar, 1.0)
    total = np.zeros((n + 1, n + 1))
    total[1:, 1:] = similar.cumsum(axis=0).cumsum(axis=1)
    cost, previous = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.intp)
    cost[0] = -penalty
    diagonal = total.diagonal()
    for end in range(shortest, n + 1):
        starts = np.arange(0, end - shortest + 1)
        inside = diagonal[end] - 2 * total[end, starts] + diagonal[starts]
        totals = cost[starts] + (end - starts) - inside / (end - starts) + penalty
        previous[end] = int(totals.argmin())
        cost[end] = totals[previous[end]]
    cuts, end = [], int(previous[n])
    while end > 0:
        cuts.append(end)
        end = int(previous[end])
    return cuts[::-1]
