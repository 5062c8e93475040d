"""A project: where its results go and in which environments it is measured.

These models are the schema of ``configs/project.yaml``: every field is documented where it stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from regress.spec.suite import Section

ENVIRONMENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""Name of an environment: it follows the ``@`` of a side."""

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _environment_name(name: str) -> str:
    if not ENVIRONMENT_NAME.fullmatch(name):
        raise ValueError(
            "cannot name an environment; use letters, digits, '.', '_' and '-', 64 at most, "
            "with a letter or digit first"
        )
    return name


def _variable_name(name: str) -> str:
    if not _VARIABLE_NAME.fullmatch(name):
        raise ValueError("cannot name a variable; use letters, digits and '_', with no digit first")
    return name


def _path(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError("expected a path, without control characters")
    return text


def _inner_path(text: str) -> str:
    path = PurePosixPath(_path(text))
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"expected a folder inside the project; got {text!r:.80}")
    return text


def _store_path(text: str) -> str:
    if _URL.match(_path(text)):
        raise ValueError(f"a store at a URL is not supported yet; name a folder; got {text!r:.80}")
    return text


def _variable_value(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected a text without the character NUL")
    return text


class NamedEnvironment(Section):
    """A named way to run a side."""

    python: Annotated[str, AfterValidator(_path)] | None = None
    """Its interpreter, a path from the project's root; without it the one that runs regress."""

    variables: dict[
        Annotated[str, AfterValidator(_variable_name)], Annotated[str, AfterValidator(_variable_value)]
    ] = Field(default={})
    """Environment variables of its ranks, by name."""


class Project(Section):
    """Where results go and in which environments sides are measured."""

    store: Annotated[str, AfterValidator(_store_path)] = ".regress/store"
    """Folder of the runs, a path from the project's root."""

    benchmarks: Annotated[str, AfterValidator(_inner_path)] = "benchmarks"
    """Folder of the benchmark files, in each revision."""

    python_path: list[Annotated[str, AfterValidator(_inner_path)]] = Field(default=[".", "src"])
    """Folders of a revision that go on the import path, so that its code is what is measured."""

    pin_ranks: bool = True
    """Whether each rank keeps to cores of its own, near its GPU where there is one."""

    canary: bool = True
    """Whether a fixed piece of work is timed before and after each block, to tell a node that moved from
    code that did: under half a second on CPU."""

    environments: dict[Annotated[str, AfterValidator(_environment_name)], NamedEnvironment] = Field(
        default={}
    )
    """Named ways to run a side, as in ``HEAD@nightly``."""


@dataclass(frozen=True, kw_only=True)
class LoadedProject:
    """A project and where it stands."""

    root: Path
    """The folder that holds ``configs``; paths in the file start here."""

    project: Project
    """The file's content, or the defaults."""

    @property
    def store(self) -> Path:
        """Folder of the runs."""
        return self.path(self.project.store)

    @property
    def benchmarks(self) -> Path:
        """Folder of the benchmark files in the working tree."""
        return self.path(self.project.benchmarks)

    def path(self, text: str) -> Path:
        """Resolve a path of the file: from the root, ``~`` is the home folder; links stay as they are."""
        return self.root / Path(text).expanduser()
