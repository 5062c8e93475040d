"""Files that appear whole or not at all, replace none, and never change afterwards.

A file is written aside in its own folder, under a name with a leading dot that no reader
looks at, and linked to its own name when its content is on the disk. A killed writer leaves
at most a dotted file.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from regress.errors import StoreError


def publish(path: Path, content: bytes) -> None:
    """Write a file.

    Raises:
        StoreError: A file of that name exists, or it cannot be written.
    """
    try:
        with _written_aside(path, content) as aside:
            os.link(aside, path)
    except FileExistsError:
        raise StoreError(f"{path}: exists already, and stored files are never replaced") from None
    except OSError as error:
        raise unwritable(path, error) from None


def replace(path: Path, content: bytes) -> None:
    """Write a file in place of the one that may be there: the only kind that is no stored file, a baseline.

    Raises:
        StoreError: It cannot be written; the one before it is whole.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _written_aside(path, content) as aside:
            aside.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None


def publish_folder(folder: Path, first: str, content: bytes) -> None:
    """Make a folder that holds its first file from the moment it is there.

    Raises:
        StoreError: A folder of that name exists, or it cannot be written.
    """
    aside = _aside(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside.mkdir()
        publish(aside / first, content)
        aside.rename(folder)
        _sync_folder(folder.parent)
    except OSError as error:
        if folder.exists():
            raise StoreError(f"{folder}: exists already, and stored runs are never replaced") from None
        raise unwritable(folder, error) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def unwritable(path: Path, error: OSError) -> StoreError:
    """Say that a file of the store cannot be written, and what to do."""
    return StoreError(
        f"{path}: cannot be written: {error.strerror}; make room or permission there, "
        "or set another 'store' in configs/project.yaml"
    )


@contextlib.contextmanager
def _written_aside(path: Path, content: bytes) -> Iterator[Path]:
    """A file beside ``path`` whose content is on the disk; the folder is synchronised after its use."""
    aside = _aside(path)
    try:
        with aside.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        yield aside
        _sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def _aside(path: Path) -> Path:
    return path.parent / f".aside-{secrets.token_hex(8)}"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
