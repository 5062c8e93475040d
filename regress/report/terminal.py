"""A comparison as text for the terminal: verdict first, then what it rests on, then what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regress.record.comparison import SuiteComparison
from regress.report.console import text_of
from regress.report.rows import Row
from regress.report.tables import FailureRow, SideRow, Tables, tables
from regress.report.words import MARKS
from regress.units import share

_STYLES = {
    "broken": "bold red",
    "regressed": "bold red",
    "incomparable": "magenta",
    "inconclusive": "yellow",
    "gone": "magenta",
    "new": "cyan",
    "improved": "green",
    "unchanged": "dim",
}


def render(comparison: SuiteComparison, *, width: int, color: bool) -> str:
    """Write the answer for a terminal; no line is longer than ``width`` cells.

    Args:
        comparison: The answer.
        width: Cells of a line, at least 40.
        color: Whether verdicts are coloured; their signs and words stand either way.
    """
    return text_of(_parts(tables(comparison)), width=width, color=color)


def _parts(table: Tables) -> Iterator[RenderableType]:
    style = _STYLES[table.verdict]
    head = Text(f"{MARKS[table.verdict]} {table.verdict}", style="bold green" if style == "dim" else style)
    yield head.append(f": {table.sentence}", style="not bold default")
    if table.suspects:
        yield Text(table.suspects)
    if table.rows:
        yield _section("", _gates(table.rows))
    if table.unchanged_line:
        notes = [f"· {row.benchmark} {row.metric}: {note}" for row in table.unchanged for note in row.notes]
        line = f"{MARKS['unchanged']} {table.unchanged_line}"
        yield _section("", *(Text(text, style="dim") for text in (line, *notes)))
    if table.failures:
        yield _section("Failures", *(_failure(row) for row in table.failures))
    if table.differences:
        yield _section("Base and head differ in", _differences(table))
    if table.notes:
        yield _section("Notes", *(Text(note) for note in table.notes))
    sides = [(side.role, _commit(side)) for side in table.sides]
    where = ", ".join(f"{name} {value}" for name, value in table.facts[:4])
    yield _section("Measured", _pairs([*sides, ("where", where)]))
    if table.calibration:
        yield _section("Last calibration", _pairs(table.calibration))
    yield _section("Next", _pairs(table.steps))


def _commit(side: SideRow) -> str:
    return " ".join(filter(None, (side.name, side.commit, side.subject)))


def _section(heading: str, *parts: RenderableType) -> RenderableType:
    title = [Text(heading, style="bold")] if heading else []
    indent = 2 if heading else 0
    return Group(Text(), *title, *(Padding(part, (0, 0, 0, indent)) for part in parts))


def _grid(columns: int) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(columns):
        grid.add_column(overflow="fold")
    return grid


def _gates(rows: Sequence[Row]) -> Table:
    """Two lines a row: what was asked, the two medians, the change above its interval."""
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    grid.add_column("verdict", no_wrap=True)
    grid.add_column("benchmark", overflow="fold", ratio=1)
    grid.add_column("base\nhead", justify="right", overflow="fold")
    confidence = next((row.comparison.confidence for row in rows if row.comparison.confidence), None)
    interval = f"{share(confidence)} interval" if confidence else "interval"
    grid.add_column(f"change\n{interval}", justify="right", overflow="fold")
    grid.add_column("finds", justify="right", overflow="fold")
    for row in rows:
        what = Text(row.benchmark, style="bold").append(f"\n{row.metric}", style="not bold")
        if row.reason:
            what.append(f": {row.reason}", style="not bold dim")
        for note in row.notes:
            what.append(f"\n· {note}", style="not bold dim")
        grid.add_row(
            Text(f"{row.mark} {row.verdict}", style=_STYLES.get(row.verdict, "")),
            what,
            Text(f"{row.base}\n{row.head}"),
            Text(row.change).append(f"\n{row.interval}", style="dim"),
            Text(row.detectable),
        )
    return grid


def _failure(row: FailureRow) -> RenderableType:
    what = Text(f"{row.side}  ").append(row.benchmark, style="bold").append(f"  {row.ended}, {row.blocks}")
    logs = [Text(f"log: {log}", style="dim", overflow="fold") for log in row.logs]
    message = [Text(row.message)] if row.message else []
    return Group(what, *(Padding(part, (0, 0, 0, 2)) for part in (*message, *logs)))


def _differences(table: Tables) -> Table:
    grid = _grid(3)
    for row in table.differences:
        grid.add_row(Text(row.kind, style="dim"), Text(row.field), Text(f"{row.base} → {row.head}"))
    return grid


def _pairs(pairs: Iterable[tuple[str, str]]) -> Table:
    grid = _grid(2)
    for name, value in pairs:
        grid.add_row(Text(name, style="dim"), Text(value))
    return grid
