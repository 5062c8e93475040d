"""Where answers go: standard output, and the files that were asked for."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path

from regress.errors import RegressError, RequestError

STDOUT = "-"
"""As a file name: standard output."""


def check_writable(*names: str | None) -> None:
    """Refuse files that cannot be written, before anything is measured for them.

    Raises:
        RequestError: A folder is missing or not writable.
    """
    if names.count(STDOUT) > 1:
        raise RequestError("only one of the files can be standard output")
    for name in names:
        if name is None or name == STDOUT:
            continue
        path = Path(name)
        try:
            if path.is_dir():
                raise RequestError(f"{name} is a folder; name a file")
            if _is_special(path):
                continue
            if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
                raise RequestError(f"{name} cannot be written: there is no writable folder {path.parent}")
        except OSError as error:
            raise RequestError(f"{name:.80} cannot be written: {error.strerror}") from None


def write(name: str, text: str) -> None:
    """Write a file aside and rename it, or print to standard output.

    Raises:
        RegressError: It cannot be written.
        BrokenPipeError: Nobody reads standard output any more.
    """
    try:
        if name == STDOUT:
            sys.stdout.write(text)
            sys.stdout.flush()  # here, where a failure can still be told
        else:
            _replace(Path(name), text)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        if name == STDOUT:
            discard_output()
        what = "standard output" if name == STDOUT else name
        raise RegressError(f"{what} cannot be written: {error.strerror}") from None


def discard_output() -> None:
    """Send what standard output still holds nowhere: else the interpreter fails on it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_special(path: Path) -> bool:
    """Whether it is written through, not replaced: a link, a device such as ``/dev/null``, a pipe."""
    return path.is_symlink() or (path.exists() and not path.is_file())


def _replace(path: Path, text: str) -> None:
    if _is_special(path):
        path.write_text(text, encoding="utf-8")
        return
    aside = path.with_name(f".regress-{os.getpid()}")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def make_private_folder(folder: Path) -> None:
    """Make a folder that git does not look into; one that is there stays as it is.

    Raises:
        RegressError: It cannot be made.
    """
    if folder.is_dir():
        return
    try:
        folder.mkdir(parents=True)
        (folder / ".gitignore").write_text("*\n")
    except OSError as error:
        raise RegressError(f"{folder} cannot be made: {error.strerror}; name a file with --html") from None


def terminal_width() -> int:
    """Cells of the terminal; 100 where there is none."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def use_color() -> bool:
    """Whether standard output takes colours; see https://no-color.org."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
