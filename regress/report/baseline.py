"""Baselines for the terminal: what was blessed, and all there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from regress.record.baseline import Baseline, BlessedBenchmark, Blessing
from regress.report.console import text_of
from regress.report.words import clean, counted
from regress.units import NOT_MEASURED, duration, percent, quantities, quantity

STEP = "step_s"
"""The metric that stands for a benchmark."""


def render_blessing(blessing: Blessing, *, width: int, color: bool) -> str:
    """Write what was blessed, what it replaced, and what to do now."""
    return text_of(_blessing(blessing), width=width, color=color)


def render(baselines: Sequence[Baseline], now: datetime, *, width: int, color: bool) -> str:
    """Write all baselines, with the median step time of every benchmark.

    Args:
        baselines: In the order in which they are listed.
        now: With its time zone; ages count from it.
        width: Cells of a line, at least 40.
        color: Whether there are any.
    """
    return text_of(_listed(baselines, now), width=width, color=color)


def _blessing(blessing: Blessing) -> Iterator[RenderableType]:
    new, old = blessing.baseline, blessing.replaced
    yield Text(f"blessed run {clean(new.run)} of {_what(new)}: {_code(new)}")
    if old is None:
        yield Text("the first baseline of this suite and platform; median step times:")
    else:
        yield Text(f"it replaces run {clean(old.run)}: {_code(old)}; median step times:")
    yield _medians(new, old)
    for warning in blessing.warnings:
        yield Text(f"note: {clean(warning, limit=1000)}")
    yield Text(f"kept in {clean(blessing.file)}: commit this file", overflow="fold")


def _medians(new: Baseline, old: Baseline | None) -> Table:
    """Before and after, with the change; a benchmark that only one of them has is told too."""
    after = {each.label: _step(each) for each in new.benchmarks}
    before = {each.label: _step(each) for each in old.benchmarks} if old else {}
    grid = _grid(3)
    for label in dict.fromkeys((*after, *before)):
        was, is_now = before.get(label), after.get(label)
        texts = quantities((was, is_now), "s")
        change = percent((is_now - was) / was) if was and is_now is not None else ""
        if old is not None and label not in before:
            change = "new"
        if label not in after:
            change = "gone"
        grid.add_row(clean(label), " → ".join(texts) if old else texts[1], change)
    return grid


def _listed(baselines: Sequence[Baseline], now: datetime) -> Iterator[RenderableType]:
    for number, baseline in enumerate(baselines):
        if number:
            yield Text()
        yield Text(f"{_what(baseline)}: {_code(baseline)}", style="bold")
        about = f"  run {clean(baseline.run)}, {counted(len(baseline.launches), 'launch')}"
        yield Text(f"{about}, measured {_age(baseline.measured, now)}, blessed {_age(baseline.blessed, now)}")
        if baseline.reason:
            yield Text(f"  reason: {clean(baseline.reason)}")
        grid = _grid(2)
        for each in baseline.benchmarks:
            grid.add_row(clean(each.label), quantity(_step(each), "s"))
        yield grid


def _what(baseline: Baseline) -> str:
    return f"{clean(baseline.suite)} on {clean(baseline.platform.key)}"


def _code(baseline: Baseline) -> str:
    parts = (baseline.side, (baseline.commit or "")[:12], baseline.subject)
    return " ".join(filter(None, map(clean, parts)))


def _step(benchmark: BlessedBenchmark) -> float | None:
    return next((each.median for each in benchmark.metrics if each.metric == STEP), None)


def _age(time: str, now: datetime) -> str:
    """How long ago that was; a dash where the text is no time."""
    try:
        seconds = (now - datetime.fromisoformat(time)).total_seconds()
    except (ValueError, TypeError):
        return NOT_MEASURED
    return f"{duration(max(seconds, 0.0))} ago"


def _grid(columns: int) -> Table:
    grid = Table(box=None, show_header=False, padding=(0, 2, 0, 2), pad_edge=True)
    for _ in range(columns):
        grid.add_column(overflow="fold")
    return grid
