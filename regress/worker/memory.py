"""Peak memory of tensors: what the allocator says on CUDA, what the operators show elsewhere.

CPU allocators keep no account, and the size of the process jitters. So on CPU a few steps run
with every operator watched: storages count from the first operator that touches them until they
are freed or resized, parameters, gradients and optimizer state from the start. That is the same
in every launch, is counted alike for every parallel strategy and version of torch, and leaves the
model as so many ordinary steps would. It lacks what an operator takes and gives back inside
itself. Compiled functions may run uncompiled while they are watched.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import chain
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from regress.worker.workload import TrainingStep

WATCHED_STEPS = 3
"""The least peak of so many counts: a backend's threads may let go of the tensors of a finished
collective a moment late, which can only add."""


def reset_peak(device: torch.device) -> None:
    """Let `peaks` start afresh; nothing to do where the device keeps no account."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peaks(device: torch.device) -> dict[str, int]:
    """Most bytes at once since `reset_peak`, by metric; empty where the device keeps no account.

    What the allocator had reserved and kept until then counts as reserved.
    """
    if device.type != "cuda":
        return {}
    return {
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(device),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(device),
    }


def count_peak(training: TrainingStep) -> int:
    """Run a few steps and return the most bytes that storages on this rank held at once.

    Every rank has to call it. A step before those that count shows what lives on between steps
    without belonging to a module or an optimizer, such as the buckets of DDP.
    """
    watch = _Watch()
    watch.add(_lasting(training))
    gc_was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        with watch:
            training.step()
            return min(watch.peak_of(training) for _ in range(WATCHED_STEPS))
    finally:
        if gc_was_on:
            gc.enable()


class _Watch(TorchDispatchMode):
    """Sees the storages of all operators and sums those that are alive."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._storages: WeakSet[torch.UntypedStorage] = WeakSet()
        self._peak_bytes = 0

    def add(self, tree: Any) -> None:
        """Watch the storages of all tensors in it."""
        for tensor in chain.from_iterable(map(_plain, tree_leaves(tree))):
            storage = tensor.untyped_storage()
            if storage.device.type != "meta":
                self._storages.add(storage)
        self._peak_bytes = max(self._peak_bytes, sum(map(torch.UntypedStorage.nbytes, self._storages)))

    def peak_of(self, training: TrainingStep) -> int:
        """The peak of one step."""
        self._peak_bytes = 0
        training.step()
        return self._peak_bytes

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(hasattr(kind, "__tensor_flatten__") for kind in types):
            return NotImplemented  # DTensor and its like come back as operators on plain tensors
        result = func(*args, **(kwargs or {}))
        self.add((args, kwargs, result))
        return result


def _lasting(training: TrainingStep) -> list[Tensor]:
    tensors: list[Tensor] = []
    for module in training.modules:
        parameters = list(module.parameters())
        tensors += [*parameters, *module.buffers()]
        tensors += [parameter.grad for parameter in parameters if parameter.grad is not None]
    for optimizer in training.optimizers:
        states = chain.from_iterable(state.values() for state in optimizer.state.values())
        tensors += [value for value in states if isinstance(value, Tensor)]
    return tensors


def _plain(value: object) -> Iterator[Tensor]:
    """The tensors that hold the data of a value: itself, or those inside if it is a wrapper."""
    if hasattr(value, "__tensor_flatten__"):
        names, _ = value.__tensor_flatten__()
        for name in names:
            yield from _plain(getattr(value, name))
    elif isinstance(value, Tensor):
        yield value
