"""The answer of one `regress compare`, as ``--json`` writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regress.record.calibration import CalibrationSummary
from regress.record.metric import Direction, Kind, Role
from regress.record.outcome import Outcome

SCHEMA = "regress.comparison/1"

Verdict = Literal[
    "broken", "regressed", "incomparable", "inconclusive", "gone", "new", "improved", "unchanged"
]
"""Most alarming first."""

VERDICTS: tuple[Verdict, ...] = (
    "broken", "regressed", "incomparable", "inconclusive", "gone", "new", "improved", "unchanged"
)  # fmt: skip

Design = Literal["paired", "unpaired", "exact"]


@dataclass(frozen=True, kw_only=True)
class Values:
    """The launches of one side that a comparison rests on."""

    median: float | None
    """In the metric's unit; ``None`` without launches."""

    launches: int
    """How many."""

    values: tuple[float, ...]
    """One per launch, by block."""

    blocks: tuple[int, ...]
    """The block of each value."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One benchmark and metric, base against head.

    ``change``, ``low``, ``high`` and ``detectable`` are fractions of base, signed so that
    positive is worse whatever the metric's direction.
    """

    benchmark: str
    """Label."""

    metric: str
    """Name."""

    unit: str
    """Of the values."""

    direction: Direction
    """Which way is better."""

    kind: Kind
    """``exact`` where the launches of each side agree, else ``timed``; or ``derived``, ``guard``."""

    role: Role
    """Only a ``gate`` can fail the build."""

    verdict: Verdict | None
    """``None`` for what is only shown."""

    base: Values
    """Of the base."""

    head: Values
    """Of the head."""

    change: float | None
    """Estimate; ``None`` when one side has no value, or base is 0 and head is not."""

    low: float | None
    """Lower end of the interval of ``change``."""

    high: float | None
    """Upper end."""

    confidence: float | None
    """Of the interval; ``None`` where there is none."""

    p: float | None
    """One-sided, of "no worse"; ``None`` where nothing was tested."""

    p_adjusted: float | None
    """The same, adjusted for the whole suite (Holm)."""

    detectable: float | None
    """Smallest worsening that would have been called `regressed` 9 times in 10; ``None`` where none would."""

    reason: str
    """Why this verdict, in one clause; for `inconclusive` what it would take."""

    design: Design
    """How the two sides were set against each other."""

    notes: tuple[str, ...] = ()
    """What a reader should know: an assumption, a disagreement, a lost block."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two sides, as it was measured."""

    name: str
    """As the user wrote it."""

    commit: str | None
    """Full hash; ``None`` when no revision was measured."""

    subject: str
    """First line of the commit's message; text from outside."""

    run: str
    """Identity of the run."""

    folder: str
    """Where the run lies."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A benchmark of a launch that did not end well."""

    side: str
    """``base`` or ``head``."""

    benchmark: str
    """Label."""

    block: int
    """Where it happened."""

    alone: bool
    """Whether the other side was not resident beside it."""

    outcome: Outcome
    """Type, culprit, message, log."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A field in which the sides differ."""

    field: str
    """For example ``torch`` or ``$NCCL_ALGO``."""

    base: str
    """Its value there; empty when absent."""

    head: str
    """Its value there; empty when absent."""


@dataclass(frozen=True, kw_only=True)
class SuiteComparison:
    """The whole answer: verdict first, then all it rests on."""

    schema: str = SCHEMA
    """Name and version of this form."""

    base: Side
    """What head is compared with."""

    head: Side
    """What is judged."""

    suite: str
    """Name."""

    platform: str
    """Key of base's platform."""

    platform_fields: tuple[tuple[str, str], ...]
    """That platform in words: name and value."""

    environment_fields: tuple[tuple[str, str], ...]
    """Head's software in words: name and value."""

    verdict: Verdict
    """The most alarming one of the gates."""

    exit_status: int
    """0 nothing regressed, 1 regressed or broken, 3 could not tell, 4 inconclusive when asked."""

    false_alarms: float
    """Rate that the whole suite keeps."""

    min_change: float
    """Smallest change worth a verdict."""

    must_see: float
    """Worsening that a gate must be able to see."""

    comparisons: tuple[Comparison, ...]
    """By benchmark in the order of the suite, then in the order of the metric table."""

    outcomes: tuple[Failure, ...]
    """Every failure of every launch."""

    platform_diff: tuple[Difference, ...]
    """Hardware that differs: makes the sides incomparable."""

    environment_diff: tuple[Difference, ...]
    """Software that differs: the first suspects."""

    started: str
    """UTC, ISO 8601, of the first launch."""

    seconds: float
    """All launches together."""

    command: str
    """What to type to measure it again."""

    notes: tuple[str, ...] = ()
    """About the comparison as a whole."""

    calibration: CalibrationSummary | None = None
    """What the last calibration of the platform says; ``None`` where there is none."""
