"""One table model of a history, which terminal and page render: they cannot disagree.

All texts in it are plain and harmless (see `clean`); a renderer still escapes them for its form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regress.record.history import History, Verdict
from regress.report.history_rows import LOUD, SIGNS, SeriesRow, failure, said, series_row
from regress.report.words import clean, counted, title
from regress.units import percent, percents


@dataclass(frozen=True, kw_only=True)
class HistoryTables:
    """The whole answer in words."""

    verdict: Verdict
    """The most alarming state."""

    mark: str
    """Its sign."""

    sentence: str
    """What it rests on."""

    facts: tuple[tuple[str, str], ...]
    """What it rests on, by name."""

    rows: tuple[SeriesRow, ...]
    """Series that need a look, most alarming first."""

    quiet: tuple[SeriesRow, ...]
    """Steady ones, and those that are too short to tell."""

    quiet_line: str
    """They in one line; empty where there are none."""

    ended: tuple[SeriesRow, ...]
    """Those that went on on another platform."""

    ended_line: str
    """They in one line; empty where there are none."""

    remeasured: tuple[str, ...]
    """What was measured again, in one line each."""

    notes: tuple[str, ...]
    """Runs that were left out or cannot be read."""

    steps: tuple[tuple[str, str], ...]
    """What to do next: what for, and the command."""


def tables(answer: History) -> HistoryTables:
    """Put a history into words."""
    rows = [series_row(series, answer.anchor) for series in answer.series]
    current = [row for row in rows if not row.series.ended]
    loud = tuple(row for row in current if row.is_loud)
    quiet = tuple(row for row in current if not row.is_loud)
    ended = tuple(row for row in rows if row.series.ended)
    return HistoryTables(
        verdict=answer.verdict,
        mark=SIGNS[answer.verdict],
        sentence=_sentence(answer, current),
        facts=tuple(_facts(answer)),
        rows=loud,
        quiet=quiet,
        quiet_line=_quiet_line(quiet),
        ended=ended,
        ended_line=f"{len(ended)} series went on on another platform" if ended else "",
        remeasured=tuple(
            f"{clean(each.benchmark, limit=80)} {title(each.metric)} at {clean(each.commits)}: "
            f"{said(each.said)}"
            for each in answer.remeasured
        ),
        notes=(
            *(f"left out: {clean(line)}" for line in answer.left_out),
            *(f"cannot be read: {clean(line)}" for line in answer.unreadable),
        ),
        steps=tuple(_steps(loud)),
    )


def _steps(loud: Sequence[SeriesRow]) -> Iterator[tuple[str, str]]:
    first = next((row.main for row in loud if row.main is not None and row.main.change.worse), None)
    if first is not None and first.change.distance and first.change.commits:
        yield "see the commits", f"git log {first.commits}"
    if any(row.state == "suspected" for row in loud):
        yield "decide what is suspected", "regress history --confirm"


def _facts(answer: History) -> Iterator[tuple[str, str]]:
    points = sum(point.value is not None for series in answer.series for point in series.points)
    yield "points", f"{points} of {counted(answer.runs, 'run')} in {len(answer.series)} series"
    times = [point.started for series in answer.series for point in series.points]
    if times:
        yield "measured", f"{clean(min(times))[:10]} to {clean(max(times))[:10]}"
    yield "anchor", clean(answer.anchor, limit=80) or "none: no tag was measured"


def _sentence(answer: History, current: Sequence[SeriesRow]) -> str:
    if answer.verdict == "unmeasured":
        return "nothing was measured; `regress run` or `regress compare` makes points"
    concerned = [row for row in current if row.state == answer.verdict]
    first = concerned[0]
    total = f"{len(concerned)} of {len(current)} series"
    named = f"{first.benchmark} {first.metric}"
    if answer.verdict == "short":
        return f"{total} {'has' if len(concerned) == 1 else 'have'} too few points to tell a step"
    if answer.verdict == "steady":
        return f"no worsening is open in {len(current)} series"
    parts = [f"{total} {_PREDICATES[answer.verdict]}", _first(first, named)]
    for state in LOUD:
        number = sum(row.state == state for row in current)
        if state != answer.verdict and number:
            parts.append(f"{number} {state}")
    return "; ".join(parts)


_PREDICATES = {
    "broken": "failed in the newest run",
    "regressed": "got worse and still are",
    "drifted": "got worse bit by bit",
    "suspected": "may have got worse",
    "improved": "got better",
}


def _first(row: SeriesRow, named: str) -> str:
    if row.state == "broken":
        return f"{named}: {failure(row.series)}"
    if row.state == "drifted" and row.series.drift is not None:
        drift = row.series.drift
        return f"first {named} {percent(drift.change)} ({percents(drift.low, drift.high)})"
    if row.main is None:
        return f"first {named}"
    bounds = f" ({row.main.interval})" if row.main.interval else ""
    return f"first {named} {row.main.amount}{bounds} at {row.main.commits}"


def _quiet_line(quiet: Sequence[SeriesRow]) -> str:
    steady = [row for row in quiet if row.state == "steady"]
    short = len(quiet) - len(steady)
    texts = []
    if steady:
        points = [sum(point.value is not None for point in row.series.points) for row in steady]
        extent = f"{min(points)}" if min(points) == max(points) else f"{min(points)} to {max(points)}"
        texts.append(f"{SIGNS['steady']} {len(steady)} series steady, of {extent} points")
    if short:
        texts.append(f"{SIGNS['short']} {short} series too short to tell")
    return "; ".join(texts)
