"""A history as text for the terminal: verdict first, then what needs a look, then the rest in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regress.record.history import History
from regress.report.console import text_of
from regress.report.history import HistoryTables, tables
from regress.report.history_rows import ChangeRow, SeriesRow

_STYLES = {
    "broken": "bold red",
    "regressed": "bold red",
    "drifted": "bold red",
    "suspected": "yellow",
    "improved": "green",
    "short": "dim",
    "steady": "dim",
    "unmeasured": "magenta",
}

_SHOWN = 3
"""Other changes of a series that are listed; the page has all."""


def render(answer: History, *, width: int, color: bool) -> str:
    """Write the answer for a terminal; no line is longer than ``width`` cells.

    Args:
        answer: The history.
        width: Cells of a line, at least 40.
        color: Whether states are coloured; their signs and words stand either way.
    """
    return text_of(_parts(tables(answer), one=len(answer.series) == 1), width=width, color=color)


def _parts(table: HistoryTables, *, one: bool) -> Iterator[RenderableType]:
    style = "bold green" if table.verdict == "steady" else _STYLES[table.verdict]
    yield Text(f"{table.mark} {table.verdict}", style=style).append(
        f": {table.sentence}", style="not bold default"
    )
    shown = (*table.rows, *(table.quiet if one else ()))
    if shown:
        yield Group(Text(), _rows(shown))
    if table.quiet_line and not one:
        yield Group(Text(), Text(table.quiet_line, style="dim"))
    if table.ended_line:
        yield Group(Text(), Text(table.ended_line, style="dim"))
    if table.remeasured:
        yield _section("Measured again", table.remeasured)
    if table.notes:
        yield _section("Notes", table.notes)
    if table.steps:
        yield _section("Next", [f"{what}: {how}" for what, how in table.steps])


def _section(heading: str, lines: Sequence[str]) -> RenderableType:
    return Group(Text(), Text(heading, style="bold"), *(Padding(Text(line), (0, 0, 0, 2)) for line in lines))


def _rows(rows: Sequence[SeriesRow]) -> Table:
    """One series after the other: what moved from where to where, and below it where and since when."""
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    grid.add_column("state", no_wrap=True)
    grid.add_column("benchmark", overflow="fold", ratio=1)
    grid.add_column("before\nnow", justify="right", overflow="fold")
    grid.add_column("change\n90 % interval", justify="right", overflow="fold")
    for row in rows:
        what = Text(row.benchmark, style="bold").append(f"\n{row.metric}", style="not bold")
        what.append(f"; {row.where}", style="not bold dim")
        if row.main is not None:
            what.append(f"\n{_place(row.main)}", style="not bold")
        for note in _notes(row):
            what.append(f"\n· {note}", style="not bold dim")
        grid.add_row(
            Text(f"{row.mark} {row.state}", style=_STYLES[row.state]),
            what,
            Text(f"{row.before}\n{row.now}" if row.before else row.now),
            Text(row.amount).append(f"\n{row.interval}", style="dim"),
        )
    return grid


def _place(change: ChangeRow) -> str:
    """Where a change lies: commits, how many, day and subject."""
    about = ", ".join(filter(None, (change.distance, change.when)))
    return " ".join(filter(None, (change.commits, f"({about})", change.subject)))


def _notes(row: SeriesRow) -> Iterator[str]:
    if row.main is not None and row.main.remeasured:
        yield f"measured again: {row.main.remeasured}"
    yield from row.notes
    others = [change for change in row.changes if change is not row.main]
    for change in others[:_SHOWN]:
        again = f"; measured again: {change.remeasured}" if change.remeasured else ""
        yield f"{change.amount} at {change.commits} ({change.when}): {change.what}{again}"
    if len(others) > _SHOWN:
        yield f"{len(others) - _SHOWN} earlier changes"
    yield from row.breaks[:1]
