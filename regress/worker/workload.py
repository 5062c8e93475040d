"""What a benchmark file uses: `benchmark`, `Context`, `TrainingStep`."""

from __future__ import annotations

import contextlib
import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from regress.record.metric import METRICS
from regress.spec.benchmark import NAME, TEXT_VALUE, Scalar

if TYPE_CHECKING:
    from torch import Tensor, device, nn
    from torch.optim import Optimizer

RESERVED_PHASES = frozenset(name.removesuffix("_s") for name in METRICS if name.endswith("_s"))
"""Words that would turn the time of a phase into another metric."""


@dataclass(frozen=True)
class TrainingStep:
    """A training iteration that is ready to run, and what it computes."""

    step: Callable[[], Tensor | None]
    """Runs one iteration and returns its loss, or ``None`` on ranks that hold none."""

    _: KW_ONLY

    tokens: int | None = None
    """Of one step, all ranks together."""

    samples: int | None = None
    """Of one step, all ranks together."""

    model_flops: int | None = None
    """Floating-point operations of one step of the unsharded model, all ranks together."""

    shapes: Mapping[str, Sequence[int]] | None = None
    """Of the tensors that this rank's step is fed with, by name; two sides that both tell must agree."""

    modules: tuple[nn.Module, ...] = ()
    """Whose parameters, buffers and gradients count towards peak memory from the start."""

    optimizers: tuple[Optimizer, ...] = ()
    """Whose state counts towards peak memory from the start."""

    def __post_init__(self) -> None:
        """Refuse what could not be kept.

        Raises:
            TypeError: The step cannot be called, or a number or a shape is none.
        """
        if not callable(self.step):
            raise TypeError(f"step must be a function, not {type(self.step).__name__}")
        for name in ("tokens", "samples", "model_flops"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
                raise TypeError(f"{name} must be a whole number or None, not {value!r:.80}")
        for name, shape in (self.shapes or {}).items():
            if isinstance(shape, str) or not all(isinstance(size, int) for size in shape):
                raise TypeError(f"the shape of {name!r:.80} must hold whole numbers, not {shape!r:.80}")

    @property
    def shape_texts(self) -> tuple[tuple[str, str], ...] | None:
        """Each shape as text: ``(("tokens", "8x128"),)``."""
        if self.shapes is None:
            return None
        return tuple(
            (str(name), "x".join(map(str, shape)) or "scalar") for name, shape in sorted(self.shapes.items())
        )


class Phases:
    """Times named parts of a step: two marks of the clock each, kept until a burst ends."""

    def __init__(self, mark: Callable[[], Any]) -> None:
        self._mark = mark
        self._phases: dict[str, _Phase] = {}

    def phase(self, name: str) -> _Phase:
        """The context manager of that name; the same one each time."""
        try:
            return self._phases[name]
        except KeyError:
            if not NAME.fullmatch(name) or name in RESERVED_PHASES:
                raise ValueError(f"a phase cannot be named {name!r}") from None
            return self._phases.setdefault(name, _Phase(self._mark))

    def clear(self) -> None:
        """Forget all marks."""
        for phase in self._phases.values():
            phase.starts.clear()
            phase.ends.clear()

    def marks(self) -> dict[str, list[tuple[Any, Any]]]:
        """Start and end of each time each phase ran, by name.

        Raises:
            ValueError: A phase goes on after the step that it began in.
        """
        for name, phase in self._phases.items():
            if len(phase.starts) != len(phase.ends):
                raise ValueError(f"phase {name!r} does not end in the step that it begins in")
        return {
            name: list(zip(phase.starts, phase.ends, strict=True)) for name, phase in self._phases.items()
        }


class _Phase(contextlib.AbstractContextManager[None]):
    __slots__ = ("_mark", "ends", "starts")

    def __init__(self, mark: Callable[[], Any]) -> None:
        self._mark = mark
        self.starts: list[Any] = []
        self.ends: list[Any] = []

    def __enter__(self) -> None:
        self.starts.append(self._mark())

    def __exit__(self, *_: object) -> None:
        self.ends.append(self._mark())


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a benchmark is given: its place in the process group, already initialised."""

    rank: int
    """In the default process group."""

    world_size: int
    """Ranks in it."""

    device: device
    """Of this rank: ``cpu``, or a CUDA device that is current."""

    seed: int
    """Of all randomness; torch was seeded with it, alike on all ranks."""

    phases: Phases
    """Used through `phase`."""

    def phase(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Time a part of the step: ``with ctx.phase("forward"): ...``.

        Raises:
            ValueError: The name is no identifier, or is that of a metric.
        """
        return self.phases.phase(name)


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What `benchmark` was given."""

    build: Callable[..., TrainingStep]
    """The function itself."""

    world_sizes: tuple[int, ...]
    """Numbers of ranks it is meant for."""

    params: tuple[tuple[str, tuple[Scalar, ...]], ...]
    """Each parameter with the values it is measured at."""


def benchmark(
    *, world_size: int | Sequence[int], params: Mapping[str, Sequence[Scalar]] | None = None
) -> Callable[[Callable[..., TrainingStep]], Callable[..., TrainingStep]]:
    """Declare a benchmark: a function of a `Context` and its parameters.

    What this device or backend cannot run, the function says by `NotImplementedError` with the
    reason: the outcome is ``unsupported`` then.

    Args:
        world_size: Numbers of ranks it is meant for.
        params: For each keyword parameter the values it is measured at.

    Raises:
        TypeError: It decorates something that is no function.
        ValueError: A name or a value cannot stand in a label, a world size is below 1, or the
            function does not take these parameters.
    """
    sizes = (world_size,) if isinstance(world_size, int) else tuple(world_size)
    if not sizes or not all(isinstance(size, int) and size >= 1 for size in sizes):
        raise ValueError(f"world_size must hold numbers of at least 1, not {world_size!r}")
    declared = tuple((name, tuple(values)) for name, values in (params or {}).items())
    for name, values in declared:
        _refuse_parameter(name, values)

    def declare(build: Callable[..., TrainingStep]) -> Callable[..., TrainingStep]:
        if not isinstance(build, types.FunctionType):
            raise TypeError(f"a benchmark is a function, not {type(build).__name__}")
        if not NAME.fullmatch(build.__name__):
            raise ValueError(f"a benchmark cannot be named {build.__name__!r}")
        try:
            inspect.signature(build).bind(None, **dict(declared))
        except TypeError as error:
            raise ValueError(
                f"{build.__name__} does not take a context and its parameters: {error}"
            ) from None
        declaration = Declaration(build=build, world_sizes=sizes, params=declared)
        build.__regress__ = declaration  # type: ignore[attr-defined]
        return build

    return declare


def _refuse_parameter(name: str, values: tuple[Scalar, ...]) -> None:
    """Raise `ValueError` for what cannot stand in a label."""
    if not NAME.fullmatch(name):
        raise ValueError(f"a parameter cannot be named {name!r}")
    if not values:
        raise ValueError(f"parameter {name!r} has no values")
    for value in values:
        if not isinstance(value, str | int | float | bool):
            raise ValueError(f"parameter {name!r}: {value!r} is neither text, number nor truth value")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"parameter {name!r}: {value!r} is not finite")
        if isinstance(value, str) and not TEXT_VALUE.fullmatch(value):
            raise ValueError(f"parameter {name!r}: {value!r} may hold letters, digits and _ . + - only")
