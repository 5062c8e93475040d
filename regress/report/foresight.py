"""What a comparison could see, for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regress.record.foresight import Foresight, Outlook, PlannedSide, Prospect
from regress.report.console import text_of
from regress.report.words import clean, counted, title
from regress.units import NOT_MEASURED, duration, share


def render(foresight: Foresight, *, width: int, color: bool) -> str:
    """Write for a terminal what a comparison could see: how long it takes first, then each benchmark.

    Args:
        foresight: The answer.
        width: Cells of a line, at least 40.
        color: Whether headings are set off; the words stand either way.
    """
    return text_of(_parts(foresight), width=width, color=color)


def _parts(answer: Foresight) -> Iterator[RenderableType]:
    most = counted(answer.looks[-1], "block")
    yield Text("plan", style="bold").append(f": at most {most}, {_time(answer)}", style="not bold")
    yield _section("", _table(answer))
    if answer.new:
        labels = ", ".join(map(clean, answer.new))
        yield _section("", Text(f"base lacks {labels}: nothing to compare with"))
    if answer.notes:
        yield _section("Notes", *(Text(note) for note in answer.notes))
    yield _section("Planned", _facts(answer))


def _time(answer: Foresight) -> str:
    if answer.block_s is None or answer.seconds is None:
        return "which take an unknown time: never measured here"
    return f"about {duration(answer.seconds)} at {duration(answer.block_s)} a block"


def _table(answer: Foresight) -> Table:
    """One row for each timed gate; what it finds after each look in a column of its own."""
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    grid.add_column("\nbenchmark", overflow="fold", ratio=1)
    grid.add_column("\nnoise", justify="right", overflow="fold")
    for place, look in enumerate(answer.looks):
        grid.add_column(
            f"{'finds from' if not place else ''}\n{counted(look, 'block')}", justify="right", overflow="fold"
        )
    grid.add_column(f"{share(answer.must_see)} takes\nblocks", justify="right", overflow="fold")
    for each in answer.outlooks:
        what = Text(clean(each.benchmark), style="bold").append(f"\n{title(each.metric)}", style="not bold")
        what.append(f": {_known(each)}", style="not bold dim")
        finds = [_finds(prospect) for prospect in each.prospects] or [NOT_MEASURED] * len(answer.looks)
        grid.add_row(what, _noise(each), *finds, _enough(each))
    return grid


def _known(each: Outlook) -> str:
    if each.sd is None:
        return f"noise unknown: {counted(each.fewest, 'block')} at least"
    freedom = f"{each.df:.3g} degrees of freedom"
    if not each.launches:
        return f"noise lent by other benchmarks, {freedom}"
    return f"noise of {counted(each.launches, 'earlier launch')}, {freedom}"


def _noise(each: Outlook) -> str:
    return NOT_MEASURED if each.sd is None else share(math.expm1(each.sd))


def _finds(prospect: Prospect) -> str:
    if not prospect.claims:
        return NOT_MEASURED
    return "nothing" if prospect.detectable is None else share(prospect.detectable)


def _enough(each: Outlook) -> str:
    if each.sd is None:
        return NOT_MEASURED
    return "too many" if each.enough is None else str(each.enough)


def _facts(answer: Foresight) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in _pairs(answer):
        grid.add_row(name, Text(value))
    return grid


def _pairs(answer: Foresight) -> Iterator[tuple[str, str]]:
    yield "base", _side(answer.base)
    yield "head", _side(answer.head)
    yield "suite", f"{clean(answer.suite)} on {clean(answer.platform)}, {answer.mode}"
    yield "counts", f"a change from {share(answer.min_change)} on; {share(answer.must_see)} must be seen"
    yield "false alarms", f"{share(answer.false_alarms)} of all comparisons of the suite"
    after = f"{', '.join(map(str, answer.looks))} {'block' if answer.looks == (1,) else 'blocks'}"
    yield "looks", f"after {after}; what is decided takes no part in further ones"
    others = f"{counted(answer.others, 'block')} before, each side alone" if answer.others else "none before"
    yield "besides", f"{others}; {answer.spare} to spare for lost ones"
    if answer.budget_s is not None:
        yield "budget", f"{duration(answer.budget_s)}: no block that would end after it"


def _side(side: PlannedSide) -> str:
    return " ".join(filter(None, (clean(side.name), (side.commit or "")[:12], clean(side.subject))))


def _section(heading: str, *parts: RenderableType) -> RenderableType:
    heads = [Text(heading, style="bold")] if heading else []
    indent = 2 if heading else 0
    return Group(Text(), *heads, *(Padding(part, (0, 0, 0, indent)) for part in parts))
