"""Launches that were measured together appear together, whenever their writer dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regress.errors import StoreError
from regress.record.run import Launch, Manifest
from regress.store import files, runset
from regress.store.runs import read_run
from regress.store.runset import RunSet
from regress.store.writer import reopen_run
from tests.store.test_runs import MANIFEST, launch

BASE = replace(MANIFEST, undertaking="the same")
HEAD = replace(BASE, run="1badcafe", role="head", commit="f" * 40)
SIDES = (BASE, HEAD)


def again(*manifests: Manifest) -> list[Manifest]:
    """As the same command would begin them at another time."""
    return [
        replace(each, run=f"2{each.run[1:]}", comparison="other", started="2024-02-01T00:00:00+00:00")
        for each in manifests
    ]


def both(block: int) -> list[Launch]:
    return [launch(block, run=side.run) for side in SIDES]


def begun(tmp_path: Path, manifests: Sequence[Manifest] = SIDES) -> RunSet:
    return runset.create(tmp_path / "store", manifests, tmp_path / "spare")


def reopened(tmp_path: Path, manifests: Sequence[Manifest] = SIDES) -> RunSet | None:
    return runset.reopen(tmp_path / "store", again(*manifests), tmp_path / "spare")


def blocks(runs: RunSet) -> dict[str, list[int]]:
    return {role: [each.block for each in writer.launches] for role, writer in runs.writers.items()}


def test_what_was_interrupted_goes_on_as_what_it_was(tmp_path: Path) -> None:
    with begun(tmp_path) as runs:
        runs.add(both(0))
    resumed = reopened(tmp_path)
    assert resumed is not None
    assert blocks(resumed) == {"base": [0], "head": [0]}
    assert resumed.launches == 2
    assert [writer.manifest for writer in resumed.writers.values()] == [BASE, HEAD]
    resumed.add(both(1))
    resumed.close()
    for writer in resumed.writers.values():
        kept = read_run(writer.folder)
        assert kept.complete
        assert [each.block for each in kept.launches] == [0, 1]
    assert reopened(tmp_path) is None


def test_another_undertaking_begins_anew(tmp_path: Path) -> None:
    with begun(tmp_path) as runs:
        runs.add(both(0))
    assert reopened(tmp_path, [replace(side, undertaking="other") for side in SIDES]) is None
    assert reopened(tmp_path, [replace(side, suite="other") for side in SIDES]) is None


def test_what_somebody_is_writing_is_left_alone(tmp_path: Path) -> None:
    with begun(tmp_path):
        assert reopened(tmp_path) is None
    with begun(tmp_path, again(*SIDES)):  # the older one is free, and goes on
        resumed = reopened(tmp_path)
        assert resumed is not None
        assert resumed.writers["base"].manifest == BASE
        resumed.__exit__()


def test_the_newest_goes_on(tmp_path: Path) -> None:
    with begun(tmp_path), begun(tmp_path, again(*SIDES)):
        pass
    resumed = reopened(tmp_path)
    assert resumed is not None
    assert resumed.writers["base"].manifest.comparison == "other"


def test_a_run_that_was_never_begun_is_begun(tmp_path: Path) -> None:
    with begun(tmp_path, [BASE]):
        pass
    resumed = reopened(tmp_path)
    assert resumed is not None
    head = resumed.writers["head"].manifest
    assert (head.comparison, head.started, head.plan) == (BASE.comparison, BASE.started, BASE.plan)
    assert (head.role, head.commit) == ("head", HEAD.commit)
    assert len(list((tmp_path / "store" / "commit").iterdir())) == 2


def test_a_side_that_was_closed_stays_closed(tmp_path: Path) -> None:
    runs = begun(tmp_path)
    runs.add(both(0))
    runs.writers["base"].close()
    runs.__exit__()
    resumed = reopened(tmp_path)
    assert resumed is not None
    resumed.close()
    assert all(read_run(writer.folder).complete for writer in resumed.writers.values())


def killed_at(step: int, deed: Any) -> bool:
    """Do something in a child that is killed before the given change of a folder; whether it was."""
    child = os.fork()
    if child == 0:
        done = 0
        for name in ("link", "rename", "mkdir", "unlink"):
            real = getattr(os, name)

            def counted(*arguments: Any, real: Any = real, **options: Any) -> Any:
                nonlocal done
                done += 1
                if done > step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*arguments, **options)

            setattr(os, name, counted)
        try:
            deed()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_writer_killed_at_any_step_loses_and_halves_nothing(tmp_path: Path) -> None:
    step = 0
    while True:
        folder = tmp_path / str(step)

        def deed(folder: Path = folder) -> None:
            runs = begun(folder)
            runs.add(both(0))
            runs.add(both(1))
            runs.close()

        killed = killed_at(step, deed)
        resumed = reopened(folder)
        if not killed:
            assert resumed is None
            break
        if resumed is None and list((folder / "store").glob("*/*/done.json")):
            assert all(read_run(file.parent).complete for file in (folder / "store").glob("*/*/plan.json"))
            step += 1
            continue
        if resumed is None:
            resumed = begun(folder)
        held = blocks(resumed)
        assert held["base"] == held["head"]
        for block in {0, 1} - set(held["base"]):
            runs = {role: writer.manifest.run for role, writer in resumed.writers.items()}
            resumed.add([launch(block, run=run) for run in runs.values()])
        resumed.close()
        for writer in resumed.writers.values():
            assert [each.block for each in read_run(writer.folder).launches] == [0, 1]
        step += 1
    assert step > 15  # changes of folders that the whole takes


def fail(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Have nothing published below these folders, as if they were full."""
    real = files.publish

    def publish(path: Path, content: bytes) -> None:
        if any(path.is_relative_to(folder) for folder in folders):
            raise StoreError(f"{path}: cannot be written: No space left on device")
        real(path, content)

    monkeypatch.setattr("regress.store.runset.publish", publish)
    monkeypatch.setattr("regress.store.writer.publish", publish)


@pytest.mark.parametrize("sides", [1, 2])
def test_what_a_full_store_has_no_room_for_is_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sides: int
) -> None:
    with begun(tmp_path) as runs, monkeypatch.context() as full:
        fail(full, tmp_path / "store")
        with pytest.raises(StoreError, match=r"No space left.*; nothing measured is lost: type the same"):
            runs.add(both(0)[:sides])
    resumed = reopened(tmp_path)
    assert resumed is not None
    assert blocks(resumed) == {"base": [0], "head": [0] * (sides - 1)}
    assert list((tmp_path / "spare").iterdir()) == []


def test_where_nothing_has_room_the_loss_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with begun(tmp_path) as runs:
        fail(monkeypatch, tmp_path)
        with pytest.raises(StoreError, match=r"spare: the last launch is lost, all before it are kept"):
            runs.add(both(0))


def test_a_damaged_note_is_named(tmp_path: Path) -> None:
    with begun(tmp_path) as runs:
        runs.add(both(0))
    note = runs.writers["head"].folder / ".pending.json"
    note.write_text("{")
    with pytest.raises(StoreError, match=r"\.pending\.json: cannot be read: not JSON"):
        reopened(tmp_path)


def test_a_damaged_launch_is_named_and_nothing_goes_on(tmp_path: Path) -> None:
    with begun(tmp_path) as runs:
        runs.add(both(0))
    (runs.writers["base"].folder / "launch-0-w2-0.json").write_text("{}")
    with pytest.raises(StoreError, match=r"launch-0-w2-0\.json: not a record"):
        reopened(tmp_path)
    assert reopen_run(runs.writers["head"].folder) is not None  # its lock was let go
