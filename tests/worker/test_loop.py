from __future__ import annotations

import math
import sys
import time
import types
from collections.abc import Callable, Sequence

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor

from regress.record.calibration import Slowdown
from regress.record.series import Burst, Workload
from regress.spec.benchmark import Benchmark
from regress.worker import loop, memory
from regress.worker.failure import Diverged
from regress.worker.loop import Place, Session, _modules_below
from regress.worker.planted import Planted
from regress.worker.workload import Context, Declaration, TrainingStep


class Scene:
    """A fake clock that steps move on, and all that the loop does around them, in order."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.events: list[str] = []

    def mark(self) -> float:
        self.events.append("mark")
        return self.now_s

    def offsets_s(self, origin: float, marks: Sequence[float]) -> list[float]:
        return [mark - origin for mark in marks]

    def wait(self, mark: float) -> None:
        self.events.append(f"wait {mark:g}")

    def synchronize(self) -> None:
        self.events.append("synchronize")

    def release(self) -> None:
        self.events.append("release")

    def barrier(self) -> None:
        self.events.append("barrier")

    def beat(self) -> None:
        self.events.append("beat")


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene()
    monkeypatch.setattr(loop, "clock_of", lambda _: scene)
    monkeypatch.setattr("torch.distributed.barrier", scene.barrier)
    return scene


def build(scene: Scene, function: Callable[..., TrainingStep], **params: int) -> Session:
    place = Place(rank=1, world_size=2, device=torch.device("cpu"), beat=scene.beat)
    declaration = Declaration(build=function, world_sizes=(2,), params=())
    benchmark = Benchmark(name="it", params=tuple(params.items()), world_size=2, digest="0")
    return Session.build(place, declaration, benchmark, 7)


def stepping(scene: Scene, lengths_s: Sequence[float], loss: float = 1.0) -> Session:
    """A benchmark whose steps take these times, after 0.25 s of a phase and before 0.5 s of none."""

    def function(ctx: Context) -> TrainingStep:
        remaining = iter(lengths_s)

        def step() -> Tensor:
            scene.events.append("step")
            for part in ("forward", "backward"):
                with ctx.phase(part):
                    scene.now_s += 0.25
            with ctx.phase("forward"):
                scene.now_s += next(remaining) - 0.5
            return torch.tensor(loss)

        return TrainingStep(step)

    return build(scene, function)


def test_a_burst_times_the_periods_between_ends_and_leaves_its_first_step_out(scene: Scene) -> None:
    session = stepping(scene, [9.0, 1.0, 2.0, 4.0])

    session.burst(3)

    (burst,) = session.bursts
    assert burst.steps_s == (1.0, 2.0, 4.0)
    assert dict(burst.phases_s) == {"forward": (0.75, 1.75, 3.75), "backward": (0.25, 0.25, 0.25)}
    assert burst.cpu_s >= 0


def test_sleep_between_bursts_is_in_none_of_them(scene: Scene) -> None:
    session = stepping(scene, [1.0, 1.0, 5.0, 2.0])

    session.burst(1)
    scene.now_s += 1000.0
    session.burst(1)

    assert [burst.steps_s for burst in session.bursts] == [(1.0,), (2.0,)]
    assert dict(session.bursts[1].phases_s)["forward"] == (1.75,)
    assert len(session.phases.marks()["backward"]) == 2  # marks of former bursts are used again


def test_between_steps_there_are_a_mark_and_a_heartbeat_and_nothing_else(scene: Scene) -> None:
    session = build(scene, lambda _: TrainingStep(lambda: scene.events.append("step")))

    session.burst(2)

    assert scene.events[:-7] == [
        *("synchronize", "barrier", "synchronize", "release"),
        *("step", "mark", "beat") * 3,
    ]


def test_a_device_that_lags_behind_beats_at_the_end_of_every_step(scene: Scene) -> None:
    session = stepping(scene, [1.0] * 3)

    session.burst(2)

    assert scene.events[-7:] == ["wait 1", "beat", "wait 2", "beat", "wait 3", "beat", "synchronize"]


def test_a_step_of_the_warm_up_beats_when_the_device_has_done_it(scene: Scene) -> None:
    session = build(scene, lambda _: TrainingStep(lambda: scene.events.append("step")))

    session.warm_up(2)

    assert scene.events == ["step", "synchronize", "beat"] * 2


def test_peaks_of_a_device_are_those_of_the_bursts_whatever_is_counted_later(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    peak = {"now": 0}

    def reset(_: torch.device) -> None:
        peak["now"] = 5

    def step() -> None:
        peak["now"] += 1

    monkeypatch.setattr(memory, "reset_peak", reset)
    monkeypatch.setattr(
        memory,
        "peaks",
        lambda _: {"peak_allocated_bytes": peak["now"], "peak_reserved_bytes": 10 * peak["now"]},
    )
    session = build(scene, lambda _: TrainingStep(step))
    session.warm_up(4)
    session.burst(1)
    session.burst(1)
    assert session.result().peak_allocated_bytes == 9
    session.count()

    result = session.result()

    assert (result.peak_allocated_bytes, result.peak_reserved_bytes) == (9, 90)
    assert (result.collective_count, result.collective_bytes) == (0, 0)


def test_cpu_time_is_that_of_the_timed_steps(scene: Scene) -> None:
    spins_s = iter([0.2, 0.02, 0.02])

    def step() -> None:
        until_s = time.process_time() + next(spins_s)
        while time.process_time() < until_s:
            pass

    session = build(scene, lambda _: TrainingStep(step))
    session.burst(2)

    assert 0.04 <= session.bursts[0].cpu_s < 0.15


def test_warming_up_keeps_losses_and_times_nothing(scene: Scene) -> None:
    session = stepping(scene, [1.0] * 3, loss=2.5)

    session.warm_up(3)

    assert session.losses == [2.5, 2.5, 2.5]
    assert session.bursts == []
    assert scene.events.count("beat") == 3


def test_however_long_it_warms_up_as_many_losses_are_kept(scene: Scene) -> None:
    session = stepping(scene, [1.0] * 9, loss=2.5)

    session.warm_up(2)
    session.warm_up(3, keep_losses=False)
    session.burst(1)

    result = session.result()
    assert result.losses == (2.5, 2.5)
    assert result.warmup == 5


def test_a_step_of_the_warm_up_takes_until_the_device_has_done_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene, "synchronize", lambda: time.sleep(0.03))
    lengths_s = iter([0.0, 0.1])
    session = build(scene, lambda _: TrainingStep(lambda: time.sleep(next(lengths_s))))

    short_s, long_s = session.warm_up(2)

    assert 0.03 <= short_s < 0.1
    assert long_s >= 0.13


def test_also_a_step_whose_loss_is_not_kept_must_be_training(scene: Scene) -> None:
    with pytest.raises(Diverged):
        stepping(scene, [1.0] * 9, math.nan).warm_up(1, keep_losses=False)


def test_a_rank_that_holds_no_loss_keeps_none(scene: Scene) -> None:
    session = build(scene, lambda _: TrainingStep(lambda: None))

    session.warm_up(2)
    session.burst(1)

    assert session.result().losses == ()


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_no_training(scene: Scene, loss: float) -> None:
    with pytest.raises(Diverged, match=f"the loss is {loss}"):
        stepping(scene, [1.0] * 9, loss).warm_up(1)
    with pytest.raises(Diverged):
        stepping(scene, [1.0] * 9, loss).burst(1)


def test_what_a_benchmark_is_given_and_what_is_kept_of_it(scene: Scene) -> None:
    contexts: list[tuple[Context, int, float]] = []

    def function(ctx: Context, *, size: int) -> TrainingStep:
        contexts.append((ctx, size, float(torch.rand(()))))
        return TrainingStep(lambda: None, tokens=3, samples=4, model_flops=5, shapes={"x": (2, 3)})

    session = build(scene, function, size=9)
    build(scene, function, size=9)
    session.burst(1)
    result = session.result()

    (ctx, size, drawn), (_, _, again) = contexts
    assert (ctx.rank, ctx.world_size, ctx.seed, ctx.device.type, size) == (1, 2, 7, "cpu", 9)
    assert drawn == again
    assert result.rank == 1
    assert result.workload == Workload(
        params=(("size", "9"),),
        world_size=2,
        seed=7,
        tokens=3,
        samples=4,
        model_flops=5,
        shapes=(("x", "2x3"),),
    )
    assert [type(burst) for burst in result.bursts] == [Burst]
    assert (result.peak_allocated_bytes, result.peak_reserved_bytes) == (None, None)
    session.count()
    assert session.result().peak_allocated_bytes is not None


@pytest.fixture
def plants(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Slowdown, float]]:
    """What is asked to be planted; it takes 0.125 s, and is done in every step."""
    asked: list[tuple[Slowdown, float]] = []

    def deed() -> None:
        scene.events.append("deed")
        scene.now_s += 0.125

    def plant(slowdown: Slowdown, step_s: float, _: torch.device) -> Planted:
        asked.append((slowdown, step_s))
        return Planted(deed, scene)

    monkeypatch.setattr(loop, "plant", plant)
    return asked


def test_the_step_is_timed_before_it_is_made_longer(
    scene: Scene, plants: list[tuple[Slowdown, float]]
) -> None:
    slowdown = Slowdown(kind="kernel", fraction=0.05)
    session = stepping(scene, [9.0, 1.0, 7.0, 2.0, 1.0, 2.0, 7.0, 2.0, *[1.0] * 4])

    session.plant(slowdown)
    session.burst(3)

    assert plants == [(slowdown, 2.0)]
    (burst,) = session.bursts  # the steps that were timed for it are none of the launch's
    assert burst.steps_s == (1.125, 1.125, 1.125)
    assert session.result().planted_s == 0.125


def test_nothing_is_planted_in_the_step_that_is_discarded_nor_where_counting_is_done(
    scene: Scene, plants: list[tuple[Slowdown, float]]
) -> None:
    session = stepping(scene, [1.0] * 20)
    session.plant(Slowdown(kind="sleep", fraction=0.05))
    del scene.events[:]

    session.burst(2)
    session.count()

    done = [event for event in scene.events if event in ("step", "deed")]
    assert done[:5] == ["step", "step", "deed", "step", "deed"]
    assert set(done[5:]) == {"step"}


def test_what_was_trained_and_in_which_precision_is_told(scene: Scene) -> None:
    model = torch.nn.Linear(4, 2, bias=False)

    def step() -> None:
        model(torch.ones(1, 4)).sum().backward()

    session = build(scene, lambda _: TrainingStep(step, modules=(model, model)))
    before = session.result().workload
    session.count()
    counted = session.result().workload
    assert (before.parameters, before.parameter_types, before.precision) == (8, ("float32",), None)
    assert (counted.parameters, counted.precision) == (8, ("float32",))


def test_where_nothing_is_planted_nothing_is_told(scene: Scene) -> None:
    session = stepping(scene, [1.0] * 4)
    session.burst(3)
    assert session.result().planted_s is None


def test_a_function_must_return_a_training_step(scene: Scene) -> None:
    with pytest.raises(TypeError, match="it returned int, not a TrainingStep"):
        build(scene, lambda _: 3)  # type: ignore[arg-type,return-value]


def test_benchmark_files_are_no_code_of_the_side(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, file in {
        "_regress_benchmarks.train": "/side/benchmarks/train.py",
        "library": "/side/src/library.py",
        "other": "/sideways/other.py",
        "builtin": None,
    }.items():
        module = types.ModuleType(name)
        module.__file__ = file
        monkeypatch.setitem(sys.modules, name, module)
    assert _modules_below(("/side",)) == 1
