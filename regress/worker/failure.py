"""What an exception in a rank means, in one word and in one line."""

from __future__ import annotations

import re

import torch

from regress.record.outcome import OutcomeKind

NO_MEMORY = re.compile(
    r"out of memory|can't allocate memory|(CUBLAS|CUSPARSE|CUSOLVER|CUDNN)_STATUS_\w*ALLOC\w*_FAILED"
    r"|Failed to CUDA (c|m)alloc",
    re.IGNORECASE,
)
"""What libraries below torch say of an allocation that failed: CUDA, its libraries, NCCL, and torch on CPU.
Only torch's own allocator for devices has an exception for it."""


class Diverged(Exception):
    """The loss is not finite: what is timed is no training any more."""


def kind_of(error: BaseException) -> OutcomeKind:
    """Tell what has a kind of its own from all other errors.

    That is an allocation that failed, a loss that is not finite, and `NotImplementedError`: with
    it a benchmark says that this device or backend cannot run it, and so does torch of an operator.
    """
    if isinstance(error, Diverged):
        return "diverged"
    if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
        return "out_of_memory"
    if isinstance(error, NotImplementedError):
        return "unsupported"
    if isinstance(error, RuntimeError) and NO_MEMORY.search(str(error)):
        return "out_of_memory"
    return "raised"


def line_of(error: BaseException) -> str:
    """Type and first line of the message, as the last line of a traceback shows them."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:1000]}" if lines else type(error).__name__
