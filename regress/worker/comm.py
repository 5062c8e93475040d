"""Collectives of one step, counted at torch's dispatcher and not timed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

COMMUNICATES = re.compile(
    r"(c10d|_c10d_functional|_dtensor)::\w*(reduce|gather|scatter|broadcast|all_?to_?all|send|recv|p2p)"
)
"""Operators that move a payload: of `torch.distributed`, its functional twin, and DTensor."""


@dataclass(frozen=True, kw_only=True)
class CollectiveCount:
    """What one rank communicated."""

    count: int
    """Collectives and point-to-point operations; a coalesced one counts once."""

    bytes: int
    """Their payload, for each the larger of input and output on this rank; not what the wires carry."""


def count_collectives(run: Callable[[], object]) -> CollectiveCount:
    """Run something and count what this rank communicates in it; every rank has to call it.

    Barriers and waits are not counted. Backward passes are: autograd runs them in this thread on
    CPU, and hands the dispatch mode on to its own threads on devices. What is sent past torch's
    dispatcher stays unseen (own calls of NCCL, kernels on symmetric memory). Compiled functions may run
    uncompiled while they are counted.
    """
    with _Count() as counted:
        run()
    return CollectiveCount(count=counted.count, bytes=counted.bytes)


class _Count(TorchDispatchMode):
    """Adds up the communicating operators that pass."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0
        self.bytes = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(hasattr(kind, "__tensor_flatten__") for kind in types):
            return NotImplemented  # DTensor and its like come back as operators on plain tensors
        result = func(*args, **(kwargs or {}))
        if COMMUNICATES.match(func.name()):
            self.count += 1
            self.bytes += max(map(_payload_bytes, (*args, *(kwargs or {}).values(), result)), default=0)
        return result


def _payload_bytes(tree: Any) -> int:
    """Bytes of all tensors in an argument or a result."""
    return sum(leaf.numel() * leaf.element_size() for leaf in tree_leaves(tree) if isinstance(leaf, Tensor))
