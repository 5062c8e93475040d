"""Where answers go: standard output, and the files that were asked for."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from regress.errors import RequestError

STDOUT = "-"
"""As a file name: standard output."""


def check_writable(*names: str | None) -> None:
    """Refuse files that cannot be written, before anything is measured for them.

    Raises:
        RequestError: A folder is missing or not writable.
    """
    for name in names:
        if name is None or name == STDOUT:
            continue
        path = Path(name)
        if path.is_dir():
            raise RequestError(f"{name} is a folder; name a file")
        if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
            raise RequestError(f"{name} cannot be written: there is no writable folder {path.parent}")


def write(name: str, text: str) -> None:
    """Write a file aside and rename it, or print to standard output."""
    if name == STDOUT:
        sys.stdout.write(text)
        return
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}-", delete=False
    ) as aside:
        aside.write(text)
    Path(aside.name).chmod(0o644)
    Path(aside.name).replace(path)


def terminal_width() -> int:
    """Cells of the terminal; 100 where there is none."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def use_color() -> bool:
    """Whether standard output takes colours; see https://no-color.org."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
