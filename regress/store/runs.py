"""Runs as folders of immutable files.

::

    <store>/<suite>/<utc>-<commit12>-<run>/
        plan.json                            the manifest, written first
        launch-<block>-w<world>-<attempt>.json   one per launch
        logs/                                of launches that failed
        done.json                            written last: the launch files with their digests

Without ``done.json`` a run is open: still being measured, or interrupted.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from regress.errors import RecordError, RequestError, StoreError
from regress.record.codec import decode
from regress.record.run import RUN_ID, SUITE_NAME, Launch, Manifest, Run

MANIFEST = "regress.manifest/1"
"""Schema of ``plan.json``."""

LAUNCH = "regress.launch/1"
"""Schema of a launch file."""

DONE = "regress.done/1"
"""Schema of ``done.json``."""

LAUNCH_FILE = re.compile(r"launch-\d{1,9}-w\d{1,9}-\d{1,9}\.json")
"""Name of a launch file."""

R = TypeVar("R")

_FOLDER = re.compile(r"\d{8}T\d{6}Z-(?:[0-9a-f]{12}|none)-([0-9a-f]{8})")


@dataclass(frozen=True, kw_only=True)
class LaunchFile:
    """A launch file of a run that was closed."""

    name: str
    """In the run's folder."""

    sha256: str
    """Of its bytes."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a closed run consists of."""

    run: str
    """Identity of the run."""

    launches: tuple[LaunchFile, ...]
    """By name."""


def read_run(folder: Path) -> Run:
    """Read a run, complete or not, and check every byte of it.

    Raises:
        StoreError: It is no run, or a file in it is damaged, foreign or missing; it is named.
    """
    manifest = read_manifest(folder)
    done_file = folder / "done.json"
    done = _read(done_file, DONE, Done) if done_file.exists() else None  # first: it lists what must be there
    names = _launch_files(folder)
    if done is not None:
        _check(folder, manifest, done, names)
    launches = [_read(folder / name, LAUNCH, Launch) for name in names]
    for name, launch in zip(names, launches, strict=True):
        if launch.run != manifest.run or launch_file(launch) != name:
            raise _unfit(folder / name, "it is a launch of another run or of another name")
    launches.sort(key=lambda launch: (launch.block, launch.world_size, launch.attempt))
    return Run(manifest=manifest, launches=tuple(launches), folder=str(folder), complete=done is not None)


def read_manifest(folder: Path) -> Manifest:
    """Read what a run is of, and nothing else.

    Raises:
        StoreError: It is no run, or its manifest is damaged.
    """
    if not (folder / "plan.json").is_file():
        raise StoreError(f"{folder}: not a run, it has no plan.json; name the folder of a run")
    return _read(folder / "plan.json", MANIFEST, Manifest)


def list_runs(store: Path, suite: str | None = None) -> tuple[Path, ...]:
    """The folders of all runs, or of one suite's, oldest first; none where there is no store.

    Raises:
        StoreError: The store cannot be read.
    """
    if not store.exists():
        return ()
    try:
        folders = [
            folder
            for parent in store.iterdir()
            if SUITE_NAME.fullmatch(parent.name) and suite in (None, parent.name) and parent.is_dir()
            for folder in parent.iterdir()
            if _FOLDER.fullmatch(folder.name)
        ]
    except OSError as error:
        raise StoreError(f"{store}: cannot be read: {error.strerror}") from None
    return tuple(sorted(folders, key=lambda folder: folder.name))


def find_run(store: Path, run: str) -> Path:
    """Find the folder of a run by its identity.

    Raises:
        RequestError: The store holds no such run.
        StoreError: The store cannot be read, or holds two.
    """
    found = [folder for folder in list_runs(store) if folder.name.endswith(f"-{run}")]
    if not RUN_ID.fullmatch(run) or not found:
        raise RequestError(f"no run {run!r:.80} in {store}")
    if len(found) > 1:
        raise StoreError(f"run {run} is there twice, as {found[0]} and {found[1]}; move one away")
    return found[0]


def launch_file(launch: Launch) -> str:
    """Name of the file that a launch is kept in."""
    return f"launch-{launch.block}-w{launch.world_size}-{launch.attempt}.json"


def _launch_files(folder: Path) -> list[str]:
    """Names of the launch files; names with a leading dot belong to writers at work."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read: {error.strerror}") from None
    others = {"plan.json", "done.json", "logs"}
    for name in names:
        if not (name in others or name.startswith(".") or LAUNCH_FILE.fullmatch(name)):
            raise StoreError(f"{folder / ascii(name)[1:-1]}: no file of a run; move it away")
    return [name for name in names if LAUNCH_FILE.fullmatch(name)]


def _check(folder: Path, manifest: Manifest, done: Done, names: list[str]) -> None:
    if done.run != manifest.run:
        raise _unfit(folder / "done.json", "it closes another run")
    listed = {file.name: file.sha256 for file in done.launches}
    for name in names:
        if name not in listed:
            raise _unfit(folder / name, "it came after the run was closed")
        digest = hashlib.sha256(_bytes(folder / name)).hexdigest()
        if digest != listed[name]:
            raise _unfit(folder / name, "it is not the file that done.json lists")
    for name in listed:
        if name not in names:
            raise _unfit(folder / "done.json", f"it lists {name!r:.80}, which is missing")


def _read(path: Path, schema: str, kind: type[R]) -> R:
    try:
        return decode(schema, kind, _bytes(path))
    except RecordError as error:
        raise _unfit(path, str(error)) from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from None


def _unfit(path: Path, why: str) -> StoreError:
    return StoreError(f"{path}: {why}; move the run's folder out of the store and measure again")
