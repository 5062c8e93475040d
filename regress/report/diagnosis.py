"""What this machine can measure, for the terminal: verdict first, then problems, then what is fine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from regress.record.diagnosis import Check, Diagnosis, Interpreter, State
from regress.report.console import text_of
from regress.report.words import clean, counted

HEADINGS: dict[State, tuple[str, str]] = {
    "stops": ("nothing can be measured because of", "bold red"),
    "wrong": ("does not work", "bold red"),
    "disturbs": ("will disturb measurements", "bold yellow"),
}
"""Of each kind of problem, gravest first, with its colours."""


def render(diagnosis: Diagnosis, *, width: int, color: bool) -> str:
    """Write it for a terminal."""
    return text_of(_parts(diagnosis), width=width, color=color)


def sentence(diagnosis: Diagnosis) -> str:
    """Say what this machine can measure and how many things stand in the way."""
    numbers = Counter(check.state for check in diagnosis.checks)
    if not diagnosis.can_measure:
        return f"this machine cannot measure anything: {counted(numbers['stops'], 'thing')} to put right"
    best = next(each for each in diagnosis.interpreters if each.ranks)
    parts = [f"this machine can measure {_capability(best)}"]
    disturbing = numbers["disturbs"]
    parts.append(f"{counted(disturbing, 'thing') if disturbing else 'nothing known'} will disturb it")
    if numbers["wrong"]:
        parts.append(
            f"{counted(numbers['wrong'], 'thing')} {'does' if numbers['wrong'] == 1 else 'do'} not work"
        )
    return "; ".join(parts)


def _capability(interpreter: Interpreter) -> str:
    where = f" in environment {clean(interpreter.environment)}" if interpreter.environment else ""
    ranks = counted(interpreter.ranks or 0, "rank")
    if interpreter.device == "cuda":
        return f"{ranks} on GPUs with NCCL{where}"
    return f"{ranks} on CPU with gloo{where}"


def _parts(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    yield Text(sentence(diagnosis), style="bold")
    for state, (heading, style) in HEADINGS.items():
        found = [check for check in diagnosis.checks if check.state == state]
        if found:
            yield Text(f"\n{heading}", style=style)
            yield from (_problem(check) for check in found)
    yield Text("\nfine", style="bold")
    yield _fine([check for check in diagnosis.checks if check.state == "fine"])
    unknown = [clean(check.name) for check in diagnosis.checks if check.state == "unknown"]
    if unknown:
        yield Text(f"\nnot known here: {', '.join(unknown)}")


def _problem(check: Check) -> RenderableType:
    advice = f"; {clean(check.advice, limit=500)}" if check.advice else ""
    line = Table.grid(padding=0)
    line.add_column(width=2)
    line.add_column(overflow="fold")
    line.add_row("- ", f"{clean(check.name)}: {clean(check.text, limit=500)}{advice}")
    return line


def _fine(checks: list[Check]) -> Table:
    grid = Table(box=None, show_header=False, padding=(0, 1, 0, 2), pad_edge=True)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    for check in checks:
        grid.add_row(clean(check.name), clean(check.text))
    return grid
