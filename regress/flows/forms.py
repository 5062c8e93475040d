"""Records as JSON Schema (draft 2020-12), each field with the docstring that stands under it."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import textwrap
import types
import typing
from itertools import pairwise
from typing import Any, Literal, Union

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""What these schemas are written in."""

Schema = dict[str, Any]
"""A JSON Schema, as plain data."""

_SIMPLE: dict[object, str] = {
    bool: "boolean",
    float: "number",
    int: "integer",
    str: "string",
    type(None): "null",
}


def record_form(kind: type) -> Schema:
    """Describe what `regress.record.codec.plain` makes of a record, and `from_plain` reads.

    Fields that have a default may be missing; others may not, and no unknown ones are allowed.

    Args:
        kind: A dataclass of ours, whose source can be read.

    Returns:
        A schema with the records inside it under ``$defs``.

    Raises:
        TypeError: A field is of a type that no record has.
    """
    inner: dict[str, Schema] = {}
    form = _object(kind, inner)
    return {"$schema": DIALECT, **form, "$defs": inner}


def in_envelope(schema: str, form: Schema) -> Schema:
    """Describe a file that `regress.record.codec.encode` wrote.

    Args:
        schema: Name and version, for example ``regress.launch/1``.
        form: Of its body, as `record_form` gives it.
    """
    body = {name: value for name, value in form.items() if name not in ("$schema", "$defs")}
    properties = {
        "schema": {"const": schema, "description": "Name and version of this form."},
        "sha256": {
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
            "description": "Of the canonical JSON of `body`: sorted keys, no blanks, plain ASCII.",
        },
        "body": body,
    }
    return {
        "$schema": DIALECT,
        "title": schema,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": form["$defs"],
    }


def plain_text(docstring: str) -> str:
    """A docstring as one paragraph without markup."""
    return " ".join(docstring.replace("``", "`").split())


def _object(kind: type, inner: dict[str, Schema]) -> Schema:
    hints = typing.get_type_hints(kind)
    texts = _field_texts(kind)
    properties = {}
    for field in dataclasses.fields(kind):
        form = _form(hints[field.name], inner)
        properties[field.name] = form | ({"description": texts[field.name]} if field.name in texts else {})
    required = [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    return {
        "title": kind.__name__,
        "description": plain_text(kind.__doc__ or ""),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _form(kind: Any, inner: dict[str, Schema]) -> Schema:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        name = f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"
        if name not in inner:
            inner[name] = {}  # holds the place: a record may hold its own kind
            inner[name] = _object(kind, inner)
        return {"$ref": f"#/$defs/{name}"}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_form(part, inner) for part in parts]}
    if origin is tuple and parts[1:] == (Ellipsis,):
        return {"type": "array", "items": _form(parts[0], inner)}
    if origin is tuple:
        items = [_form(part, inner) for part in parts]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "items": False}
    raise TypeError(f"no record holds {kind!r}")


@functools.lru_cache
def _field_texts(kind: type) -> dict[str, str]:
    """The text under each field, from the source of the class."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    texts = {}
    for field, text in pairwise(body):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            texts[field.target.id] = plain_text(str(text.value.value))
    return texts
