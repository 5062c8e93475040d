"""Runs in brief, read through a cache that can be deleted at any time.

A complete run never changes, so what was made of it once holds as long as its files are the ones
that were read: same list, same sizes, same times. A file that was touched is read and checked again.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

from regress.errors import RecordError, StoreError
from regress.record.codec import decode, encode
from regress.record.points import SCHEMA, RunPoints
from regress.record.run import Run
from regress.store import files
from regress.store.runs import read_run


def read_points(folder: Path, cache: Path, brief: Callable[[Run], RunPoints]) -> RunPoints:
    """Read a run in brief.

    Args:
        folder: Of the run.
        cache: Where what was made of runs is kept.
        brief: Makes it of a run.

    Raises:
        StoreError: It is no run, or a file in it is damaged, foreign or missing; it is named.
    """
    seal = _seal(folder)
    kept = None if seal is None else cache / "points" / f"{seal}.json"
    if kept is not None:
        with contextlib.suppress(OSError, RecordError):
            return decode(SCHEMA, RunPoints, kept.read_bytes())
    points = brief(read_run(folder))
    if kept is not None:
        with contextlib.suppress(StoreError):  # a cache that cannot be written costs time alone
            files.replace(kept, encode(SCHEMA, points))
    return points


def _seal(folder: Path) -> str | None:
    """What a complete run has in common with itself as long as nobody touches it; else ``None``."""
    try:
        done = (folder / "done.json").read_bytes()
        facts = [(each.name, each.stat()) for each in folder.iterdir() if not each.name.startswith(".")]
    except OSError:
        return None
    listed = sorted((name, fact.st_size, fact.st_mtime_ns) for name, fact in facts)
    return hashlib.sha256(repr((folder.name, listed)).encode(errors="surrogateescape") + done).hexdigest()
