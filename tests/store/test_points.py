"""Runs in brief, and the cache that they are read through."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from regress.errors import StoreError
from regress.flows.points import brief
from regress.record.points import RunPoints
from regress.record.run import Run
from regress.store.points import read_points
from regress.store.runs import list_runs
from tests.flows.kept import keep


class Counted:
    """Makes runs brief, and counts how often it did."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, run: Run) -> RunPoints:
        self.times += 1
        return brief(run)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A complete run of two launches."""
    keep(tmp_path, "c" * 40, [0.010, 0.011], day=0)
    return list_runs(tmp_path / ".regress" / "store")[0]


def test_a_run_is_read_once(folder: Path, tmp_path: Path) -> None:
    counted = Counted()
    first = read_points(folder, tmp_path / "cache", counted)
    assert read_points(folder, tmp_path / "cache", counted) == first
    assert counted.times == 1
    assert first.benchmarks[0].metrics[0].launches == 2


def test_a_file_that_was_touched_is_checked_again(folder: Path, tmp_path: Path) -> None:
    read_points(folder, tmp_path / "cache", brief)
    launch = folder / "launch-1-w2-0.json"
    before = launch.stat()
    damaged = launch.read_bytes().replace(b"0.011", b"0.012")
    launch.write_bytes(damaged)
    os.utime(launch, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(StoreError, match="launch-1-w2-0"):
        read_points(folder, tmp_path / "cache", brief)


def test_a_file_that_is_missing_or_too_many_is_seen(folder: Path, tmp_path: Path) -> None:
    read_points(folder, tmp_path / "cache", brief)
    stranger = folder / "launch-9-w2-0.json"
    stranger.write_bytes((folder / "launch-1-w2-0.json").read_bytes())
    with pytest.raises(StoreError):
        read_points(folder, tmp_path / "cache", brief)
    stranger.unlink()
    (folder / "launch-1-w2-0.json").unlink()
    with pytest.raises(StoreError):
        read_points(folder, tmp_path / "cache", brief)


def test_an_open_run_is_read_each_time(tmp_path: Path) -> None:
    keep(tmp_path, "c" * 40, [0.010], day=0, close=False)
    counted = Counted()
    for _ in range(2):
        assert not read_points(
            list_runs(tmp_path / ".regress" / "store")[0], tmp_path / "c", counted
        ).complete
    assert counted.times == 2
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"schema": "regress.points/0"}'])
def test_a_cache_that_cannot_be_read_is_made_again(folder: Path, tmp_path: Path, content: bytes) -> None:
    first = read_points(folder, tmp_path / "cache", brief)
    (kept,) = (tmp_path / "cache" / "points").iterdir()
    kept.write_bytes(content)
    assert read_points(folder, tmp_path / "cache", brief) == first
    assert kept.read_bytes() != content


def test_a_cache_that_cannot_be_written_is_no_matter(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    assert read_points(folder, tmp_path / "cache", brief).complete
