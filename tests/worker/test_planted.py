"""Slowdowns are as large as they say, fall where they should, and are alike on all ranks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from statistics import median

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


def steps(what: Planted, number: int) -> list[bool]:
    """In which steps something is done, over several bursts."""
    done: list[bool] = []
    what._deed = lambda: done.append(True)
    before, found = 0, []
    for _ in range(number):
        what.into(lambda: None)()
        found.append(len(done) > before)
        before = len(done)
    return found


def test_what_a_step_returns_is_what_it_returned() -> None:
    what = Planted(lambda: 5, 0.1)
    assert what.into(lambda: 3)() == 3


def test_it_is_done_in_every_step_after_the_step() -> None:
    events: list[str] = []
    step = Planted(lambda: events.append("deed"), 0.1).into(lambda: events.append("step"))
    step()
    step()
    assert events == ["step", "deed"] * 2


def test_account_is_kept_over_bursts() -> None:
    what = Planted(lambda: None, 0.3, every=3)
    assert what.mean_s == 0.0
    assert steps(what, 7) == [False, True, False, False, True, False, False]
    assert what.mean_s == pytest.approx(2 * 0.3 / 7)


@pytest.mark.usefixtures("alone")
def test_a_stall_is_ten_times_as_long_in_one_step_of_ten() -> None:
    what = plant(Slowdown(kind="stall", fraction=0.02), 0.05, CPU)
    assert sum(steps(what, 40)) == 40 / STALL_EVERY == 4
    assert what.mean_s == pytest.approx(0.02 * 0.05)


@pytest.mark.usefixtures("alone")
def test_few_steps_have_a_stall_too() -> None:
    assert sum(steps(plant(Slowdown(kind="stall", fraction=0.02), 0.05, CPU), 9)) == 1


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("amount_s", [50e-6, 3e-3])
def test_a_sleep_takes_what_it_says(amount_s: float) -> None:
    what = plant(Slowdown(kind="sleep", fraction=0.5), 2 * amount_s, CPU)
    taken_s = [_takes_s(what.into(lambda: None)) for _ in range(41)]
    assert what.mean_s == pytest.approx(amount_s)
    assert min(taken_s) >= amount_s
    assert median(taken_s) < 1.5 * amount_s + 50e-6


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
    assert what.mean_s == pytest.approx(12 * 128**3 * 1e-9)


@pytest.mark.usefixtures("alone")
def test_one_product_at_least_is_planted_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted, "_takes_s", lambda *_: 8e-3)
    what = plant(Slowdown(kind="kernel", fraction=0.01), 1e-3, CPU)
    what.into(lambda: None)()
    assert what.mean_s == 1e-3


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
    assert what.mean_s == pytest.approx(max(1e-6, fraction * 1e-3), rel=0.02)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("kind", ["sleep", "kernel", "stall"])
def test_a_side_that_is_slowed_by_nothing_does_nothing(
    kind: SlowdownKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = plant(Slowdown(kind=kind, fraction=0.0), 0.05, CPU)
    monkeypatch.setattr(torch, "mm", lambda *_, **__: pytest.fail("a product"))
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("a sleep"))
    for _ in range(20):
        what.into(lambda: None)()
    assert what.mean_s == 0.0


def ranks_plant(rank: int) -> dict[str, tuple[float, float]]:
    """For each kind what it says, and what it takes; the slower rank's step counts on both."""
    found: dict[str, tuple[float, float]] = {}
    for kind in KINDS:
        what = plant(Slowdown(kind=kind, fraction=0.1), 0.02 if rank else 0.001, CPU)
        taken_s = [_takes_s(what.into(lambda: None)) for _ in range(STALL_EVERY * 3)]
        found[kind] = what.mean_s, math.fsum(taken_s) / len(taken_s)
    return found


@pytest.mark.torch
def test_on_real_ranks_all_are_slowed_by_the_same() -> None:
    first, second = run_ranks(ranks_plant)
    for kind in KINDS:
        (told_s, _), (other_s, _) = first[kind], second[kind]
        assert told_s == other_s
        assert told_s == pytest.approx(0.002, rel=0.6)
        for _, taken_s in (first[kind], second[kind]):
            assert taken_s > 0.3 * told_s


def _takes_s(work: Callable[[], object]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s
