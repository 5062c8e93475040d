"""Names the culprit of a launch that failed, from what its ranks told and where they stand."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from regress.record.outcome import Outcome, OutcomeKind, signal_name

FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')
"""A line of a `faulthandler` dump."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What a rank told before it ended."""

    kind: OutcomeKind
    """What its exception means."""

    message: str
    """The exception in one line."""

    at_s: float
    """When it was raised, on the host's monotonic clock."""


@dataclass(frozen=True, kw_only=True)
class Witness:
    """What is known of one rank when its launch has failed."""

    rank: int
    """In the process group."""

    log: str
    """Path of its log."""

    failure: Failure | None = None
    """What it told; ``None`` when it told nothing."""

    gone_s: float | None = None
    """When it was seen to have ended, on the host's monotonic clock; ``None`` while it lives."""

    status: int | None = None
    """Exit status, or minus the signal's number; ``None`` when unknown."""

    beats: int = 0
    """Steps that it ended."""

    frame: str | None = None
    """Where its main thread stands, ``file.py:12 (function)``; ``None`` when it gave no stack."""

    collectives: tuple[tuple[str, int], ...] = ()
    """Number of the last collective it began in each process group; empty when unknown."""


def blame_ended(witnesses: Sequence[Witness]) -> Outcome:
    """Name the rank that ended without a word, else the first that told of an error.

    When one rank ends, the collectives of the others fail: what they tell is a consequence.

    Args:
        witnesses: All ranks; at least one is gone or has told of a failure.
    """
    silent = [witness for witness in witnesses if witness.gone_s is not None and witness.failure is None]
    if silent:
        return _ended(min(silent, key=lambda witness: witness.gone_s or 0.0))
    told = [(witness.failure.at_s, witness.rank, witness) for witness in witnesses if witness.failure]
    first = min(told)[2]
    assert first.failure is not None  # noqa: S101 - it is one of those that told
    return _outcome(first, first.failure.kind, first.failure.message)


def blame_hung(witnesses: Sequence[Witness], what: str, torch: str | None) -> Outcome:
    """Name the rank that the others wait for: the one that is stopped, behind, or not inside torch.

    Where all have ended as many steps and stand inside torch, it is the one that has begun fewer
    collectives of a process group that all belong to.

    Args:
        witnesses: The ranks that have not answered.
        what: The limit that passed, for people.
        torch: Folder of torch in the ranks' environment; ``None`` when they could not tell it.
    """
    stopped = [witness for witness in witnesses if witness.frame is None]
    slowest = min(witness.beats for witness in witnesses)
    behind = [witness for witness in witnesses if witness.beats == slowest]
    outside = [
        witness
        for witness in witnesses
        if torch is not None and witness.frame is not None and not witness.frame.startswith(torch)
    ]
    culprit = next(
        (ranks[0] for ranks in (stopped, behind, outside, _lagging(witnesses)) if len(ranks) == 1), None
    )
    if culprit is None:
        return Outcome(kind="hung", message=f"{what}, on no rank in particular", log=witnesses[0].log)
    where = f"it stands in {culprit.frame}" if culprit.frame else "it gives no stack, as a stopped process"
    return _outcome(culprit, "hung", f"{what}; {where}")


def _lagging(witnesses: Sequence[Witness]) -> list[Witness]:
    """The ranks that are behind in some process group that all of them belong to."""
    last = [dict(witness.collectives) for witness in witnesses]
    shared = set(last[0]).intersection(*last[1:])
    most = {group: max(numbers[group] for numbers in last) for group in shared}
    return [
        witness
        for witness, numbers in zip(witnesses, last, strict=True)
        if any(numbers[group] < most[group] for group in shared)
    ]


def innermost_frame(dump: str) -> str | None:
    """The innermost frame of the main thread, which `faulthandler` writes last."""
    _, mark, thread = dump.rpartition("(most recent call first):\n")
    frame = FRAME.match(thread) if mark else None
    return f"{frame['file']}:{frame['line']} ({frame['function']})" if frame else None


def _ended(witness: Witness) -> Outcome:
    status = witness.status
    if status is None:
        return _outcome(witness, "died", "closed its connection and lives on")
    if status < 0:
        hint = "; perhaps the kernel's out-of-memory killer" if status == -signal.SIGKILL else ""
        return _outcome(witness, "died", f"ended by {signal_name(-status)}{hint}")
    return _outcome(witness, "exited", f"exited with status {status} before the end")


def _outcome(witness: Witness, kind: OutcomeKind, message: str) -> Outcome:
    status = witness.status if kind in ("died", "exited") else None
    return Outcome(kind=kind, rank=witness.rank, status=status, message=message, log=witness.log)
