"""A comparison as Markdown, for the summary of a CI job or a comment on a pull request.

Text from outside must stay text in GitHub's renderer, which also acts on what Markdown's own
escapes leave alone: ``@somebody``, ``#123``, hashes, addresses, ``:signs:``. Nothing of that
is looked for inside code spans. So words that are plainly harmless stand as they are, and
every other word stands in a code span.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from regress.record.comparison import SuiteComparison
from regress.report.rows import Row
from regress.report.tables import DifferenceRow, FailureRow, SideRow, Tables, tables
from regress.report.words import MARKS, clean, counted

MOST_CHARACTERS = 60_000
"""Of a whole answer: a comment on GitHub holds 65,536."""

MOST_NOTES = 3
"""Of one row."""

_HARMLESS = re.compile(
    r"""
    [(]? (?:
        [A-Za-z]+ (?:-[a-z]+)* (?:'s)?         # a word
      | [+\u2212]?<? \d{1,3} (?:,?\d{3})? (?:,\d{3})* (?:[.]\d+)? (?:th)?   # a number
      | [kMG]?/s | % | [\u2014\u2192\u2212=\u2260\u25b2\u25bc\u25cb\u2715]
    ) [)]? [,;:.?]?
    """,
    re.VERBOSE,
)
"""A word that no renderer takes for anything else, wherever in a line it stands but at its start."""

_HASH = re.compile(r"\W*[0-9a-f]{7,}\W*", re.IGNORECASE)
"""May be read as a commit."""

_GATES = ("verdict", "benchmark", "metric", "base", "head", "change, + is worse", "finds", "why")
_SHOWN = ("benchmark", "metric", "base", "head", "change, + is worse", "finds", "notes")
_DIFFERENCES = ("", "field", "base", "head")


def render(comparison: SuiteComparison) -> str:
    """Write the answer as GitHub's Markdown: verdict first; at most `MOST_CHARACTERS`.

    What does not fit is left out, and counted.
    """
    table = tables(comparison)
    top = [f"### {MARKS[table.verdict]} {table.verdict}: {prose(table.sentence)}"]
    top += [prose(table.suspects)] if table.suspects else []
    end = list(_end(table))
    left = MOST_CHARACTERS - sum(len(part) + 2 for part in (*top, *end))
    parts = []
    for section in _sections(table):
        part = section(left // 2)
        parts += [part] if part else []
        left -= len(part) + 2
    return "\n\n".join((*top, *parts, *end)) + "\n"


def prose(text: str) -> str:
    """Write a text as Markdown that shows it; words that may mean something stand as code.

    It must not stand at the start of a line.
    """
    parts: list[str] = []
    risky: list[str] = []
    for word in clean(text, limit=2000).split():
        if _is_harmless(word):
            parts += [*_spans(risky), word]
            risky = []
            continue
        bare = word.rstrip(",;:")
        risky.append(bare or word)
        if bare and bare != word:  # the comma ends the span, and stands behind it
            parts += [f"{span}{word[len(bare) :]}" for span in _spans(risky)]
            risky = []
    return " ".join((*parts, *_spans(risky)))


def code(text: str) -> str:
    """Write a text as a code span; nothing where it is empty."""
    line = clean(text, limit=2000)
    return _span(line) if line else ""


def _span(line: str) -> str:
    """A code span that shows a clean text; a second cleaning would change what stands in it."""
    fence = "`" * (_longest_run(line) + 1)
    space = " " if "`" in (line[0], line[-1]) else ""
    return f"{fence}{space}{line}{space}{fence}"


def _is_harmless(word: str) -> bool:
    return bool(_HARMLESS.fullmatch(word)) and not _HASH.fullmatch(word)


def _spans(words: Sequence[str]) -> list[str]:
    return [_span(" ".join(words))] if words else []


def _longest_run(line: str) -> int:
    return max(map(len, re.findall("`+", line)), default=0)


def _sections(table: Tables) -> Iterator[Callable[[int], str]]:
    """What may be cut, most important first; each is given the room that it may take."""
    unchanged = html.escape(table.unchanged_line)
    shown = f"{counted(len(table.only_shown), 'metric')} of benchmarks without a verdict"
    yield lambda room: _listed((_table_head(_GATES),), map(_gate, table.rows), "", room)
    yield lambda room: _listed(("#### Failures", ""), map(_failure, table.failures), "", room)
    yield lambda room: _listed(
        ("#### Base and head differ in", "", _table_head(_DIFFERENCES)),
        map(_difference, table.differences),
        "",
        room,
    )
    yield lambda room: _listed(("#### Notes", ""), map(_note, table.notes), "", room)
    yield lambda room: _folded(unchanged, table.unchanged, room)
    yield lambda room: _folded(shown, table.only_shown, room)


def _folded(summary: str, rows: Sequence[Row], room: int) -> str:
    head = ("<details>", f"<summary>{summary}</summary>", "", _table_head(_SHOWN))
    return _listed(head, map(_shown, rows), "\n</details>", room)


def _listed(head: Sequence[str], items: Iterable[str], foot: str, room: int) -> str:
    """A head and as many items as there is room for; nothing where there are none."""
    listed = list(items)
    if not listed:
        return ""
    left = room - sum(len(line) + 1 for line in (*head, foot)) - 100  # for the line about the rest
    kept: list[str] = []
    for item in listed:
        left -= len(item) + 1
        if left < 0:
            break
        kept.append(item)
    missing = len(listed) - len(kept)
    rest = (f"\n{missing} of {len(listed)} left out: there is no room for more",) if missing else ()
    return "\n".join((*head, *kept, *rest, *filter(None, (foot,))))


def _gate(row: Row) -> str:
    why = [row.reason, *_few(row.notes, "note")]
    return _line(f"{row.mark} {row.verdict}", *_measured(row), _lines(why))


def _shown(row: Row) -> str:
    return _line(*_measured(row), _lines(_few(row.notes, "note")))


def _measured(row: Row) -> tuple[str, ...]:
    change = _lines([row.change, f"({row.interval})" if row.interval else ""])
    return (
        code(row.benchmark),
        prose(row.metric),
        prose(row.base),
        prose(row.head),
        change,
        prose(row.detectable),
    )


def _failure(row: FailureRow) -> str:
    logs = [f"log: {code(log)}" for log in row.logs[:1]]
    logs += [f"and {counted(len(row.logs) - 1, 'more log')}"] if len(row.logs) > 1 else []
    message = [code(row.message)] if row.message else []
    what = f"- **{prose(row.side)}** {code(row.benchmark)}: {prose(row.ended)}, {prose(clean(row.blocks))}"
    return "<br>".join((what, *message, *logs))


def _difference(row: DifferenceRow) -> str:
    return _line(row.kind, code(row.field), _value(row.base), _value(row.head))


def _value(text: str) -> str:
    return text if text == "absent" else code(text)


def _note(text: str) -> str:
    """At the start of a line a sign or a number could begin a list or a heading."""
    return f"- {prose(text) if text[:1].isalpha() else code(text)}"


def _end(table: Tables) -> Iterator[str]:
    """Who was measured, and what to do next. All of it is short."""
    where = ", ".join(f"{name} {prose(value)}" for name, value in table.facts[:4])
    yield "\n".join(("#### Measured", "", *map(_side, table.sides), f"- where: {where}"))
    if table.calibration:
        found = (f"- {prose(name)}: {prose(value)}" for name, value in table.calibration)
        yield "\n".join(("#### Last calibration", "", *found))
    command = dict(table.steps).get("the same again", "")
    steps = [f"- {what}: {code(how)}" for what, how in table.steps if how and what != "the same again"]
    fence = "`" * max(3, _longest_run(command) + 1)
    again = ("The same again:", "", f"{fence}sh", command, fence, "") if command else ()
    yield "\n".join(("#### Next", "", *again, *steps))


def _side(side: SideRow) -> str:
    return " ".join(
        filter(None, (f"- {side.role}:", code(side.name), code(side.commit), prose(side.subject)))
    )


def _few(texts: Sequence[str], noun: str) -> list[str]:
    """The first of them, and how many more there are."""
    more = len(texts) - MOST_NOTES
    return [*texts[:MOST_NOTES], *([f"and {counted(more, f'more {noun}')}"] if more > 0 else [])]


def _lines(texts: Iterable[str]) -> str:
    return "<br>".join(prose(text) for text in texts if text)


def _table_head(names: Sequence[str]) -> str:
    return f"{_line(*names)}\n{_line(*('---' for _ in names))}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(markdown: str) -> str:
    """Keep a pipe inside its cell, code span or not.

    An odd number of backslashes before it means the same to every reader, whether or not it
    takes two of them for one: where the text itself has an odd number, one more is shown.
    """
    return re.sub(r"(\\*)\|", lambda found: "\\" * (len(found[1]) + 1 + len(found[1]) % 2) + "|", markdown)
