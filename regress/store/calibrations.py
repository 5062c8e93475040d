"""Calibrations: one immutable file each, and the runs that they rest on, apart from all other runs.

::

    <store>/calibrations/<utc>-<identity>.json     written last
    <store>/calibrations/<suite>/...               the runs, as a store of their own

Runs in which slowdowns were planted are no history of a benchmark. They lie where nobody looks
who lists the runs of a store.
"""

from __future__ import annotations

import re
from pathlib import Path

from regress.errors import RecordError, StoreError
from regress.record.calibration import SCHEMA, Calibration, Mode
from regress.record.codec import decode, encode
from regress.store.files import publish, unwritable

_FILE = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}\.json")


def calibration_runs(store: Path) -> Path:
    """The store of the runs that were measured for calibrations."""
    return store / "calibrations"


def write_calibration(store: Path, calibration: Calibration) -> Path:
    """Keep a calibration.

    Returns:
        Its file.

    Raises:
        StoreError: It is there already, or cannot be written.
    """
    folder = calibration_runs(store)
    digits = re.sub(r"[-:]|\+00:00", "", calibration.started)
    name = f"{digits}Z-{calibration.calibration}.json"
    if not _FILE.fullmatch(name):
        raise StoreError(f"{name!r:.80} cannot name the file of a calibration")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    publish(folder / name, encode(SCHEMA, calibration))
    return folder / name


def read_calibration(file: Path) -> Calibration:
    """Read a calibration.

    Raises:
        StoreError: It cannot be read, or was damaged.
    """
    try:
        return decode(SCHEMA, Calibration, file.read_bytes())
    except OSError as error:
        raise StoreError(f"{file}: cannot be read: {error.strerror}") from None
    except RecordError as error:
        raise StoreError(f"{file}: {error}; move it away and calibrate again") from None


def list_calibrations(store: Path) -> tuple[Path, ...]:
    """The files of all calibrations, oldest first; none where there is no store.

    Raises:
        StoreError: The folder cannot be read.
    """
    folder = calibration_runs(store)
    if not folder.is_dir():
        return ()
    try:
        files = [file for file in folder.iterdir() if _FILE.fullmatch(file.name)]
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read: {error.strerror}") from None
    return tuple(sorted(files, key=lambda file: file.name))


def latest(store: Path, platform: str, mode: Mode, suite: str | None = None) -> Calibration | None:
    """The last calibration of a platform and a mode; ``None`` where there is none.

    Args:
        store: The store.
        platform: Key.
        mode: How the sides of a block are measured.
        suite: The last one of this suite wins over later ones of others.

    Raises:
        StoreError: One of them cannot be read: it is never taken for none.
    """
    found = [
        each
        for each in map(read_calibration, list_calibrations(store))
        if (each.platform.key, each.mode) == (platform, mode)
    ]
    own = [each for each in found if each.suite == suite]
    return next(reversed(own or found), None)
