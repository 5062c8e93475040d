from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import pytest

import regress
from regress.spec.benchmark import Scalar
from regress.worker.workload import Declaration, Phases, TrainingStep


def train(ctx: regress.Context, *, size: str = "tiny") -> TrainingStep:
    return TrainingStep(lambda: None)


def test_a_declaration_is_kept_with_the_function() -> None:
    def build(ctx: regress.Context, *, size: str, shard: bool) -> TrainingStep:
        return TrainingStep(lambda: None)

    declared = regress.benchmark(world_size=[2, 4], params={"size": ["a", "b"], "shard": [True]})(build)

    assert declared is build
    assert build.__regress__ == Declaration(  # type: ignore[attr-defined]
        build=build, world_sizes=(2, 4), params=(("size", ("a", "b")), ("shard", (True,)))
    )
    regress.benchmark(world_size=2)(train)
    assert train.__regress__.world_sizes == (2,)  # type: ignore[attr-defined]


@pytest.mark.parametrize("world_size", [0, [], [2, 0], [-1], ["2"]])
def test_refuses_world_sizes(world_size: Any) -> None:
    with pytest.raises(ValueError, match="world_size must hold numbers of at least 1"):
        regress.benchmark(world_size=world_size)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"si ze": [1]}, "a parameter cannot be named 'si ze'"),
        ({"size": []}, "parameter 'size' has no values"),
        ({"size": [None]}, "None is neither text, number nor truth value"),
        ({"size": [float("nan")]}, "nan is not finite"),
        ({"size": ["a,b"]}, "'a,b' may hold letters, digits"),
        ({"size": ["../a"]}, r"'\.\./a' may hold letters, digits"),
    ],
)
def test_refuses_parameters(params: Mapping[str, Sequence[Scalar]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regress.benchmark(world_size=2, params=params)


def test_refuses_a_function_that_does_not_take_the_parameters() -> None:
    with pytest.raises(ValueError, match=r"train does not take a context and its parameters: .*'shape'"):
        regress.benchmark(world_size=2, params={"shape": [1]})(train)
    with pytest.raises(ValueError, match="<lambda>"):
        regress.benchmark(world_size=2)(lambda _: TrainingStep(lambda: None))
    with pytest.raises(TypeError, match="a benchmark is a function, not type"):
        regress.benchmark(world_size=2)(TrainingStep)


def test_phases_keep_the_marks_of_each_time_they_ran() -> None:
    phases = Phases(count().__next__)
    with phases.phase("forward"):
        pass
    with phases.phase("backward"), phases.phase("sync"):
        pass
    with phases.phase("forward"):
        pass

    assert phases.phase("forward") is phases.phase("forward")
    assert phases.marks() == {"forward": [(0, 1), (6, 7)], "backward": [(2, 5)], "sync": [(3, 4)]}
    phases.clear()
    assert phases.marks() == {"forward": [], "backward": [], "sync": []}


def test_a_phase_ends_when_its_body_raises() -> None:
    phases = Phases(count().__next__)
    with pytest.raises(RuntimeError), phases.phase("forward"):
        raise RuntimeError
    assert phases.marks() == {"forward": [(0, 1)]}


@pytest.mark.parametrize("name", ["step", "step_mean", "cpu", "tokens_per", "for ward", "", "a" * 65])
def test_refuses_phases_that_would_be_another_metric(name: str) -> None:
    with pytest.raises(ValueError, match="a phase cannot be named"):
        Phases(count().__next__).phase(name)


def test_a_phase_that_outlives_its_step_is_refused() -> None:
    phases = Phases(count().__next__)
    phases.phase("loading").__enter__()
    with pytest.raises(ValueError, match="phase 'loading' does not end in the step that it begins in"):
        phases.marks()


def test_shapes_are_told_as_text_in_one_order() -> None:
    training = TrainingStep(lambda: None, shapes={"tokens": (8, 128), "rate": []})
    assert training.shape_texts == (("rate", "scalar"), ("tokens", "8x128"))
    assert TrainingStep(lambda: None).shape_texts is None


@pytest.mark.parametrize("shape", ["8x128", [8.0, 128], 8])
def test_a_shape_that_is_none_is_refused(shape: object) -> None:
    with pytest.raises(TypeError):
        TrainingStep(lambda: None, shapes={"tokens": shape})  # type: ignore[dict-item]
