"""What a measurement of the harness comes to, and how it stands to the stored reference.

A figure is a ratio: its time over that of a yardstick, taken in turns in the same run. So the
reference, which holds ratios, serves on other machines too, where times would not.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

SCHEMA = "regress.bench-reference/1"
"""Of the file of the reference."""

REFERENCE = Path(__file__).parent / "reference.json"
"""Written by ``make bench-reference`` only."""

WORTH_A_LOOK = 1.5
"""From this many times the reference on a figure is marked."""

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One thing that was measured, beside its yardstick."""

    name: str
    """For people, and what the reference knows it by."""

    times_s: tuple[float, ...]
    """One per round, in seconds of whatever the name speaks of."""

    yardstick: str
    """What it is a multiple of."""

    yardstick_s: tuple[float, ...]
    """The yardstick's time just before each round."""

    @property
    def now_s(self) -> float:
        """Median time."""
        return median(self.times_s)

    @property
    def ratio(self) -> float:
        """Median over the rounds of time over yardstick."""
        return median(
            time / yardstick for time, yardstick in zip(self.times_s, self.yardstick_s, strict=True)
        )


def read_reference(path: Path) -> dict[str, float]:
    """The ratio of each figure by name; empty where there is no reference yet.

    Raises:
        ValueError: The file is no reference.
    """
    if not path.exists():
        return {}
    body = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        raise ValueError(f"{path}: no reference of schema {SCHEMA}")
    return {str(name): float(ratio) for name, ratio in body["ratios"].items()}


def write_reference(path: Path, figures: Iterable[Figure]) -> None:
    """Make these figures the reference, and nothing else."""
    body = {
        "schema": SCHEMA,
        "python": platform.python_version(),
        "ratios": {figure.name: float(f"{figure.ratio:.3g}") for figure in figures},
    }
    aside = path.with_name(f".{path.name}")
    aside.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    aside.replace(path)


def table(figures: Iterable[Figure], reference: Mapping[str, float]) -> list[str]:
    """Lines of text: each figure, its ratio, and how many times the reference that is."""
    rows = [("", "figure", "now", "yardstick", "ratio", "reference", "now/reference")]
    for figure in figures:
        stored = reference.get(figure.name)
        times = None if stored is None else figure.ratio / stored
        rows.append(
            (
                "▲" if times is not None and times > WORTH_A_LOOK else "",
                figure.name,
                _duration(figure.now_s),
                figure.yardstick,
                f"{figure.ratio:.3g}",
                "none yet" if stored is None else f"{stored:.3g}",
                "" if times is None else f"{times:.2f} x",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = (0, 1, 3)
    return [
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _duration(seconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in UNITS if abs(seconds) >= size), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"
