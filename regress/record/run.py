"""A run: everything measured of one side in one go."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from regress.record.canary import Canary
from regress.record.environment import Environment
from regress.record.noise import Noise
from regress.record.outcome import Outcome
from regress.record.platform import Platform
from regress.record.sample import Sample
from regress.record.series import Workload

RUN_ID = re.compile(r"[0-9a-f]{8}")
"""Identity of a run."""

SUITE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""Name of a suite: it becomes the name of a file and of a folder."""


Purpose = Literal["comparison", "calibration"]
"""What a run was measured for."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One benchmark of one launch: how it ended and what it measured."""

    benchmark: str
    """Label, for example ``fsdp[reshard=true,world=8]``."""

    definition: str
    """Hash of the benchmark's definition; results of two definitions are not compared."""

    outcome: Outcome
    """How it ended; a failure has no samples."""

    workload: Workload | None = None
    """What was computed; ``None`` when it failed before that was known."""

    samples: tuple[Sample, ...] = ()
    """What was measured, in the order of the metric table."""

    side_modules: int | None = None
    """Modules imported from the side's revision; ``None`` where none was laid out, or it failed."""

    planted_s: float | None = None
    """What a calibration made the timed steps longer by, on the rank where that took longest; 0 on the side
    without the slowdown, ``None`` where nothing was planted on either."""

    warmup: int | None = None
    """Steps before the first timed one; ``None`` where that is unknown, or it failed."""

    idle_cores: float | None = None
    """Cores that its ranks kept busy between bursts, while the other side had its turn; ``None`` where it
    was alone, or it is unknown."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One fresh process group: the unit of replication."""

    run: str
    """Identity of the run it belongs to."""

    block: int
    """The block it was measured in; the unit of pairing."""

    attempt: int
    """Counts the launches of this block and world size: 0, then one more per death."""

    world_size: int
    """Ranks."""

    alone: bool
    """Whether the other side was not resident beside it."""

    started: str
    """UTC, ISO 8601."""

    seconds: float
    """From the request to the last rank's end."""

    platform: Platform | None
    """Hardware; ``None`` when the launch failed before it could tell."""

    environment: Environment | None
    """Software; ``None`` as above."""

    measurements: tuple[Measurement, ...]
    """In execution order."""

    foreign_cpu: float | None = None
    """Share of the host's cores that others used meanwhile; ``None`` where unknown."""

    cores: tuple[str, ...] = ()
    """Cores that each rank was kept to, as Linux lists them (``0-3,8``); empty when none was."""

    canary: Canary | None = None
    """How the node was before and after; ``None`` where the canary is turned off."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a run is of, written before its first launch."""

    run: str
    """Identity: random, 8 hexadecimal digits."""

    comparison: str
    """Identity shared by the two runs whose blocks were measured together."""

    suite: str
    """Name of the suite."""

    side: str
    """As the user wrote it, for example ``HEAD~1@nightly``."""

    role: str
    """``base``, ``head`` or ``only``."""

    commit: str | None
    """Full hash; ``None`` when no revision was measured."""

    subject: str
    """First line of the commit's message; text from outside."""

    benchmarks_from: str
    """Where the benchmark files came from: a commit or a folder."""

    started: str
    """UTC, ISO 8601."""

    environment: str | None = None
    """Name of the configured environment; ``None``: the one that runs regress."""

    plan: str
    """The plan as JSON text; see `regress.spec.plan`."""

    regress: str
    """Version of the harness."""

    platform: Platform | None = None
    """The host that measures it, with all its devices."""

    undertaking: str = ""
    """Digest of all that was asked for: an interrupted measurement goes on where it is equal."""

    noise: tuple[Noise, ...] = ()
    """What earlier runs told of the noise before the first launch."""

    purpose: Purpose = "comparison"
    """A run of a calibration is no history of its benchmarks: they may have been slowed down."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A manifest and its launches, as read back from a store."""

    manifest: Manifest
    """What it is of."""

    launches: tuple[Launch, ...]
    """By block, world size, attempt."""

    folder: str
    """Where it lies."""

    complete: bool
    """Whether the run was closed; an open one is never a baseline."""
