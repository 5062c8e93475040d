"""One table model of a history, which terminal and page render: they cannot disagree.

All texts in it are plain and harmless (see `clean`); a renderer still escapes them for its form.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regress.record.history import (
    Break,
    Change,
    History,
    Remeasured,
    Series,
    State,
    Verdict,
)
from regress.report.words import clean, counted, title
from regress.units import percent, percents, quantities

SIGNS: dict[Verdict, str] = {
    "broken": "✕",
    "regressed": "▲",
    "drifted": "↗",
    "suspected": "?",
    "improved": "▼",
    "short": "…",
    "steady": "=",
    "unmeasured": "○",
}
"""A sign for each state, so that none is told by its colour alone."""

LOUD: tuple[State, ...] = ("broken", "regressed", "drifted", "suspected", "improved")
"""States that have lines of their own; the others are folded into one."""


@dataclass(frozen=True, kw_only=True)
class ChangeRow:
    """One step of a level in words."""

    change: Change
    """What it stands for."""

    what: str
    """For example ``confirmed, worse, open``."""

    amount: str
    """Signed, positive is worse."""

    interval: str
    """90 %; empty where there is none."""

    commits: str
    """The range, or what stands for it."""

    distance: str
    """For example ``3 commits``; empty where it is not known."""

    when: str
    """Day on which the new level was first measured."""

    subject: str
    """Of the first commit of the new level."""

    remeasured: str
    """What measuring again says; empty where nobody did."""


@dataclass(frozen=True, kw_only=True)
class SeriesRow:
    """One series in words."""

    series: Series
    """What it stands for; for its numbers only, its texts are as they came."""

    anchor: str
    """Lasting name within a page: letters, digits and hyphens."""

    benchmark: str
    """Label."""

    metric: str
    """Its name for people."""

    where: str
    """Suite, platform and way of measuring."""

    mark: str
    """Sign of the state."""

    state: State
    """Of the series."""

    before: str
    """Level before the change that stands for the series; empty where none does."""

    now: str
    """Newest level."""

    amount: str
    """That change, or the drift; signed, positive is worse."""

    interval: str
    """90 %, of the same; empty where there is none."""

    main: ChangeRow | None
    """The change that stands for the series: the largest open one of its state."""

    changes: tuple[ChangeRow, ...]
    """All, newest first."""

    breaks: tuple[str, ...]
    """Each change of conditions in one line, newest first."""

    notes: tuple[str, ...]
    """What else a reader should know."""


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
    rows = [_row(series, answer.anchor) for series in answer.series]
    current = [row for row in rows if not row.series.ended]
    loud = tuple(row for row in current if row.state in LOUD)
    quiet = tuple(row for row in current if row.state not in LOUD)
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
            f"{_said(each.said)}"
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
        return f"{named}: {_failure(row.series)}"
    if row.state == "drifted" and row.series.drift is not None:
        drift = row.series.drift
        return f"first {named} {percent(drift.change)} ({percents(drift.low, drift.high)})"
    if row.main is None:
        return f"first {named}"
    bounds = f" ({row.main.interval})" if row.main.interval else ""
    return f"first {named} {row.main.amount}{bounds} at {row.main.commits}"


def _row(series: Series, anchor: str) -> SeriesRow:
    changes = [_change(change, series.unit) for change in reversed(series.changes)]
    main = _main(series, changes)
    known = [level.median for level in series.levels if level.median is not None]
    before, now = quantities(
        [main.change.before if main is not None else None, known[-1] if known else None], series.unit
    )
    amount, interval = "", ""
    if main is not None:
        amount, interval = main.amount, main.interval
    elif series.state == "drifted" and series.drift is not None:
        amount, interval = percent(series.drift.change), percents(series.drift.low, series.drift.high)
    return SeriesRow(
        series=series,
        anchor=_anchor(series),
        benchmark=clean(series.benchmark),
        metric=title(series.metric),
        where=_where(series),
        mark=SIGNS[series.state],
        state=series.state,
        before=before if main is not None else "",
        now=now,
        amount=amount,
        interval=interval,
        main=main,
        changes=tuple(changes),
        breaks=tuple(_break(each) for each in reversed(series.breaks)),
        notes=tuple(_notes(series, anchor)),
    )


def _main(series: Series, rows: Sequence[ChangeRow]) -> ChangeRow | None:
    """The change that stands for a series: of those of its state the one that is surely largest."""
    wanted = {
        "regressed": ("confirmed", True),
        "suspected": ("suspected", True),
        "improved": ("confirmed", False),
    }
    if series.state not in wanted:
        return None
    state, worse = wanted[series.state]
    fitting = [
        row for row in rows if row.change.open and (row.change.state, row.change.worse) == (state, worse)
    ]
    return max(fitting, key=lambda row: _sure(row.change), default=None)


def _sure(change: Change) -> float:
    end = change.low if change.worse else change.high
    return float("inf") if end is None else abs(end)


def _change(change: Change, unit: str) -> ChangeRow:
    words = [change.state, "worse" if change.worse else "better"]
    words.append("open" if change.open else "not there any more")
    before, after = quantities([change.before, change.after], unit)
    return ChangeRow(
        change=change,
        what=", ".join(words),
        amount=f"{before} → {after}" if change.change is None else percent(change.change),
        interval=_interval(change.low, change.high),
        commits=clean(change.commits) or "no revision",
        distance=_distance(change),
        when=clean(change.started)[:10],
        subject=clean(change.subject, limit=120),
        remeasured="" if change.remeasured is None else _said(change.remeasured),
    )


def _interval(low: float | None, high: float | None) -> str:
    """Empty where there is none, or where nothing is unsure."""
    return percents(low, high) if low is not None and high is not None and low != high else ""


def _distance(change: Change) -> str:
    if change.distance is None:
        return ""
    if change.distance <= 0:
        return "two measurements of one commit: suspect the machine first"
    return counted(change.distance, "commit")


def _said(said: Remeasured) -> str:
    """What measuring two commits again came to: ``confirmed, +3.1 % (+2.8 to +3.4 %)``."""
    parts: list[str] = [said.says]
    if said.change is not None:
        bounds = _interval(said.low, said.high)
        parts.append(f"{percent(said.change)} ({bounds})" if bounds else percent(said.change))
    if said.reason:
        parts.append(clean(said.reason))
    return f"{', '.join(parts)} [runs {clean(said.base)} and {clean(said.head)}]"


def _break(each: Break) -> str:
    """Say what changed around a benchmark, and what the level did there."""
    named = [
        f"{clean(one.field, limit=40)} {clean(one.base, limit=40) or 'absent'} → "
        f"{clean(one.head, limit=40) or 'absent'}"
        for one in each.differences[:4]
    ]
    more = len(each.differences) - len(named)
    text = f"{clean(each.started)[:10]}: {', '.join(named)}{f' and {more} more' if more else ''}"
    if each.change is None:
        return text
    return f"{text}; the level moved by {percent(each.change)} there, which is no alarm"


def _notes(series: Series, anchor: str) -> Iterator[str]:
    if series.reason:
        yield clean(series.reason)
    if series.state == "broken":
        yield f"the newest run failed: {_failure(series)}"
    if series.drift is not None:
        drift = series.drift
        yield (
            f"drifted by {percent(drift.change)} ({percents(drift.low, drift.high)}) since "
            f"{_anchor_name(series, anchor)}"
        )
    gaps = sum(point.value is None for point in series.points)
    if gaps:
        yield f"{counted(gaps, 'run')} of {len(series.points)} gave no value"
    if series.ended:
        yield f"measured on {clean(series.ended)} since"


def _anchor_name(series: Series, anchor: str) -> str:
    point = series.points[series.anchor] if series.anchor is not None else None
    commit = "" if point is None or point.commit is None else f" (measured at {point.commit[:12]})"
    return f"{clean(anchor, limit=80)}{commit}"


def _failure(series: Series) -> str:
    newest = max(series.points, key=lambda point: point.started)
    return clean(newest.reason) or "nothing is known of how"


def _where(series: Series) -> str:
    parts = [f"suite {clean(series.suite)}", clean(series.platform)]
    parts += [series.mode] if series.mode != "any" else []
    parts += [f"@{clean(series.environment)}"] if series.environment else []
    parts += [] if series.code == "commits" else [series.code]
    return ", ".join(parts)


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


def _anchor(series: Series) -> str:
    """A name that lasts as long as the series: readable, and unique by its digest."""
    facts = (
        series.suite, series.benchmark, series.metric, series.platform, series.mode, series.code,
        series.environment,
    )  # fmt: skip
    digest = hashlib.sha256(repr(facts).encode(errors="surrogatepass")).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9]+", "-", f"{series.benchmark} {series.metric}".lower()).strip("-")
    return f"s-{readable[:60]}-{digest}"
