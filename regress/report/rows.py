"""One comparison in words: a row of every form of report."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from itertools import zip_longest

from regress.record.comparison import Comparison, Values
from regress.report.words import MARKS, clean, counted, meaning, title
from regress.units import NOT_MEASURED, percent, percents, quantities, share


@dataclass(frozen=True, kw_only=True)
class Row:
    """One comparison in words: plain and harmless texts, which a renderer still escapes."""

    comparison: Comparison
    """What it stands for; for its numbers only, its texts are as they came."""

    anchor: str
    """Lasting name of the row within a page: letters, digits and hyphens."""

    benchmark: str
    """Label."""

    metric: str
    """Its name for people, for example ``step time``."""

    mark: str
    """Sign of the verdict."""

    verdict: str
    """Empty for what is only shown."""

    base: str
    """Median with unit."""

    head: str
    """The same, in the same scale."""

    change: str
    """Signed, positive is worse."""

    interval: str
    """Of the change; empty where there is none."""

    detectable: str
    """Smallest worsening found 9 times in 10; ``any`` for a count, empty where it is not known."""

    reason: str
    """Why this verdict; may be empty."""

    notes: tuple[str, ...]
    """What a reader should know."""

    facts: tuple[tuple[str, str], ...]
    """All numbers behind the row, by name."""

    launches: tuple[tuple[str, str, str, str], ...]
    """Block, base, head and change of each block; without pairs, of each launch by its place."""

    others: tuple[Row, ...] = ()
    """The benchmark's metrics that are only shown: on the first row of the benchmark."""

    others_at: str = ""
    """Anchor of the row that holds them; empty where this one does, or where there are none."""


def row_of(comparison: Comparison) -> Row:
    """Put one comparison into words."""
    c = comparison
    base, head = quantities((c.base.median, c.head.median), unit_of(c))
    return Row(
        comparison=c,
        anchor=anchor(c.benchmark, c.metric),
        benchmark=clean(c.benchmark),
        metric=title(c.metric),
        mark=MARKS[c.verdict] if c.verdict else "",
        verdict=c.verdict or "",
        base=base,
        head=head,
        change=_change(c),
        interval=_interval(c),
        detectable=_detectable(c),
        reason=clean(c.reason),
        notes=tuple(clean(note) for note in c.notes),
        facts=_facts(c, base, head),
        launches=_launches(c),
    )


def unit_of(comparison: Comparison) -> str:
    """Give the unit as it may be printed; only foreign units are ever too long."""
    return clean(comparison.unit, limit=12)


def anchor(benchmark: str, metric: str) -> str:
    """Name a comparison for good: a readable part, then a digest that tells equal ones apart."""
    readable = re.sub(r"[^a-z0-9]+", "-", f"{benchmark} {metric}".lower()).strip("-")[:80].strip("-")
    digest = hashlib.sha256(f"{benchmark}\0{metric}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"c-{readable}-{digest}" if readable else f"c-{digest}"


def block_changes(comparison: Comparison) -> dict[int, float]:
    """Give the change of each block that has both sides, a fraction of base; positive is worse."""
    c = comparison
    base, head = _by_block(c.base.blocks, c.base.values), _by_block(c.head.blocks, c.head.values)
    sign = 1 if c.direction == "lower" else -1
    changes = {b: sign * (head[b] - base[b]) / abs(base[b]) for b in sorted(base) if b in head and base[b]}
    return {block: change for block, change in changes.items() if math.isfinite(change)}


def _by_block(blocks: tuple[int, ...], values: tuple[float, ...]) -> dict[int, float]:
    return dict(zip(blocks, values, strict=True))


def _change(c: Comparison) -> str:
    if c.change is not None:
        return percent(c.change)
    return "from 0" if c.base.median == 0 and c.head.median is not None else NOT_MEASURED


def _interval(c: Comparison) -> str:
    if c.design == "exact" or c.low is None or c.high is None:
        return ""
    return percents(c.low, c.high)


def _detectable(c: Comparison) -> str:
    if c.detectable is None:
        return ""
    return share(c.detectable) if c.detectable else "any"


def _facts(c: Comparison, base: str, head: str) -> tuple[tuple[str, str], ...]:
    interval = _interval(c)
    if interval and c.confidence is not None:
        interval += f", {share(c.confidence)} confidence"
    facts = {
        "measures": meaning(c.metric),
        "better is": c.direction,
        "base": _median(c.base, base),
        "head": _median(c.head, head),
        "change": "" if c.change is None else f"{_change(c)} (positive is worse)",
        "interval": interval,
        "p": "" if c.p is None else _probability(c.p),
        "p, adjusted for the suite": "" if c.p_adjusted is None else _probability(c.p_adjusted),
        "detectable": f"{seen}, 9 times in 10" if (seen := _detectable(c)) else "",
        "design": {
            "paired": "paired by block",
            "unpaired": "unpaired",
            "exact": "counted, no noise",
        }[c.design],
    }
    return tuple((name, text) for name, text in facts.items() if text)


def _median(side: Values, text: str) -> str:
    return f"{text}, median of {counted(side.launches, 'launch')}" if side.launches else "not measured"


def _probability(p: float) -> str:
    return f"{p:.2g}" if p >= 0.0001 else "under 0.0001"


def _launches(c: Comparison) -> tuple[tuple[str, str, str, str], ...]:
    """One line per block; launches that are not paired stand by their place in line."""
    if c.design == "paired":
        base, head = _by_block(c.base.blocks, c.base.values), _by_block(c.head.blocks, c.head.values)
        blocks = sorted(base.keys() | head.keys())
        pairs: list[tuple[float | None, float | None]] = [(base.get(b), head.get(b)) for b in blocks]
    else:
        pairs = list(zip_longest(c.base.values, c.head.values))
        blocks = list(range(len(pairs)))
    changes = block_changes(c) if c.design == "paired" else {}
    texts = quantities([value for pair in pairs for value in pair], unit_of(c))
    return tuple(
        (str(block), texts[2 * i], texts[2 * i + 1], percent(changes[block]) if block in changes else "")
        for i, block in enumerate(blocks)
    )
