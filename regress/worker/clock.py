"""The clock of a device: marks that cost next to nothing, read after the burst.

Inside a step nothing waits for the device: on CUDA a mark is an event in the stream,
on CPU it is the monotonic clock.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import torch


class Clock(Protocol):
    """Marks moments in the order of the device's work."""

    def mark(self) -> Any:
        """Mark now, without waiting for the device."""

    def offsets_s(self, origin: Any, marks: Sequence[Any]) -> list[float]:
        """Seconds from ``origin`` to each mark; call `synchronize` first."""

    def wait(self, mark: Any) -> None:
        """Wait until the device has come to a mark."""

    def synchronize(self) -> None:
        """Wait until the device has done all it was given."""

    def release(self) -> None:
        """Forget all marks: nobody will read them any more."""


class CpuClock:
    """`time.perf_counter_ns`."""

    mark = staticmethod(time.perf_counter_ns)

    def offsets_s(self, origin: int, marks: Sequence[int]) -> list[float]:
        """See `Clock`."""
        return [(mark - origin) / 1e9 for mark in marks]

    def wait(self, mark: int) -> None:
        """Nothing to wait for: the CPU has done its work when a call returns."""

    def synchronize(self) -> None:
        """Nothing to wait for either."""

    def release(self) -> None:
        """Nothing to forget: marks are numbers."""


class CudaClock:
    """CUDA events on the current stream, used again burst after burst."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._free: list[torch.cuda.Event] = []
        self._used: list[torch.cuda.Event] = []

    def mark(self) -> torch.cuda.Event:
        """See `Clock`."""
        event = self._free.pop() if self._free else torch.cuda.Event(enable_timing=True)
        self._used.append(event)
        event.record()
        return event

    def offsets_s(self, origin: torch.cuda.Event, marks: Sequence[torch.cuda.Event]) -> list[float]:
        """See `Clock`."""
        return [origin.elapsed_time(mark) / 1e3 for mark in marks]

    def wait(self, mark: torch.cuda.Event) -> None:
        """See `Clock`."""
        mark.synchronize()

    def synchronize(self) -> None:
        """See `Clock`: of all streams, those of the collectives too."""
        torch.cuda.synchronize(self._device)

    def release(self) -> None:
        """Take back all events, to be recorded again in the next burst."""
        self._free += self._used
        self._used.clear()


def clock_of(device: torch.device) -> Clock:
    """The clock of a device."""
    return CudaClock(device) if device.type == "cuda" else CpuClock()
