"""YAML text as plain data in which every value knows its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from regress.errors import Problem, RequestError, SpecError
from regress.spec.suite import Loc

_YAML = "tag:yaml.org,2002:"
_CONVERTED = {f"{_YAML}null", f"{_YAML}bool", f"{_YAML}int", f"{_YAML}float"}
_AS_WRITTEN = {f"{_YAML}str", f"{_YAML}timestamp", f"{_YAML}value", f"{_YAML}merge"}
_COLLECTIONS = {f"{_YAML}map", f"{_YAML}seq"}


@dataclass(frozen=True, kw_only=True)
class Source:
    """The content of one YAML file."""

    file: str
    """The file, as messages name it."""

    data: Any
    """Mappings, lists and scalars; ``None`` for a file that says nothing."""

    lines: Mapping[Loc, int]
    """Line of every value: of its key, or of its place in a list."""

    problems: Mapping[Loc, Problem]
    """What YAML allows and we do not: a key given twice, a tag."""

    def where(self, loc: Loc) -> str:
        """``file:line`` of a value, or of the nearest enclosing one that stands in the file."""
        while loc not in self.lines:
            loc = loc[:-1]
        return f"{self.file}:{self.lines[loc]}"


def read_source(path: Path) -> Source:
    """Read a YAML file without giving its values a meaning.

    Raises:
        RequestError: There is no such file, or it cannot be read.
        SpecError: It is no UTF-8 or no YAML, or uses aliases (which can make a small file endless).
    """
    file = _shown_path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise RequestError(f"{file}: no such file") from None
    except IsADirectoryError:
        raise RequestError(f"{file}: is a folder; name a YAML file") from None
    except OSError as error:
        raise RequestError(f"{file}: cannot be read: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(file, line, "is not UTF-8; save the file as UTF-8") from None
    return _compose(file, text)


def _compose(file: str, text: str) -> Source:
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _refusal(file, line, f"not valid YAML: the character {chr(error.character)!a}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        what = ", ".join(part for part in (error.context, error.problem) if part)
        raise _refusal(file, line, f"not valid YAML: {what}") from None
    except RecursionError:
        raise _refusal(file, 1, "nested too deeply") from None
    reading = _Reading(file, loader)
    data = None if root is None else reading.value(root, ())
    return Source(file=file, data=data, lines=reading.lines, problems=reading.problems)


class _Loader(yaml.SafeLoader):
    """Reads `1e-3` as the number it is, and no aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # not in the stubs
            raise yaml.MarkedYAMLError(
                problem="aliases are not supported; write the value out", problem_mark=mark
            )
        return super().compose_node(parent, index)


_Loader.add_implicit_resolver(
    f"{_YAML}float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


class _Reading:
    """Turns nodes into data, noting lines and problems by the way."""

    def __init__(self, file: str, loader: _Loader) -> None:
        self.file = file
        self.loader = loader
        self.lines: dict[Loc, int] = {(): 1}
        self.problems: dict[Loc, Problem] = {}

    def value(self, node: yaml.Node, loc: Loc) -> Any:
        if node.tag not in _CONVERTED | _AS_WRITTEN | _COLLECTIONS:
            self.refuse(loc, node, f"the tag {node.tag.replace(_YAML, '!!')!r:.80} is not supported")
            return None
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, loc)
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.lines[(*loc, index)] = _line(item)
            return [self.value(item, (*loc, index)) for index, item in enumerate(node.value)]
        return self.scalar(node, loc)

    def mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.refuse(loc, key_node, "a key must be a name, not a list or a mapping")
                continue
            key: str = key_node.value
            here = (*loc, key)
            if key in found:
                text = f"the key {key!r:.80} stands twice, first in line {self.lines[here]}"
                self.refuse((*here, _line(key_node)), key_node, text)  # the first value is looked at still
                continue
            self.lines[here] = _line(key_node)
            found[key] = self.value(value_node, here)
        return found

    def scalar(self, node: yaml.Node, loc: Loc) -> Any:
        if node.tag in _AS_WRITTEN:
            return node.value
        try:
            value = self.loader.construct_object(node)
            if not isinstance(value, int) or value.bit_length() < 64:
                return value
        except ValueError:  # Python itself stops at some thousand digits
            pass
        self.refuse(loc, node, f"{node.value!r:.80} is too large a number")
        return None

    def refuse(self, loc: Loc, node: yaml.Node, message: str) -> None:
        where = f"{self.file}:{_line(node)}"
        self.problems.setdefault(loc, Problem(where=where, message=message))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _refusal(file: str, line: int, message: str) -> SpecError:
    return SpecError([Problem(where=f"{file}:{line}", message=message)])


def _shown_path(path: Path) -> str:
    here = Path.cwd()
    text = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return text if text.isprintable() else ascii(text)
