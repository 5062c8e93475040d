"""What a new user types in the first hour, in this order, without an edit."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.installation import Installation

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(600)]

QUICK = """\
benchmarks: [{name: NAME, world_size: [WORLD]}]
steps: {warmup: 2, burst: 2, turns: 3}
blocks: {count: 5, alone: 1}
policy: {min_change: 0.4, must_see: 0.95}
"""
"""Sees next to nothing, so that a busy machine does not decide; for what is about the way, not the answer."""


@dataclass(frozen=True, kw_only=True)
class User:
    """Types commands in a folder."""

    installation: Installation
    folder: Path

    def types(self, *arguments: str, status: int = 0, or_status: int | None = None) -> str:
        """Run a command, which must end with a status (or with another one); what it printed."""
        done = self.installation.regress(*arguments, folder=self.folder)
        _show(arguments, done)
        assert done.returncode in (status, or_status), (
            f"regress {' '.join(arguments)}: {done.stdout}{done.stderr}"
        )
        assert "Traceback" not in done.stdout + done.stderr
        return done.stdout

    def asks(self, *arguments: str) -> Any:
        """The answer of a command as JSON."""
        return json.loads(self.types(*arguments, "--json", "-"))

    def commits(self) -> None:
        self.installation.git("add", "--all", folder=self.folder)
        self.installation.git("commit", "--quiet", "--message", "Measure training", folder=self.folder)


def _show(arguments: tuple[str, ...], done: subprocess.CompletedProcess[str]) -> None:
    """Leave the hour's screen for whoever reads why this failed."""
    print(f"$ regress {' '.join(arguments)}\n{done.stdout}{done.stderr}[{done.returncode}]")


def test_the_first_hour(installation: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    user = User(installation=installation, folder=folder)
    installation.git("init", "--quiet", "--initial-branch", "main", folder=folder)

    assert "compare" in user.types("--help")
    assert user.types("doctor")
    user.types("init")
    user.commits()
    status = installation.git("status", "--porcelain", folder=folder).stdout
    assert status == ""

    user.types("run", "commit")  # the suite that init has written
    (stored,) = (folder / ".regress" / "store" / "commit").glob("*/done.json")
    run = stored.parent.name.rpartition("-")[2]
    listed = user.types("list")
    assert run in listed
    assert "commit" in listed

    user.types("report", run)
    user.types("baseline", "bless", run)
    assert run in user.types("baseline", "show")

    definition = user.asks("list")["benchmarks"][0]
    quick = QUICK.replace("NAME", definition["name"])
    quick = quick.replace("WORLD", str(min(definition["world_sizes"])))
    (folder / "configs" / "quick.yaml").write_text(quick)
    user.commits()
    files = ("--json", "answer.json", "--markdown", "answer.md")
    busy = 3  # a very busy machine cannot see even what this suite asks for, and says so
    user.types("compare", "HEAD", "WORKTREE", "--suite", "quick", *files, or_status=busy)
    answer = json.loads((folder / "answer.json").read_text())
    assert answer["exit_status"] in (0, busy)
    for each in answer["comparisons"]:
        if each["kind"] == "exact" and each["role"] == "gate":
            assert each["verdict"] == "unchanged"
        if each["metric"] == "step_s" and answer["exit_status"] == busy:
            assert each["verdict"] == "inconclusive"
            assert each["reason"].startswith(("blind", "mode")), each["reason"]
    assert (folder / "answer.md").read_text()
    (page,) = (folder / ".regress" / "reports").glob("quick-*.html")
    assert "</html>" in page.read_text()

    two = (answer["base"]["run"], answer["head"]["run"])
    again = user.types("report", *two, "--html", "again.html", or_status=busy)
    assert answer["verdict"] in again
    assert "</html>" in (folder / "again.html").read_text()
    user.types("compare", "HEAD", "NOWHERE", status=2)
