"""One run for the terminal: what was measured, and what failed."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from regress import units
from regress.record.metric import METRICS
from regress.record.run import Launch, Measurement, Run
from regress.report.console import text_of
from regress.report.words import clean, counted, ended, title


def render(run: Run, *, width: int, color: bool) -> str:
    """Write a run for a terminal: one line per benchmark, then the failures."""
    return text_of(_parts(run), width=width, color=color)


def lacks_something(run: Run) -> bool:
    """Whether no launch, or none of some benchmark that was tried, measured anything."""
    tried = {measurement.benchmark for _, measurement in _measurements(run)}
    measured = {measurement.benchmark for _, measurement in _measurements(run) if measurement.outcome.ok}
    return not tried or tried != measured


def _parts(run: Run) -> Iterator[RenderableType]:
    manifest = run.manifest
    what = " ".join(filter(None, map(clean, (manifest.side, (manifest.commit or "")[:12], manifest.subject))))
    state = "" if run.complete else ", interrupted"
    yield Text(
        f"run {clean(manifest.run)} of {clean(manifest.suite)}: {what} "
        f"({counted(len(run.launches), 'launch')}{state})"
    )
    yield _medians(run)
    failures = [
        (launch, measurement) for launch, measurement in _measurements(run) if not measurement.outcome.ok
    ]
    if failures:
        yield Text("\nfailed", style="bold red")
    for launch, measurement in failures:
        outcome = measurement.outcome
        text = f"  {clean(measurement.benchmark)} in block {launch.block}: {ended(outcome)}"
        yield Text(f"{text}: {clean(outcome.message)}" if outcome.message else text)
        if outcome.log:
            yield Text(f"    log: {clean(run.folder)}/{clean(outcome.log)}")


def _medians(run: Run) -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    names = ("step_s", "tokens_per_s", "peak_allocated_bytes", "collective_count")
    grid.add_column("benchmark", overflow="fold")
    grid.add_column("launches", justify="right")
    for name in names:
        grid.add_column(title(name), justify="right")
    for label in dict.fromkeys(measurement.benchmark for _, measurement in _measurements(run)):
        measured = [
            measurement
            for _, measurement in _measurements(run)
            if measurement.benchmark == label and measurement.outcome.ok
        ]
        cells = [units.quantity(_median(measured, name), METRICS[name].unit) for name in names]
        grid.add_row(clean(label), str(len(measured)), *cells)
    return grid


def _median(measured: list[Measurement], name: str) -> float | None:
    values = [
        sample.value
        for measurement in measured
        for sample in measurement.samples
        if sample.metric == name and sample.value is not None
    ]
    return median(values) if values else None


def _measurements(run: Run) -> Iterator[tuple[Launch, Measurement]]:
    for launch in run.launches:
        for measurement in launch.measurements:
            yield launch, measurement
