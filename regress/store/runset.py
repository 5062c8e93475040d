"""The runs of all sides of one measurement, written together.

Launches that were measured together appear together: they are written aside in one file first,
so that a writer that is killed between two of them leaves a note of both. Where the store cannot
be written, they are kept in a spare folder. Whoever goes on with the measurement takes both in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regress.errors import RecordError, StoreError
from regress.record.codec import decode, encode
from regress.record.run import Launch, Manifest
from regress.store.files import publish
from regress.store.runs import launch_file, list_runs, read_manifest
from regress.store.writer import RunWriter, create_run, folder_name, reopen_run

PENDING = "regress.pending/1"
"""Schema of a file of launches that are on their way into the store."""

_NOTE = ".pending.json"


@dataclass(frozen=True, kw_only=True)
class Pending:
    """Launches that are on their way into the store."""

    launches: tuple[Launch, ...]
    """Each names its run."""


class RunSet:
    """Adds launches to the runs of a measurement, and closes them.

    A context manager: leaving it lets others write the runs.
    """

    def __init__(self, writers: Mapping[str, RunWriter], spare: Path) -> None:
        """Write these runs.

        Args:
            writers: By role.
            spare: Folder for launches that the store has no room for; need not exist.
        """
        self.writers = dict(writers)
        self._spare = spare

    def __enter__(self) -> RunSet:
        return self

    def __exit__(self, *exc: object) -> None:
        for writer in self.writers.values():
            writer.release()

    @property
    def plan(self) -> str:
        """The plan that all the runs are of, as JSON text."""
        return next(iter(self.writers.values())).manifest.plan

    @property
    def launches(self) -> int:
        """How many launches the runs hold."""
        return sum(len(writer.launches) for writer in self.writers.values())

    def add(self, launches: Sequence[Launch]) -> None:
        """Publish launches that were measured together.

        Raises:
            StoreError: They cannot be written into the store; the text says where they are kept.
        """
        note = self._note
        try:
            if len(launches) > 1:
                publish(note, encode(PENDING, Pending(launches=tuple(launches))))
            self._add_missing(launches)
            note.unlink(missing_ok=True)
        except StoreError as error:
            if not note.exists():
                self._save(launches, error)
            raise StoreError(
                f"{error}; nothing measured is lost: type the same command again to go on"
            ) from None

    def close(self) -> None:
        """Close the runs that are still open.

        Raises:
            StoreError: They cannot be written.
        """
        for writer in self.writers.values():
            if not writer.closed:
                writer.close()

    def recover(self) -> None:
        """Take in what an interrupted writer had measured and could not publish.

        Raises:
            StoreError: It cannot be read, or written into the store.
        """
        for file in (self._note, *sorted(self._spare.glob(f"{self._comparison}-*.json"))):
            if file.exists():
                self._add_missing(_read(file).launches)
                file.unlink()

    @property
    def _note(self) -> Path:
        return next(reversed(self.writers.values())).folder / _NOTE

    @property
    def _comparison(self) -> str:
        return next(iter(self.writers.values())).manifest.comparison

    def _add_missing(self, launches: Iterable[Launch]) -> None:
        by_run = {writer.manifest.run: writer for writer in self.writers.values()}
        for launch in launches:
            writer = by_run[launch.run]
            if launch_file(launch) not in map(launch_file, writer.launches):
                writer.add(launch)

    def _save(self, launches: Sequence[Launch], error: StoreError) -> None:
        first = launches[0]
        name = f"{self._comparison}-{first.run}-{launch_file(first)}"
        try:
            with contextlib.suppress(OSError):
                self._spare.mkdir(parents=True, exist_ok=True)
            publish(self._spare / name, encode(PENDING, Pending(launches=tuple(launches))))
        except StoreError:
            raise StoreError(
                f"{error}; nor can {self._spare}: the last launch is lost, all before it are kept"
            ) from None


def create(store: Path, manifests: Sequence[Manifest], spare: Path) -> RunSet:
    """Begin the runs of a measurement.

    Raises:
        StoreError: The store cannot be written.
    """
    return RunSet({manifest.role: create_run(store, manifest) for manifest in manifests}, spare)


def reopen(store: Path, manifests: Sequence[Manifest], spare: Path) -> RunSet | None:
    """Go on with the newest measurement of the same undertaking that was interrupted.

    Args:
        store: The store.
        manifests: As the runs would begin now.
        spare: See `RunSet`.

    Returns:
        The runs with all that was measured; ``None`` where there is nothing to go on with, or
        another process is at it.

    Raises:
        StoreError: A file of these runs cannot be read, or the store cannot be written.
    """
    for found in _interrupted(store, manifests[0]):
        writers: dict[str, RunWriter] = {}
        for manifest in manifests:
            began = replace(
                manifest,
                comparison=found.comparison,
                started=found.started,
                plan=found.plan,
                noise=found.noise,
            )
            folder = _folder_of(store, began)
            writer = create_run(store, began) if folder is None else reopen_run(folder)
            if writer is None:
                break
            writers[manifest.role] = writer
        runs = RunSet(writers, spare)
        if len(writers) == len(manifests):
            runs.recover()
            return runs
        runs.__exit__()
    return None


def _interrupted(store: Path, like: Manifest) -> Iterable[Manifest]:
    """The manifests of one run of each interrupted measurement of the same undertaking, newest first."""
    seen = set()
    for folder in reversed(list_runs(store, like.suite)):
        if (folder / "done.json").exists():
            continue
        with contextlib.suppress(StoreError):  # not a run of ours; `regress list` names it
            manifest = read_manifest(folder)
            if manifest.undertaking == like.undertaking and manifest.comparison not in seen:
                seen.add(manifest.comparison)
                yield manifest


def _folder_of(store: Path, like: Manifest) -> Path | None:
    """The run of the same measurement and role; ``None`` when it was never begun."""
    began = folder_name(like).partition("-")[0]
    for folder in list_runs(store, like.suite):
        if not folder.name.startswith(began):
            continue
        with contextlib.suppress(StoreError):
            manifest = read_manifest(folder)
            if (manifest.comparison, manifest.role) == (like.comparison, like.role):
                return folder
    return None


def _read(file: Path) -> Pending:
    try:
        return decode(PENDING, Pending, file.read_bytes())
    except (OSError, RecordError) as error:
        raise StoreError(f"{file}: cannot be read: {error}; move it away to go on without it") from None
