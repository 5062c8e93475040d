"""Benchmarks by name: what the catalog says of them, and one of them with its parameters."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from regress.record.platform import Platform

Scalar = str | int | float | bool
"""A value of a parameter."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
"""A benchmark, a parameter or a phase."""

TEXT_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
"""A text that a parameter may hold: it goes into labels, file names and scripts."""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A benchmark as its file declares it."""

    name: str
    """Name of the function."""

    world_sizes: tuple[int, ...]
    """Numbers of ranks it is meant for."""

    params: tuple[tuple[str, tuple[Scalar, ...]], ...] = ()
    """Each parameter with the values it is measured at."""

    doc: str = ""
    """First line of its docstring."""

    file: str
    """Relative to the folder of benchmarks."""

    line: int
    """Of the function."""

    digest: str
    """Hash of the syntax trees of its function and of all it imports from its folder."""

    torch_modules: tuple[str, ...] = ()
    """Modules of torch that these files import: what a fork server imports once for all ranks."""


@dataclass(frozen=True, kw_only=True)
class ImportFailure:
    """A benchmark file that could not be imported."""

    file: str
    """Relative to the folder of benchmarks."""

    line: int
    """Of that file, the last one the traceback passes through; 0 where none."""

    message: str
    """Last line of the traceback."""


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """The benchmarks of a folder, as one side's environment sees them."""

    definitions: tuple[Definition, ...]
    """By name."""

    failures: tuple[ImportFailure, ...] = ()
    """Files that raised at import."""

    device: Literal["cpu", "cuda"] = "cpu"
    """What ranks run on."""

    ranks: int = 1
    """Cores or CUDA devices: the largest world size this host holds."""

    platform: Platform
    """This host with all its devices."""

    torch: str
    """Version with its build, for example ``2.13.0+cpu``."""


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A named workload with parameters and a world size."""

    name: str
    """Of its definition."""

    params: tuple[tuple[str, Scalar], ...] = ()
    """One value for each parameter, in the order of the definition."""

    world_size: int
    """Number of ranks."""

    digest: str
    """Of its definition."""

    @property
    def label(self) -> str:
        """For people and files: ``fsdp[reshard=true,world=8]``."""
        facts = [f"{name}={scalar_text(value)}" for name, value in self.params]
        return f"{self.name}[{','.join([*facts, f'world={self.world_size}'])}]"


def scalar_text(value: Scalar) -> str:
    """Write a parameter as YAML would: ``true``, ``8``, ``tiny``."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def alternatives(word: str, known: Iterable[str]) -> str:
    """End a refusal of an unknown name: with the known one it resembles, else with all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(word[:100], names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(names) or 'none'}"
