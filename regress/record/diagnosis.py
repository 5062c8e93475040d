"""What `regress doctor` found: what this machine can measure, and what will disturb it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SCHEMA = "regress.diagnosis/1"

State = Literal["stops", "wrong", "disturbs", "fine", "unknown"]
"""``stops``: nothing can be measured. ``wrong``: something does not work, the rest does.
``disturbs``: measurements will be noisier, or off. ``unknown``: this machine does not tell."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    """What, in a word or two: ``other load``."""

    state: State
    """How it is; see `State`."""

    text: str
    """What was seen, in one line; may hold text from outside. Empty when it is not known."""

    advice: str = ""
    """What to do about it; empty where nothing needs to be done."""


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """One Python that sides can be measured with."""

    environment: str | None
    """Name in the project file; ``None`` for the one that runs regress."""

    python: str
    """Path."""

    torch: str | None
    """Version with its build; ``None`` where it could not be imported."""

    device: str | None
    """What ranks run on: ``cpu`` or ``cuda``."""

    backend: str | None
    """Of the process group: ``gloo`` or ``nccl``."""

    ranks: int | None
    """The largest world size."""

    devices: tuple[str, ...] = ()
    """Model of each accelerator that torch sees."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What this machine can measure, and what will disturb it."""

    schema: str = SCHEMA
    """Name and version of this form."""

    host: str
    """Name of the machine."""

    can_measure: bool
    """Whether anything can be measured at all."""

    exit_status: int
    """0 when it can measure, else 3."""

    interpreters: tuple[Interpreter, ...]
    """The one that runs regress, then those of the project by name."""

    checks: tuple[Check, ...]
    """All that was looked at, in the order in which it was; see `Check.state`."""
