"""Real histories in which several people marked the changes, and how a method is scored on them."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Method = Callable[[Sequence[float]], Sequence[int]]
"""Finds the first points of new levels."""

NEAR = 5
"""Points within which a detection is the one that a label means."""

PEOPLE = 3
"""Annotators from whom on agreement of all says something."""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """One series; several tests' histories end where another begins, so each stands alone."""

    name: str
    values: tuple[float, ...]
    labels: tuple[int, ...] | None
    """Where half of the people, and two, saw a change; ``None`` when too few looked."""
    unanimous: tuple[int, ...]
    """Those of the labels that everybody marked."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Of one method, one entry per series."""

    hits: NDArray[np.int64]
    found: NDArray[np.int64]
    labels: NDArray[np.int64]

    @property
    def precision(self) -> float:
        return float(self.hits.sum() / max(self.found.sum(), 1))

    @property
    def recall(self) -> float:
        return float(self.hits.sum() / self.labels.sum())

    @property
    def f1(self) -> float:
        return float(2 * self.hits.sum() / (self.found.sum() + self.labels.sum()))

    def only(self, series: NDArray[np.intp]) -> Counts:
        """Of these series, which may recur."""
        return Counts(hits=self.hits[series], found=self.found[series], labels=self.labels[series])


def data_path(name: str = "history/sap_hana.json") -> Path:
    """Where a file of real data lies, if it is there: by default the labelled series."""
    root = os.environ.get("REGRESS_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data"
    return Path(root).resolve() / name


@functools.cache
def load() -> tuple[Labelled, ...] | None:
    """All series; ``None`` where the data is absent."""
    path = data_path()
    return tuple(_labelled(entry) for entry in json.loads(path.read_text())) if path.exists() else None


def _labelled(entry: dict[str, object]) -> Labelled:
    people = list(entry["annotations"].values())  # type: ignore[attr-defined]
    labels = entry["labels"]
    agreed = [
        label
        for label in labels or ()  # type: ignore[attr-defined]
        if len(people) >= PEOPLE and all(any(abs(label - mark) <= NEAR for mark in one) for one in people)
    ]
    return Labelled(
        name=str(entry["series"]),
        values=tuple(entry["values"]),  # type: ignore[arg-type]
        labels=None if labels is None else tuple(sorted(labels)),  # type: ignore[call-overload]
        unanimous=tuple(agreed),
    )


def judged(series: Sequence[Labelled]) -> list[Labelled]:
    """The series that enough people looked at."""
    return [one for one in series if one.labels is not None]


def hits(found: Sequence[int], labels: Sequence[int]) -> int:
    """How many detections lie within `NEAR` of a label; each label is matched once."""
    free = sorted(labels)
    count = 0
    for place in sorted(found):
        match = next((label for label in free if abs(label - place) <= NEAR), None)
        if match is not None:
            free.remove(match)
            count += 1
    return count


def count(method: Method, series: Sequence[Labelled]) -> Counts:
    """Score a method, series by series."""
    found = [method(one.values) for one in series]
    return Counts(
        hits=np.array([hits(f, one.labels or ()) for f, one in zip(found, series, strict=True)]),
        found=np.array([len(f) for f in found]),
        labels=np.array([len(one.labels or ()) for one in series]),
    )


def resampled_f1(counts: Counts, repeats: int = 2_000, seed: int = 5) -> NDArray[np.float64]:
    """F1 of series drawn with replacement; the same draws for every method."""
    draw, n = np.random.default_rng(seed), len(counts.hits)
    return np.array([counts.only(draw.integers(0, n, n)).f1 for _ in range(repeats)])


def cross_validated(candidates: Sequence[Counts], folds: int = 10, seed: int = 5) -> Counts:
    """Each series scored by the candidate that is best on the other folds."""
    n = len(candidates[0].hits)
    fold = np.random.default_rng(seed).permutation(n) % folds
    parts = []
    for out in range(folds):
        best = max(candidates, key=lambda one: one.only(np.flatnonzero(fold != out)).f1)
        parts.append(best.only(np.flatnonzero(fold == out)))
    return Counts(
        hits=np.concatenate([part.hits for part in parts]),
        found=np.concatenate([part.found for part in parts]),
        labels=np.concatenate([part.labels for part in parts]),
    )


def shuffled_share(method: Method, series: Sequence[Labelled], repeats: int = 200, seed: int = 5) -> float:
    """Share of shuffled series, in which nothing changes, with any alarm."""
    draw = np.random.default_rng(seed)
    alarms = 0
    for place in draw.permutation(len(series))[:repeats]:
        alarms += bool(method(draw.permutation(series[place].values).tolist()))
    return alarms / min(repeats, len(series))


def seen_by(method: Method, series: Sequence[Labelled], points: int) -> float:
    """Share of the unanimous changes that are found when this many points of the new level are known."""
    changes = [(one.values, label) for one in series for label in one.unanimous]
    seen = sum(
        any(abs(place - label) <= NEAR for place in method(values[: label + points]))
        for values, label in changes
    )
    return seen / len(changes)
