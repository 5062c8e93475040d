from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch")

import torch

from regress.worker.clock import CpuClock, CudaClock, clock_of

CUDA = torch.device("cuda", 3)


class Stream:
    """A device that does its work only when somebody waits for it."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.waited_for: list[torch.device] = []
        self.events: list[Event] = []
        self._queue: list[Callable[[], None]] = []

    def work(self, ms: float) -> None:
        def advance() -> None:
            self.now_ms += ms

        self._queue.append(advance)

    def put(self, work: Callable[[], None]) -> None:
        self._queue.append(work)

    def advance(self) -> None:
        self._queue.pop(0)()

    def synchronize(self, device: torch.device) -> None:
        self.waited_for.append(device)
        while self._queue:
            self.advance()


class Event:
    def __init__(self, stream: Stream, enable_timing: bool) -> None:
        assert enable_timing
        self._stream = stream
        self.at_ms: float | None = None
        stream.events.append(self)

    def synchronize(self) -> None:
        while self.at_ms is None:
            self._stream.advance()

    def record(self) -> None:
        def note() -> None:
            self.at_ms = self._stream.now_ms

        self.at_ms = None
        self._stream.put(note)

    def elapsed_time(self, end: Event) -> float:
        assert self.at_ms is not None, "read before the device was there"
        assert end.at_ms is not None
        return end.at_ms - self.at_ms


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Stream:
    stream = Stream()
    monkeypatch.setattr(torch.cuda, "Event", lambda enable_timing: Event(stream, enable_timing))
    monkeypatch.setattr(torch.cuda, "synchronize", stream.synchronize)
    return stream


def test_marks_of_cuda_are_recorded_without_waiting_and_read_later(stream: Stream) -> None:
    clock = clock_of(CUDA)
    assert isinstance(clock, CudaClock)
    origin = clock.mark()
    stream.work(5.0)
    first = clock.mark()
    stream.work(7.0)
    second = clock.mark()
    assert stream.waited_for == []

    clock.synchronize()

    assert stream.waited_for == [CUDA]
    assert clock.offsets_s(origin, [first, second]) == pytest.approx([0.005, 0.012])
    assert clock.offsets_s(first, [origin]) == pytest.approx([-0.005])
    assert stream.waited_for == [CUDA]


def test_waiting_for_a_mark_of_cuda_waits_for_nothing_after_it(stream: Stream) -> None:
    clock = CudaClock(CUDA)
    origin = clock.mark()
    stream.work(5.0)
    first = clock.mark()
    stream.work(7.0)
    last = clock.mark()

    clock.wait(first)

    assert stream.waited_for == []
    assert stream.events[-1].at_ms is None
    assert clock.offsets_s(origin, [first]) == pytest.approx([0.005])
    clock.wait(last)
    assert clock.offsets_s(origin, [last]) == pytest.approx([0.012])


def test_events_of_cuda_are_used_again_once_released(stream: Stream) -> None:
    clock = CudaClock(CUDA)
    marks = [clock.mark(), clock.mark()]
    clock.mark()
    assert len({id(mark) for mark in marks}) == 2
    clock.release()
    for _ in range(3):
        clock.mark()
    assert len(stream.events) == 3
    clock.mark()
    assert len(stream.events) == 4


def test_marks_of_the_cpu_are_nanoseconds_that_pass() -> None:
    clock = clock_of(torch.device("cpu"))
    assert isinstance(clock, CpuClock)
    assert clock.offsets_s(1_000, [1_000, 501_000, 0]) == [0.0, 0.0005, -1e-06]
    first, second = clock.mark(), clock.mark()
    clock.wait(second)
    clock.synchronize()
    clock.release()
    assert 0 <= clock.offsets_s(first, [second])[0] < 60
