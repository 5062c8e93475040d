"""Writing runs: launches are added one by one, and the run is closed.

A run that was not closed can be opened again and goes on. Whoever writes a run holds a lock on
its folder, so that two processes never write one run.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

from regress.errors import StoreError
from regress.record.codec import encode
from regress.record.run import RUN_ID, SUITE_NAME, Launch, Manifest
from regress.store.files import publish, publish_folder, unwritable
from regress.store.runs import DONE, LAUNCH, LAUNCH_FILE, MANIFEST, Done, LaunchFile, launch_file, read_run

LOG_BYTES = 16 << 20
"""Of a longer log the end is kept."""

_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_LOG_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,=+\[\]-]{0,199}")


class RunWriter:
    """Adds launches to a run, and closes it."""

    folder: Path
    """Of the run."""

    manifest: Manifest
    """What it is of."""

    closed: bool
    """Whether it is complete: then nothing is added any more."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        lock: int,
        launches: Iterable[Launch] = (),
        closed: bool = False,
    ) -> None:
        """Take over a run.

        Args:
            folder: Where it lies.
            manifest: What it is of.
            lock: A descriptor that holds the lock on the folder.
            launches: Those that it holds already.
            closed: Whether it is complete.
        """
        self.folder = folder
        self.manifest = manifest
        self.closed = closed
        self._lock: int | None = lock
        self._launches = {launch_file(launch): launch for launch in launches}
        self._digests = {name: _digest(folder / name) for name in self._launches}

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All launches that the run holds, in the order in which they came."""
        return tuple(self._launches.values())

    def add(self, launch: Launch) -> None:
        """Publish a launch: from now on every reader sees it.

        Raises:
            StoreError: It belongs to another run, is there already, or cannot be written.
        """
        self._refuse_when_closed()
        name = launch_file(launch)
        if launch.run != self.manifest.run or not LAUNCH_FILE.fullmatch(name):
            raise StoreError(f"{self.folder / name}: a launch of run {launch.run!r:.80} has no place here")
        content = encode(LAUNCH, launch)
        publish(self.folder / name, content)
        self._launches[name] = launch
        self._digests[name] = hashlib.sha256(content).hexdigest()

    def keep_log(self, source: Path, name: str) -> str:
        """Copy a log, or its last `LOG_BYTES`, into the run.

        Args:
            source: The file to copy.
            name: Relative to ``logs/``, for example ``launch-3-w2-0/rank-1.log``. Where an
                interrupted writer left another log of that name, a number is put behind it.

        Returns:
            Its path relative to the run's folder, as `Outcome.log` has it.

        Raises:
            StoreError: The name leads elsewhere, or a file cannot be read or written.
        """
        self._refuse_when_closed()
        if not all(_LOG_PART.fullmatch(part) for part in name.split("/")):
            raise StoreError(
                f"{name!r:.80} cannot name a log; use letters, digits and '_.,=+[]-' between '/'"
            )
        content = _end_of(source)
        path = self.folder / "logs" / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            number = 1
            while path.exists() and path.read_bytes() != content:
                number += 1
                path = path.with_name(f"{Path(name).name}.{number}")
        except OSError as error:
            raise unwritable(path, error) from None
        if not path.exists():
            publish(path, content)
        return str(path.relative_to(self.folder))

    def close(self) -> None:
        """Close the run: it is complete, and nothing is added any more.

        Raises:
            StoreError: It is closed already, or cannot be written.
        """
        self._refuse_when_closed()
        files = tuple(LaunchFile(name=name, sha256=digest) for name, digest in sorted(self._digests.items()))
        publish(self.folder / "done.json", encode(DONE, Done(run=self.manifest.run, launches=files)))
        self.closed = True
        self.release()

    def release(self) -> None:
        """Let others write the run; may be called again."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _refuse_when_closed(self) -> None:
        if self.closed:
            raise StoreError(f"{self.folder}: the run is closed, and closed runs never change")


def create_run(store: Path, manifest: Manifest) -> RunWriter:
    """Begin a run: its folder appears with its manifest in it.

    Raises:
        StoreError: The run exists, a name in the manifest cannot name a folder, or the store
            cannot be written.
    """
    folder = store / manifest.suite / folder_name(manifest)
    fresh = not store.exists()
    publish_folder(folder, "plan.json", encode(MANIFEST, manifest))
    if fresh and ".regress" in store.absolute().parts:
        _keep_out_of_git(store)
    lock = _lock(folder)
    if lock is None:
        raise StoreError(f"{folder}: another process has begun to write this run")
    return RunWriter(folder, manifest, lock)


def reopen_run(folder: Path) -> RunWriter | None:
    """Go on with a run; one that is complete comes back closed.

    Returns:
        ``None`` while another process writes it.

    Raises:
        StoreError: It is no run, or a file in it is damaged, foreign or missing; it is named.
    """
    lock = _lock(folder)
    if lock is None:
        return None
    try:
        run = read_run(folder)
        return RunWriter(folder, run.manifest, lock, run.launches, run.complete)
    except StoreError:
        os.close(lock)
        raise


def _lock(folder: Path) -> int | None:
    """Lock a folder, without waiting; ``None`` when another process has it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (
            errno.ENOTSUP,
            errno.ENOLCK,
        ):  # a file system without locks: files never replace others
            return descriptor
        os.close(descriptor)
        return None
    return descriptor


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from None


def _keep_out_of_git(store: Path) -> None:
    try:
        (store / ".gitignore").write_text("*\n")
    except OSError as error:
        raise unwritable(store / ".gitignore", error) from None


def folder_name(manifest: Manifest) -> str:
    """Name of the folder of a run, which begins with the time at which it was begun.

    Raises:
        StoreError: Something in the manifest cannot be part of a name.
    """
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
