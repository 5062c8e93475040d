"""In which precision a step multiplies: what its large operators returned, seen and not timed."""

from __future__ import annotations

import re
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

MULTIPLIES = re.compile(r"aten::(_?\w*mm\w*|linear|\w*convolution\w*|_?scaled_dot_product\w*)(\.|$)")
"""Operators that do the work of training: matrix products, convolutions, attention."""


class Precisions(TorchDispatchMode):
    """Names the floating-point types of what multiplying operators return, in a ``with`` statement."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._seen: set[str] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """By name: ``bfloat16``; empty where nothing multiplied."""
        return tuple(sorted(self._seen))

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(hasattr(kind, "__tensor_flatten__") for kind in types):
            return NotImplemented  # DTensor and its like come back as operators on plain tensors
        result = func(*args, **(kwargs or {}))
        if MULTIPLIES.match(func.name()):
            first = next((leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)), None)
            if first is not None:
                self._seen.add(str(first.dtype).removeprefix("torch."))
        return result
