"""What a comparison could see, said before it is measured."""

from __future__ import annotations

from dataclasses import dataclass

from regress.record.calibration import Mode

SCHEMA = "regress.foresight/1"
"""Of ``--plan --json``."""


@dataclass(frozen=True, kw_only=True)
class PlannedSide:
    """One of the two sides."""

    name: str
    """As the user wrote it."""

    commit: str | None
    """Full hash; ``None`` when no revision, or the working tree, is measured."""

    subject: str
    """First line of the commit's message; text from outside."""


@dataclass(frozen=True, kw_only=True)
class Prospect:
    """What is seen at one look."""

    blocks: int
    """Measured by then."""

    claims: bool
    """Whether anything is claimed on so few."""

    detectable: float | None
    """Smallest worsening called `regressed` 9 times in 10, a fraction of base; ``None`` where none is."""


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """One timed gate of one benchmark."""

    benchmark: str
    """Label."""

    metric: str
    """Name."""

    sd: float | None
    """Standard deviation of a block's difference, log scale; ``None`` where nobody knows."""

    df: float
    """How well it is known: degrees of freedom."""

    launches: int
    """Earlier launches of the benchmark behind it; 0 if only other benchmarks lent theirs."""

    bias: float
    """How far identical sides may differ, log scale, by the last calibration."""

    fewest: int
    """Blocks below which nothing is claimed."""

    prospects: tuple[Prospect, ...]
    """One for each look; empty where the noise is unknown."""

    enough: int | None
    """Blocks that see what must be seen; ``None`` where the noise is unknown, or too many are needed."""


@dataclass(frozen=True, kw_only=True)
class Foresight:
    """What a comparison could see within its budget; nothing was measured for it."""

    schema: str = SCHEMA
    """Name and version of this form."""

    base: PlannedSide
    """What head would be compared with."""

    head: PlannedSide
    """What would be judged."""

    suite: str
    """Name."""

    platform: str
    """Key of the hardware."""

    mode: Mode
    """Whether the sides take turns in a tested block."""

    false_alarms: float
    """Rate that the whole suite keeps."""

    min_change: float
    """Smallest change worth a verdict."""

    must_see: float
    """Worsening that a gate must be able to see."""

    looks: tuple[int, ...]
    """Numbers of tested blocks after which it is asked what is decided; the last is the most."""

    others: int
    """Blocks before them that are not tested: each side runs alone."""

    spare: int
    """Further blocks at most, for those that are lost."""

    budget_s: float | None
    """Time after which no block is begun; ``None``: none was given."""

    block_s: float | None
    """What a tested block took in the last comparison here; ``None``: never measured here."""

    seconds: float | None
    """What all blocks but the spare ones take at that; within the budget, if one was given."""

    outlooks: tuple[Outlook, ...]
    """In the order of the suite."""

    new: tuple[str, ...] = ()
    """Benchmarks that base lacks: there is nothing to compare them with."""

    notes: tuple[str, ...] = ()
    """What a reader should know."""
