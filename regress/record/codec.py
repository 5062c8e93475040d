"""Records to versioned, checksummed JSON and back.

A file is one JSON object: ``schema`` (for example ``regress.launch/1``), ``sha256`` (of the
canonical JSON of ``body``) and ``body``. It is plain ASCII, so that any text survives, even
bytes of a log that are no UTF-8. Numbers that are not finite are refused: a
measurement that is missing is ``null``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union

from regress.errors import RecordError

R = TypeVar("R")


def encode(schema: str, record: object) -> bytes:
    """Write a record as one checksummed JSON document, ending in a newline.

    Raises:
        RecordError: It holds a number that is not finite.
    """
    body = plain(record)
    document = {"schema": schema, "sha256": _digest(body), "body": body}
    return (json.dumps(document, allow_nan=False) + "\n").encode()


def decode(schema: str, kind: type[R], text: bytes | str) -> R:
    """Read a document that `encode` wrote.

    Raises:
        RecordError: It is no JSON, was damaged, has another schema, or lacks a field.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise RecordError(f"not JSON: {error}") from None
    except RecursionError:
        raise RecordError("not a record: nested too deeply") from None
    if not isinstance(document, dict) or not {"schema", "sha256", "body"} <= document.keys():
        raise RecordError("not a record: it lacks schema, sha256 or body")
    if document["schema"] != schema:
        raise RecordError(f"it is a {str(document['schema'])[:60]!r}, and {schema!r} was expected")
    if _digest(document["body"]) != document["sha256"]:
        raise RecordError("damaged: its checksum does not match its content")
    record: R = from_plain(kind, document["body"])
    return record


def plain(value: object) -> Any:
    """Turn records into dictionaries and tuples into lists, all the way down."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return value


def from_plain(kind: Any, value: Any, where: str = "record") -> Any:
    """Build a value of type ``kind`` from what `plain` made of it.

    Unknown fields are refused: they belong to a version that this one cannot read.

    Raises:
        RecordError: The value does not fit; the message names the field.
    """
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _from_object(kind, value, where)
    if origin in (Union, types.UnionType):
        return _from_union(typing.get_args(kind), value, where)
    if origin is tuple:
        return _from_list(typing.get_args(kind), value, where)
    if origin is Literal:
        if value not in typing.get_args(kind):
            raise RecordError(
                f"{where}: {value!r:.80} is none of {', '.join(map(str, typing.get_args(kind)))}"
            )
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(kind, type) and (
        not isinstance(value, kind) or (kind is not bool and isinstance(value, bool))
    ):
        raise RecordError(f"{where}: {value!r:.80} is not of type {kind.__name__}")
    return value


def _from_object(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise RecordError(f"{where}: {value!r:.80} is not an object")
    hints = _hints(kind)
    unknown = value.keys() - hints.keys()
    if unknown:
        raise RecordError(f"{where}: unknown field {sorted(unknown)[0]!r:.80}")
    required = {
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    missing = required - value.keys()
    if missing:
        raise RecordError(f"{where}: field {sorted(missing)[0]!r} is missing")
    return kind(**{name: from_plain(hints[name], item, f"{where}.{name}") for name, item in value.items()})


def _from_union(parts: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in parts:
        return None
    inner = [part for part in parts if part is not type(None)]
    if len(inner) == 1:
        return from_plain(inner[0], value, where)
    for part in inner:
        with contextlib.suppress(RecordError):
            return from_plain(part, value, where)
    raise RecordError(f"{where}: {value!r:.80} is none of {', '.join(part.__name__ for part in inner)}")


def _from_list(parts: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise RecordError(f"{where}: {value!r:.80} is not a list")
    if len(parts) == 2 and parts[1] is Ellipsis:
        return tuple(from_plain(parts[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if len(parts) != len(value):
        raise RecordError(f"{where}: {len(value)} values where {len(parts)} belong")
    return tuple(from_plain(part, item, where) for part, item in zip(parts, value, strict=True))


@functools.lru_cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _digest(body: Any) -> str:
    try:
        text = json.dumps(body, allow_nan=False, sort_keys=True, separators=(",", ":"))
    except ValueError:
        raise RecordError("a number is not finite; what is missing is written as null") from None
    return hashlib.sha256(text.encode()).hexdigest()
