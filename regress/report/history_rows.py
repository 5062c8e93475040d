"""One series of a history in words: a row of every form of report.

All texts in it are plain and harmless (see `clean`); a renderer still escapes them for its form.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regress.record.history import Break, Change, Remeasured, Series, State, Verdict
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
    """For example ``confirmed, worse, still there``."""

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

    @property
    def is_loud(self) -> bool:
        """Whether it has a line of its own."""
        return self.state in LOUD and not self.series.ended


def series_row(series: Series, anchor: str) -> SeriesRow:
    """Put a series into words; ``anchor`` is the name of what drift is told from."""
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
    words.append("still there" if change.open else "not there any more")
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
        remeasured="" if change.remeasured is None else said(change.remeasured),
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


def said(answer: Remeasured) -> str:
    """What measuring two commits again came to: ``confirmed, +3.1 % (+2.8 to +3.4 %)``."""
    parts: list[str] = [answer.says]
    if answer.change is not None:
        bounds = _interval(answer.low, answer.high)
        parts.append(f"{percent(answer.change)} ({bounds})" if bounds else percent(answer.change))
    if answer.reason:
        parts.append(clean(answer.reason))
    return f"{', '.join(parts)} [runs {clean(answer.base)} and {clean(answer.head)}]"


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
        yield f"the newest run failed: {failure(series)}"
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


def failure(series: Series) -> str:
    """Say how the newest run failed."""
    newest = max(series.points, key=lambda point: point.started)
    return clean(newest.reason) or "nothing is known of how"


def _where(series: Series) -> str:
    parts = [f"suite {clean(series.suite)}", clean(series.platform)]
    parts += [series.mode] if series.mode != "any" else []
    parts += [f"@{clean(series.environment)}"] if series.environment else []
    parts += [] if series.code == "commits" else [series.code]
    return ", ".join(parts)


def _anchor(series: Series) -> str:
    """A name that lasts as long as the series: readable, and unique by its digest."""
    facts = (
        series.suite, series.benchmark, series.metric, series.platform, series.mode, series.code,
        series.environment,
    )  # fmt: skip
    digest = hashlib.sha256(repr(facts).encode(errors="surrogatepass")).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9]+", "-", f"{series.benchmark} {series.metric}".lower()).strip("-")
    return f"s-{readable[:60]}-{digest}"
