"""Two measurements never share what they measure on, however their owners end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from regress.errors import LaunchError
from regress.launch.lock import HostLock, measurements

HOLD = """
import sys, time
from regress.launch.lock import HostLock

with HostLock(60.0, print) as lock:
    lock.claim(sys.argv[2:])
    open(sys.argv[1], "w").close()
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGRESS_LOCKS", str(tmp_path / "locks"))
    return tmp_path / "locks"


@contextmanager
def holder(tmp_path: Path, *devices: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the host, or these devices."""
    ready = tmp_path / f"ready-{len(list(tmp_path.iterdir()))}"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(ready), *devices])
    try:
        limit = time.monotonic() + 30
        while not ready.exists():
            assert process.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.wait()


def claimed(*devices: str, wait_s: float = 0.0) -> list[str]:
    """Take and let go of a claim; returns for whom it had to wait."""
    told: list[str] = []
    with HostLock(wait_s, told.append) as lock:
        lock.claim(devices)
    return told


def test_a_free_host_is_claimed_at_once() -> None:
    assert claimed() == []
    assert claimed("GPU-1", "GPU-2") == []


def test_the_second_waits_says_for_whom_and_then_measures(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        told: list[str] = []

        def hear(text: str) -> None:
            told.append(text)
            process.send_signal(signal.SIGKILL)  # its lock ends with it

        with HostLock(30.0, hear) as lock:
            lock.claim([])
    assert len(told) == 1
    assert told[0].startswith(f"waiting for process {process.pid} (-c ")
    assert told[0].endswith(", which measures on this host")


def test_who_waits_too_long_says_for_whom(tmp_path: Path) -> None:
    with holder(tmp_path) as process, pytest.raises(LaunchError) as refused:
        claimed(wait_s=0.1)
    assert f"process {process.pid} (-c " in str(refused.value)
    assert str(refused.value).endswith(
        "measures on this host, and did not end within 0 s; try again later, or wait longer with --wait"
    )


@pytest.mark.parametrize(
    ("theirs", "ours", "free"),
    [
        (["GPU-1"], ["GPU-2"], True),
        (["GPU-1", "GPU-2"], ["GPU-2", "GPU-3"], False),
        (["GPU-1"], [], False),
        ([], ["GPU-1"], False),
        ([], [], False),
    ],
)
def test_who_shares_what(tmp_path: Path, theirs: list[str], ours: list[str], free: bool) -> None:
    with holder(tmp_path, *theirs), ExitStack() as stack:
        if not free:
            stack.enter_context(pytest.raises(LaunchError, match="did not end within"))
        claimed(*ours)
    claimed(*ours)


def test_two_that_read_their_benchmarks_do_not_wait_for_each_other() -> None:
    told: list[str] = []
    with HostLock(0.0, told.append) as one:
        with HostLock(0.0, told.append):
            pass  # it shares the host
        one.claim([])
        with pytest.raises(LaunchError), HostLock(0.0, told.append):
            pass  # from now on it does not


def test_what_an_ended_owner_wrote_means_nothing(tmp_path: Path, locks: Path) -> None:
    with holder(tmp_path):
        pass
    assert (locks / "host.lock").read_text() != ""
    assert claimed() == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', "\x00" * 5000])
def test_an_owner_that_cannot_be_read_is_another_process(tmp_path: Path, locks: Path, text: str) -> None:
    with holder(tmp_path):
        (locks / "host.lock").write_text(text)
        with pytest.raises(LaunchError, match=r"^another process measures on this host"):
            claimed()


def test_an_owner_cannot_write_to_our_terminal(tmp_path: Path, locks: Path) -> None:
    with holder(tmp_path):
        text = '{"pid": 1, "command": "\\u001b[2J\\n", "user": "x", "since": "now"}'
        (locks / "host.lock").write_text(text)
        with pytest.raises(
            LaunchError, match=r"^process 1 \(\?\[2J\?\) of x, since now measures on this host"
        ):
            claimed()


def test_a_link_in_the_shared_folder_is_not_followed(tmp_path: Path, locks: Path) -> None:
    locks.mkdir()
    (locks / "host.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(LaunchError, match=r"host\.lock: cannot be locked"):
        claimed()
    assert not (tmp_path / "victim").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("REGRESS_LOCKS", str(tmp_path / "file" / "locks"))
    with pytest.raises(LaunchError, match="name a folder for locks with REGRESS_LOCKS"):
        claimed()


def test_every_user_may_lock(locks: Path) -> None:
    claimed("GPU-1")
    assert locks.stat().st_mode & 0o7777 == 0o1777
    assert {path.stat().st_mode & 0o777 for path in locks.iterdir()} == {0o666}


def test_a_device_cannot_name_a_file_elsewhere(tmp_path: Path, locks: Path) -> None:
    claimed("../../x")
    assert sorted(path.name for path in locks.iterdir()) == ["gpu-______x.lock", "host.lock"]


def test_who_measures_is_told(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        (told,) = measurements()
    assert told.startswith(f"process {process.pid} (-c ")
    assert told.endswith(", measures on this host")


def test_who_measures_on_which_gpu_is_told(tmp_path: Path) -> None:
    with holder(tmp_path, "GPU-1") as one, holder(tmp_path, "GPU-2") as two:
        told = measurements()
    assert [text.split(" (")[0] for text in told] == [f"process {one.pid}", f"process {two.pid}"]
    assert [text.rpartition(", ")[2] for text in told] == [f"measures on gpu GPU-{n}" for n in (1, 2)]


def test_where_nobody_measures_nothing_is_told_and_nothing_made(locks: Path) -> None:
    assert measurements() == ()
    assert not locks.exists()
    claimed("GPU-1")
    assert measurements() == ()


def test_what_is_no_lock_is_not_asked(tmp_path: Path, locks: Path) -> None:
    with holder(tmp_path) as process:
        for name in ("a", "b"):
            (locks / f"{name}.lock").symlink_to(locks / "host.lock")
        os.mkfifo(locks / "c.lock")
        (locks / "d.lock").mkdir()
        (told,) = measurements()
    assert f"process {process.pid} " in told


def test_to_ask_who_measures_takes_no_lock_for_longer(tmp_path: Path) -> None:
    claimed()
    with HostLock(0.0, print) as lock:
        for _ in range(3):
            assert measurements() == ()
        lock.claim([])


def test_locks_are_not_handed_on_to_children(tmp_path: Path) -> None:
    with HostLock(0.0, print) as lock:
        lock.claim([])
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        assert claimed() == []
    finally:
        child.kill()
        child.wait()
