"""Records of any content, drawn from their types."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, Literal, TypeVar

from hypothesis import strategies as st

R = TypeVar("R")

TEXTS = st.text(
    st.characters(codec="utf-8")
    | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"]),  # bytes that are no UTF-8
    max_size=8,
)

_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    types.NoneType: st.none(),
}


def records(kind: type[R]) -> st.SearchStrategy[R]:
    """Records of a type, every field drawn."""
    strategy: st.SearchStrategy[R] = _values(kind)
    return strategy


def _values(kind: Any) -> st.SearchStrategy[Any]:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return st.builds(kind, **{name: _values(hint) for name, hint in hints.items()})
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is tuple and len(parts) == 2 and parts[1] is Ellipsis:
        return st.lists(_values(parts[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(_values(part) for part in parts))
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*(_values(part) for part in parts))
    raise TypeError(f"no strategy for {kind}")
