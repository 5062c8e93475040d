"""Slowdowns are as large as they say, fall where they should, and are alike on all ranks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import pytest

pytest.importorskip("torch")

import torch

from regress.record.calibration import KINDS, Slowdown, SlowdownKind
from regress.worker import planted
from regress.worker.planted import STALL_EVERY, Planted, plant
from tests.ranks import run_ranks

CPU = torch.device("cpu")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One rank, without a process group."""
    monkeypatch.setattr(planted, "_slowest", lambda time_s, _: time_s)


class Hands:
    """A clock that only deeds move on."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.released = 0

    def mark(self) -> float:
        return self.now_s

    def offsets_s(self, origin: float, marks: Sequence[float]) -> list[float]:
        return [mark - origin for mark in marks]

    def wait(self, mark: float) -> None:
        raise AssertionError(mark)

    def synchronize(self) -> None:
        raise AssertionError

    def release(self) -> None:
        self.released += 1


def test_what_a_step_returns_is_what_it_returned() -> None:
    assert Planted(lambda: 5, Hands()).into(lambda: 3)() == 3


def test_it_is_done_in_every_step_after_the_step() -> None:
    events: list[str] = []
    step = Planted(lambda: events.append("deed"), Hands()).into(lambda: events.append("step"))
    step()
    step()
    assert events == ["step", "deed"] * 2


def test_what_it_took_is_told_as_a_median() -> None:
    hands, taken_s = Hands(), iter([1.0, 2.0, 9.0])

    def deed() -> None:
        hands.now_s += next(taken_s)

    def step() -> None:
        hands.now_s += 100.0

    what = Planted(deed, hands)
    assert what.planted_s == 0.0
    for steps in (2, 1):
        longer = what.into(step)
        for _ in range(steps):
            longer()
        what.read()
    assert what.planted_s == 2.0
    assert hands.released == 2


def test_in_some_steps_alone_it_is_told_as_a_mean_over_all() -> None:
    hands, events = Hands(), []

    def deed() -> None:
        hands.now_s += 0.3
        events.append("deed")

    what = Planted(deed, hands, every=3)
    for _ in range(7):
        what.into(lambda: events.append("step"))()
    what.read()
    assert events == ["step", "step", "deed", "step", "step", "step", "deed", "step", "step"]
    assert what.planted_s == pytest.approx(2 * 0.3 / 7)


def planted_in(slowdown: Slowdown, step_s: float, steps: int) -> Planted:
    """What was planted in some steps that do nothing."""
    what = plant(slowdown, step_s, CPU)
    for _ in range(steps):
        what.into(lambda: None)()
    what.read()
    return what


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("steps", "stalls"), [(40, 4), (9, 1)])
def test_a_stall_is_ten_times_as_long_in_one_step_of_ten(steps: int, stalls: int) -> None:
    what = planted_in(Slowdown(kind="stall", fraction=0.02), 0.005, steps)
    assert what.planted_s >= stalls * STALL_EVERY * 0.02 * 0.005 / steps
    assert what.planted_s < 0.01  # 0.1 ms on a quiet machine


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("amount_s", [50e-6, 3e-3])
def test_a_sleep_takes_what_it_says(amount_s: float) -> None:
    what = planted_in(Slowdown(kind="sleep", fraction=0.5), 2 * amount_s, 41)
    assert amount_s <= what.planted_s < 2 * amount_s + 100e-6


@pytest.mark.usefixtures("alone")
def test_matrix_products_are_whole_and_take_about_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of edge n takes n³ times a unit: the largest of which eight are short enough is taken."""
    products: list[int] = []

    def mm(left: torch.Tensor, _: torch.Tensor, *, out: torch.Tensor) -> None:
        products.append(left.shape[0])

    def takes_s(work: Callable[[], None], _: torch.device) -> float:
        del products[:]
        work()
        return math.fsum(edge**3 * 1e-9 for edge in products)

    monkeypatch.setattr(torch, "mm", mm)
    monkeypatch.setattr(planted, "_takes_s", takes_s)
    what = plant(Slowdown(kind="kernel", fraction=0.1), 0.25, CPU)  # 25 ms, products of 128³ take 2.1 ms
    del products[:]
    what.into(lambda: None)()
    assert products == [128] * 12


@pytest.mark.usefixtures("alone")
def test_one_product_at_least_is_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted, "_takes_s", lambda *_: 8e-3)
    what = plant(Slowdown(kind="kernel", fraction=0.01), 1e-3, CPU)
    products: list[object] = []
    monkeypatch.setattr(torch, "mm", lambda *factors, **_: products.append(factors))
    what.into(lambda: None)()
    assert len(products) == 1


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("fraction", "floats"), [(0.1, 25_000), (0.001, 1), (0.9, 225_000)])
def test_an_all_reduce_is_as_large_as_takes_so_long(
    monkeypatch: pytest.MonkeyPatch, fraction: float, floats: int
) -> None:
    """It takes 4 ns a float, and 1 µs at least."""
    sizes: list[int] = []
    monkeypatch.setattr("torch.distributed.all_reduce", lambda buffer: sizes.append(buffer.numel()))

    def takes_s(work: Callable[[], None], _: torch.device) -> float:
        work()
        return max(1e-6, sizes[-1] * 4e-9)

    monkeypatch.setattr(planted, "_takes_s", takes_s)
    what = plant(Slowdown(kind="collective", fraction=fraction), 1e-3, CPU)
    what.into(lambda: None)()
    assert sizes[-1] == pytest.approx(floats, rel=0.02)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("kind", ["sleep", "kernel", "stall"])
def test_a_side_that_is_slowed_by_nothing_does_nothing(
    kind: SlowdownKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = plant(Slowdown(kind=kind, fraction=0.0), 0.05, CPU)
    monkeypatch.setattr(torch, "mm", lambda *_, **__: pytest.fail("a product"))
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("a sleep"))
    step = what.into(lambda: None)
    for _ in range(20):
        step()
    what.read()
    assert what.planted_s == 0.0


def ranks_plant(rank: int) -> dict[str, float]:
    """What is planted, by kind; the slower rank's step counts on both."""
    step_s = 0.02 if rank else 0.001
    return {
        kind: planted_in(Slowdown(kind=kind, fraction=0.1), step_s, 3 * STALL_EVERY).planted_s
        for kind in KINDS
    }


@pytest.mark.torch
def test_on_real_ranks_all_are_slowed_by_as_much_as_the_slowest_is_to_be() -> None:
    for found in run_ranks(ranks_plant):
        for kind, planted_s in found.items():
            assert 0.0005 < planted_s < 0.02, kind  # 2 ms on a quiet machine; 0.1 ms by the other rank's step
