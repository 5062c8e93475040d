"""What there is, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from regress.record.inventory import Inventory
from regress.report.console import text_of
from regress.report.words import clean, counted


def render(inventory: Inventory, *, width: int, color: bool) -> str:
    """Write benchmarks, suites and runs for a terminal."""
    return text_of(_parts(inventory), width=width, color=color)


def _parts(inventory: Inventory) -> Iterator[RenderableType]:
    yield Text(f"benchmarks in {clean(inventory.folder)}", style="bold")
    table = _grid()
    for benchmark in inventory.benchmarks:
        params = " ".join(clean(f"{name}={'|'.join(values)}") for name, values in benchmark.params)
        world = "|".join(map(str, benchmark.world_sizes))
        table.add_row(clean(benchmark.name), f"{params} world={world}".strip(), clean(benchmark.doc))
    yield table
    for failure in inventory.failures:
        yield Text(f"  cannot be imported: {clean(failure)}", style="red")
    yield Text("\nsuites", style="bold")
    table = _grid()
    for suite in inventory.suites:
        table.add_row(*map(clean, (suite.name, suite.description, suite.file)))
    yield table
    yield Text("\nruns, newest first", style="bold")
    table = _grid()
    for run in inventory.runs:
        state = counted(run.launches, "launch") + ("" if run.complete else ", interrupted")
        texts = (run.run, run.suite, (run.commit or "")[:12], run.side, run.started, state)
        table.add_row(*map(clean, texts))
    yield table if inventory.runs else Text("  none yet; `regress run` or `regress compare` makes some")
    for reason in inventory.unreadable:
        yield Text(f"  cannot be read: {clean(reason)}", style="red")


def _grid() -> Table:
    grid = Table.grid(padding=(0, 1), pad_edge=True)
    for _ in range(6):
        grid.add_column(overflow="fold")
    return grid
