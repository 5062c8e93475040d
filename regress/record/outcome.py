"""How a benchmark of a launch ended: failures are results."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

OutcomeKind = Literal["ok", "raised", "exited", "died", "hung", "out_of_memory", "diverged", "unsupported"]
"""``ok``: measured. ``raised``: the benchmark's code raised. ``exited``: a rank ended with a
status of its own. ``died``: a signal ended a rank. ``hung``: a time limit passed.
``out_of_memory``: an allocation failed, or the kernel's killer came. ``diverged``: the loss
is not finite. ``unsupported``: this device or backend cannot run it."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one benchmark ended in one launch."""

    kind: OutcomeKind
    """See `OutcomeKind`."""

    rank: int | None = None
    """The culprit; ``None`` when all is well or nobody can be named."""

    status: int | None = None
    """Exit status of the culprit, or minus the number of the signal that ended it."""

    message: str = ""
    """One line for people: the last line of the traceback, the limit that passed."""

    log: str = ""
    """The log of the culprit, relative to the run's folder."""

    @property
    def ok(self) -> bool:
        """Whether the benchmark was measured to its end."""
        return self.kind == "ok"

    def same_failure(self, other: Outcome) -> bool:
        """Whether both failed in the same way (kind and status; ranks and texts may differ)."""
        return not self.ok and self.kind == other.kind and self.status == other.status


def signal_name(number: int) -> str:
    """Name of a signal for people."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
