"""What an exception in a rank means, in one word and in one line."""

from __future__ import annotations

import torch

from regress.record.outcome import OutcomeKind


class Diverged(Exception):
    """The loss is not finite: what is timed is no training any more."""


def kind_of(error: BaseException) -> OutcomeKind:
    """Tell an allocation that failed and a loss that is not finite from all other errors."""
    if isinstance(error, Diverged):
        return "diverged"
    if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
        return "out_of_memory"
    if isinstance(error, RuntimeError) and "can't allocate memory" in str(error):  # torch's CPU allocator
        return "out_of_memory"
    return "raised"


def line_of(error: BaseException) -> str:
    """Type and first line of the message, as the last line of a traceback shows them."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:1000]}" if lines else type(error).__name__
