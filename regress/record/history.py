"""The answer of one `regress history`, as ``--json`` writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regress.record.comparison import Difference
from regress.record.metric import Direction, Kind

SCHEMA = "regress.history/1"

State = Literal["broken", "regressed", "drifted", "suspected", "improved", "short", "steady"]
"""What a series came to, most alarming first. ``broken``: its newest run failed. ``regressed``: a
confirmed worsening that is still there. ``drifted``: worse than at the anchor. ``suspected``: a
worsening that may be noise. ``improved``: better since a confirmed change. ``short``: too few
points to tell. ``steady``: none of these."""

STATES: tuple[State, ...] = (
    "broken", "regressed", "drifted", "suspected", "improved", "short", "steady"
)  # fmt: skip

Verdict = Literal["broken", "regressed", "drifted", "suspected", "improved", "short", "steady", "unmeasured"]
"""That of the most alarming series; ``unmeasured`` where there is none."""

Mode = Literal["resident", "alone", "any"]
"""Whether the other side was resident beside it; ``any`` for what is counted, where it is no matter."""

Says = Literal["confirmed", "refuted", "undecided"]
"""What measuring again says of a change; ``refuted`` where it would have seen half of it and did not."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One run in a series."""

    run: str
    """Identity."""

    commit: str | None
    """Full hash; ``None`` when no revision was measured."""

    subject: str
    """First line of the commit's message; text from outside."""

    started: str
    """When the run was begun: UTC, ISO 8601."""

    value: float | None
    """Median over its launches on the log scale; ``None`` where none gave a value."""

    launches: int
    """How many gave a value."""

    failures: int
    """How many failed."""

    reason: str
    """How the first of them failed; empty where none did."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """A stretch between two boundaries, in which nothing is known to have moved."""

    start: int
    """Its first point."""

    end: int
    """The point after its last."""

    median: float | None
    """Of its values; ``None`` where it holds none."""


@dataclass(frozen=True, kw_only=True)
class Remeasured:
    """What a comparison of the two commits around a change says of it."""

    says: Says
    """By its verdict and its interval."""

    base: str
    """Run of the last commit of the old level."""

    head: str
    """Run of the first commit of the new one."""

    change: float | None
    """Estimate, a fraction of base, positive is worse; ``None`` where there is none."""

    low: float | None
    """Lower end of its interval."""

    high: float | None
    """Upper end."""

    reason: str
    """Why it is undecided; empty where it is not."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One step of the level; fractions of the old level, positive is worse."""

    index: int
    """The first point of the new level."""

    commits: str
    """The last measured commit of the old level and the first of the new one, as git takes a range:
    ``0123456789ab..456789abcdef``; empty where no revision was measured."""

    distance: int | None
    """How many commits further on the second one stands in the history; 0 where both are the same:
    two measurements of one commit; ``None`` where git does not know."""

    subject: str
    """Of the first commit of the new level; text from outside."""

    started: str
    """When that was measured: UTC, ISO 8601."""

    before: float | None
    """Median of the level before."""

    after: float | None
    """Median of the new level."""

    change: float | None
    """New against old level; ``None`` where the old one is 0."""

    low: float | None
    """Lower end of its 90 % interval."""

    high: float | None
    """Upper end."""

    worse: bool
    """Whether it is for the worse."""

    state: Literal["suspected", "confirmed", "refuted"]
    """How sure it is; what is suspected may be confirmed or refuted by measuring again."""

    open: bool
    """Whether the newest level still keeps at least half of it, under the same conditions."""

    remeasured: Remeasured | None = None
    """What the last comparison of exactly these two commits says; ``None`` without one."""


@dataclass(frozen=True, kw_only=True)
class Break:
    """Where conditions changed. What the level does there is shown, and never an alarm."""

    index: int
    """The first point under new conditions."""

    started: str
    """When that was measured: UTC, ISO 8601."""

    differences: tuple[Difference, ...]
    """What changed; `definition`, fields of the workload, or software."""

    change: float | None
    """Level after against level before; ``None`` where one of them is not known, or is 0."""


@dataclass(frozen=True, kw_only=True)
class Drifted:
    """A worsening since the anchor; fractions of the level there, positive is worse."""

    index: int
    """The point of the anchor."""

    change: float
    """How much worse the newest points are."""

    low: float
    """Lower end of its 90 % interval."""

    high: float
    """Upper end."""

    p: float
    """One-sided, of "no worse than at the anchor"."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One metric of one benchmark, measured on one platform in one way."""

    suite: str
    """Name."""

    benchmark: str
    """Label."""

    metric: str
    """Name."""

    unit: str
    """Of the values."""

    direction: Direction
    """Which way is better."""

    kind: Kind
    """``exact`` where the launches of each run agree, else ``timed``; or ``derived``, ``guard``."""

    platform: str
    """Key."""

    mode: Mode
    """How it was measured."""

    code: Literal["commits", "uncommitted", "installed"]
    """What is measured: revisions, a folder without git, or the shipped benchmarks alone."""

    environment: str | None
    """Name of the configured environment; ``None``: the one that runs regress."""

    state: State
    """What it comes to."""

    reason: str
    """Why it could not be judged, or is short; else empty."""

    ended: str
    """The platform that went on with it; empty where nothing did. Then it counts for no verdict."""

    points: tuple[Point, ...]
    """By conditions, in the order in which these were first met; then by commit; then by time."""

    levels: tuple[Level, ...]
    """Between all boundaries."""

    changes: tuple[Change, ...]
    """By index."""

    breaks: tuple[Break, ...]
    """By index."""

    anchor: int | None
    """The point of the anchor; ``None`` where it has none under the newest conditions."""

    drift: Drifted | None
    """``None`` where none is shown, or there is no anchor."""


@dataclass(frozen=True, kw_only=True)
class RemeasuredChange:
    """A suspected change whose two commits were measured again by this command."""

    suite: str
    """Name."""

    benchmark: str
    """Label."""

    metric: str
    """Name."""

    platform: str
    """Key."""

    commits: str
    """As in `Change`."""

    said: Remeasured
    """What came of it. The new points count too, so the change itself may look different now."""


@dataclass(frozen=True, kw_only=True)
class History:
    """All series that were asked for."""

    schema: str
    """Name and version of this form."""

    verdict: Verdict
    """The most alarming state."""

    exit_status: int
    """0, or what ``--fail-on`` asks for, or 3 where nothing was measured."""

    anchor: str
    """Name of the fixed point that drift is told from; empty where there is none."""

    runs: int
    """Stored runs that gave points."""

    series: tuple[Series, ...]
    """Most alarming first."""

    remeasured: tuple[RemeasuredChange, ...]
    """What was measured again, where that was asked for."""

    left_out: tuple[str, ...]
    """Runs that gave no points, and why, one line for each reason."""

    unreadable: tuple[str, ...]
    """Runs that cannot be read, each with why."""
