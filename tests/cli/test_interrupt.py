"""A comparison that is interrupted, and one that waits for another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import regress
from regress.cli import main
from tests.cli import slow_compare
from tests.flows.project import stored_runs


@pytest.mark.parametrize("quiet", [True, False])
def test_interrupted_in_one_line_and_launches_kept(project: Path, tmp_path: Path, quiet: bool) -> None:
    reached = tmp_path / "reached"
    arguments = ["compare", "HEAD~1", "HEAD", *(["--quiet"] if quiet else [])]
    process = started(project, reached, *arguments)
    await_block(reached, process)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    *progress, last = errors.splitlines()
    assert last == "regress: interrupted; launches that had ended are kept, and the same command goes on"
    assert all(line.startswith("regress: ") for line in progress)
    assert bool(progress) is not quiet
    for kept in stored_runs(project):
        assert [launch.block for launch in kept.launches] == list(range(slow_compare.LAST))
        assert not kept.complete


def test_what_measures_nothing_promises_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("regress.flows.listing.listing", interrupted)
    assert main.run(["list"]) == main.INTERRUPTED
    assert capsys.readouterr().err == "regress: interrupted\n"


def test_the_second_waits_says_for_whom_then_goes_on(project: Path, tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    arguments = ("compare", "HEAD~1", "HEAD")
    first = started(project, reached, *arguments)
    await_block(reached, first)
    second = started(project, reached, *arguments)
    assert second.stderr is not None
    waiting = second.stderr.readline()
    assert waiting.startswith(f"regress: waiting for process {first.pid} (slow_compare.py ")
    assert "compare 'HEAD~1' HEAD) of " in waiting
    assert second.poll() is None
    first.kill()
    first.communicate(timeout=30)
    out, errors = second.communicate(timeout=60)
    assert second.returncode == 0, errors
    assert out.startswith("= unchanged")
    assert f"going on where an interrupted measurement stopped: {2 * slow_compare.LAST} launches" in errors
    base, head = stored_runs(project)
    assert base.complete
    assert head.complete


def started(project: Path, reached: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", slow_compare.__name__, str(reached), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(Path(regress.__file__).parent.parent)},
    )


def await_block(reached: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not reached.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert reached.exists()
