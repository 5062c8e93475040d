"""What pydantic found wrong in a YAML file, in our words: one line for each wrong value."""

from __future__ import annotations

import reprlib
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Union

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from regress.errors import Problem
from regress.spec.benchmark import alternatives
from regress.spec.source import Source
from regress.spec.suite import Loc

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60

_TYPES = {
    "bool_type": "true or false",
    "dict_type": "keys with values",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "keys with values",
    "string_type": "a text",
}

_BOUNDS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "finite_number": lambda _: "a finite number",
    "greater_than": lambda bound: f"a number above {bound['gt']:g}",
    "greater_than_equal": lambda bound: f"at least {bound['ge']:g}",
    "literal_error": lambda bound: str(bound["expected"]),
    "less_than": lambda bound: f"a number below {bound['lt']:g}",
    "less_than_equal": lambda bound: f"at most {bound['le']:g}",
    "string_too_short": lambda _: "a text that is not empty",
    "too_short": lambda _: "at least one entry",
}


def refusals(error: ValidationError, model: type[BaseModel], source: Source) -> dict[Loc, Problem]:
    """Say what is wrong with each value, once: a union of types is one refusal, not one per type."""
    grouped: dict[Loc, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        loc = detail["loc"] if detail["type"] == "missing" else _present(detail["loc"], source.data)
        grouped.setdefault(loc, []).append(detail)
    return {
        loc: Problem(where=source.where(loc), message=_message(loc, details, model))
        for loc, details in grouped.items()
    }


def shown(value: object) -> str:
    """Write a value from outside as YAML would, short and free of control characters."""
    if value is None:
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else _SHORT.repr(value)


def _message(loc: Loc, details: list[ErrorDetails], model: type[BaseModel]) -> str:
    kinds = [detail["type"] for detail in details]
    first = details[0]
    if kinds[0] in ("missing", "extra_forbidden"):
        key, section = str(loc[-1]), _model_at(model, loc[:-1])
        if kinds[0] == "extra_forbidden":
            return f"{_place(loc[:-1])}unknown key {key!r:.80}{alternatives(key, section.model_fields)}"
        meaning = " ".join(str(section.model_fields[key].description).split())
        return f"{_place(loc[:-1])}{key!r} is missing: {meaning}"
    if all(kind in _TYPES for kind in kinds):
        *others, last = dict.fromkeys(_TYPES[kind] for kind in kinds)
        expected = f"{', '.join(others)} or {last}" if others else last
        return (
            f"{_place(loc)}expected {expected}{_example(kinds, first['input'])}; got {shown(first['input'])}"
        )
    return f"{_place(loc)}{'; '.join(_complaint(detail) for detail in details)}"


def _complaint(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    wanted = _BOUNDS[kind](context) if kind in _BOUNDS else _TYPES.get(kind, detail["msg"])
    return f"expected {wanted}; got {shown(detail['input'])}"


def _example(kinds: list[str], value: object) -> str:
    if not isinstance(value, str | int | float):
        return ""
    if kinds == ["list_type"]:
        return f", as in [{shown(value)}]"
    return f', as in "{shown(value)}"' if kinds == ["string_type"] else ""


def _place(loc: Loc) -> str:
    """``benchmarks[0].world_size: ``, or nothing at the top."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if part.isidentifier() else f"[{shown(part)}]"
    return f"{text.removeprefix('.')}: " if text else ""


def _present(loc: Loc, data: Any) -> Loc:
    """Cut a path of pydantic's to what stands in the file: the rest names parts of its schema."""
    for depth, part in enumerate(loc):
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return loc[:depth]
    return loc


def _model_at(model: type[BaseModel], loc: Loc) -> type[BaseModel]:
    """The model that describes the mapping at a path."""
    here: Any = model
    for part in loc:
        if isinstance(here, type) and issubclass(here, BaseModel):
            here = here.model_fields[str(part)].annotation
        else:
            here = typing.get_args(here)[-1]
        while typing.get_origin(here) in (Annotated, Union, types.UnionType):
            here = typing.get_args(here)[0]
    found: type[BaseModel] = here
    return found
