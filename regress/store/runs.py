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
import os
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

from regress.errors import RecordError, RequestError, StoreError
from regress.record.codec import decode, encode
from regress.record.run import RUN_ID, SUITE_NAME, Launch, Manifest, Run
from regress.store.files import publish, publish_folder, unwritable

MANIFEST = "regress.manifest/1"
"""Schema of ``plan.json``."""

LAUNCH = "regress.launch/1"
"""Schema of a launch file."""

DONE = "regress.done/1"
"""Schema of ``done.json``."""

LOG_BYTES = 16 << 20
"""Of a longer log the end is kept."""

R = TypeVar("R")

_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_FOLDER = re.compile(r"\d{8}T\d{6}Z-(?:[0-9a-f]{12}|none)-([0-9a-f]{8})")
_LAUNCH_FILE = re.compile(r"launch-\d{1,9}-w\d{1,9}-\d{1,9}\.json")
_LOG_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,=+\[\]-]{0,199}")


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


class RunWriter:
    """Adds launches to a new run, and closes it."""

    folder: Path
    """Of the run."""

    run: str
    """Its identity."""

    def __init__(self, folder: Path, run: str) -> None:
        self.folder = folder
        self.run = run
        self._digests: dict[str, str] = {}
        self._closed = False

    def add(self, launch: Launch) -> None:
        """Publish a launch: from now on every reader sees it.

        Raises:
            StoreError: It belongs to another run, is there already, or cannot be written.
        """
        self._refuse_when_closed()
        name = _launch_file(launch)
        if launch.run != self.run or not _LAUNCH_FILE.fullmatch(name):
            raise StoreError(f"{self.folder / name}: a launch of run {launch.run!r:.80} has no place here")
        content = encode(LAUNCH, launch)
        publish(self.folder / name, content)
        self._digests[name] = hashlib.sha256(content).hexdigest()

    def keep_log(self, source: Path, name: str) -> str:
        """Copy a log, or its last `LOG_BYTES`, into the run.

        Args:
            source: The file to copy.
            name: Relative to ``logs/``, for example ``launch-3-w2-0/rank-1.log``.

        Returns:
            Its path relative to the run's folder, as `Outcome.log` has it.

        Raises:
            StoreError: The name leads elsewhere or is taken, or a file cannot be read or written.
        """
        self._refuse_when_closed()
        if not all(_LOG_PART.fullmatch(part) for part in name.split("/")):
            raise StoreError(
                f"{name!r:.80} cannot name a log; use letters, digits and '_.,=+[]-' between '/'"
            )
        path = self.folder / "logs" / name
        content = _end_of(source)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error) from None
        publish(path, content)
        return f"logs/{name}"

    def close(self) -> None:
        """Close the run: it is complete, and nothing is added any more.

        Raises:
            StoreError: It is closed already, or cannot be written.
        """
        self._refuse_when_closed()
        files = tuple(LaunchFile(name=name, sha256=digest) for name, digest in sorted(self._digests.items()))
        publish(self.folder / "done.json", encode(DONE, Done(run=self.run, launches=files)))
        self._closed = True

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise StoreError(f"{self.folder}: the run is closed, and closed runs never change")


def create_run(store: Path, manifest: Manifest) -> RunWriter:
    """Begin a run: its folder appears with its manifest in it.

    Raises:
        StoreError: The run exists, a name in the manifest cannot name a folder, or the store
            cannot be written.
    """
    folder = store / manifest.suite / _folder_name(manifest)
    fresh = not store.exists()
    publish_folder(folder, "plan.json", encode(MANIFEST, manifest))
    if fresh and ".regress" in store.absolute().parts:
        _keep_out_of_git(store)
    return RunWriter(folder, manifest.run)


def read_run(folder: Path) -> Run:
    """Read a run, complete or not, and check every byte of it.

    Raises:
        StoreError: It is no run, or a file in it is damaged, foreign or missing; it is named.
    """
    if not (folder / "plan.json").is_file():
        raise StoreError(f"{folder}: not a run, it has no plan.json; name the folder of a run")
    manifest = _read(folder / "plan.json", MANIFEST, Manifest)
    done_file = folder / "done.json"
    done = _read(done_file, DONE, Done) if done_file.exists() else None  # first: it lists what must be there
    names = _launch_files(folder)
    if done is not None:
        _check(folder, manifest, done, names)
    launches = [_read(folder / name, LAUNCH, Launch) for name in names]
    for name, launch in zip(names, launches, strict=True):
        if launch.run != manifest.run or _launch_file(launch) != name:
            raise _unfit(folder / name, "it is a launch of another run or of another name")
    launches.sort(key=lambda launch: (launch.block, launch.world_size, launch.attempt))
    return Run(manifest=manifest, launches=tuple(launches), folder=str(folder), complete=done is not None)


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


def _keep_out_of_git(store: Path) -> None:
    try:
        (store / ".gitignore").write_text("*\n")
    except OSError as error:
        raise unwritable(store / ".gitignore", error) from None


def _folder_name(manifest: Manifest) -> str:
    commit = manifest.commit
    for what, value, pattern in (
        ("suite", manifest.suite, SUITE_NAME),
        ("run", manifest.run, RUN_ID),
        ("commit", commit or "0" * 40, _COMMIT),
    ):
        if not pattern.fullmatch(value):
            raise StoreError(f"{value!r:.80} cannot name the folder of a {what}")
    try:
        started = datetime.fromisoformat(manifest.started)
    except ValueError:
        raise StoreError(
            f"the start of a run must be a time in ISO 8601; got {manifest.started!r:.80}"
        ) from None
    if started.tzinfo is None:
        raise StoreError(f"the start of a run must name its time zone; got {manifest.started!r:.80}")
    utc = started.astimezone(timezone.utc)
    return f"{utc:%Y%m%dT%H%M%SZ}-{commit[:12] if commit else 'none'}-{manifest.run}"


def _launch_file(launch: Launch) -> str:
    return f"launch-{launch.block}-w{launch.world_size}-{launch.attempt}.json"


def _launch_files(folder: Path) -> list[str]:
    """Names of the launch files; names with a leading dot belong to writers at work."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read: {error.strerror}") from None
    others = {"plan.json", "done.json", "logs"}
    for name in names:
        if not (name in others or name.startswith(".") or _LAUNCH_FILE.fullmatch(name)):
            raise StoreError(f"{folder / ascii(name)[1:-1]}: no file of a run; move it away")
    return [name for name in names if _LAUNCH_FILE.fullmatch(name)]


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


def _end_of(source: Path) -> bytes:
    try:
        with source.open("rb") as stream:
            skipped = max(0, os.fstat(stream.fileno()).st_size - LOG_BYTES)
            stream.seek(skipped)
            content = stream.read(LOG_BYTES)
    except OSError as error:
        raise StoreError(f"{source}: the log cannot be read: {error.strerror}") from None
    note = f"[{skipped} earlier bytes left out]\n".encode() if skipped else b""
    return note + content


def _unfit(path: Path, why: str) -> StoreError:
    return StoreError(f"{path}: {why}; move the run's folder out of the store and measure again")
