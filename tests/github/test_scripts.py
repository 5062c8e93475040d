"""The scripts of the workflows, run as they stand in a throw-away repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.flows.project import git
from tests.github.test_workflows import ROOT

SCRIPTS = ROOT / ".github" / "scripts"
ZEROS = "0" * 40


def run(folder: Path, name: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT", "REGRESS"))}
    return subprocess.run(
        [SCRIPTS / name, *arguments],
        cwd=folder,
        env=kept | variables,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def commit(folder: Path, message: str, date: str = "") -> str:
    (folder / "file").write_text(message)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", message)
    if date:
        amend = ["git", "-C", str(folder), "commit", "--quiet", "--amend", "--no-edit", "--date", date]
        who = {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@localhost", "GIT_COMMITTER_DATE": date}
        subprocess.run(amend, env=os.environ | who, check=True)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch", "main", "repository")
    return tmp_path / "repository"


def base(folder: Path, event: str, before: str) -> str:
    done = run(folder, "base.sh", EVENT=event, BEFORE=before)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_push_is_compared_with_what_stood_there_before(repository: Path) -> None:
    first, _, _ = (commit(repository, name) for name in "abc")
    assert base(repository, "push", first) == first


@pytest.mark.parametrize("before", [ZEROS, "", "f" * 40, "HEAD", "--help", "$(touch pwned)"])
def test_a_push_without_a_usable_before_is_compared_with_its_parent(repository: Path, before: str) -> None:
    """A new branch, no push at all, a forced push that dropped the commit, and nonsense."""
    _, second, _ = (commit(repository, name) for name in "abc")
    assert base(repository, "push", before) == second
    assert not (repository / "pwned").exists()


def test_a_pull_request_is_compared_with_what_it_is_merged_into(repository: Path) -> None:
    root = commit(repository, "a")
    git(repository, "checkout", "--quiet", "-b", "change")
    (repository / "other").write_text("b")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "b")
    git(repository, "checkout", "--quiet", "main")
    target = commit(repository, "c")
    git(repository, "merge", "--quiet", "--no-ff", "--message", "merge", "change")
    assert base(repository, "pull_request", root) == target


@pytest.mark.parametrize("event", ["push", "pull_request"])
def test_a_first_commit_has_nothing_to_be_compared_with(repository: Path, event: str) -> None:
    commit(repository, "a")
    done = run(repository, "base.sh", EVENT=event, BEFORE=ZEROS)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "HEAD is the first commit: there is nothing to compare it with\n"


def test_the_day_before_is_the_newest_commit_that_is_a_day_old(repository: Path) -> None:
    commit(repository, "a", "2026-01-01T00:00:00Z")
    yesterday = commit(repository, "b", "2026-01-02T00:00:00Z")
    commit(repository, "c")
    assert run(repository, "day-before.sh").stdout.strip() == yesterday


def test_in_a_young_repository_the_day_before_is_its_first_commit(repository: Path) -> None:
    first, _ = (commit(repository, name) for name in "ab")
    assert run(repository, "day-before.sh").stdout.strip() == first


def test_when_nothing_came_in_the_day_before_is_today(repository: Path) -> None:
    head = commit(repository, "a", "2026-01-01T00:00:00Z")
    assert run(repository, "day-before.sh").stdout.strip() == head


def stand_in(folder: Path, status: int, *, answers: bool) -> Path:
    """A command that ends like ours, and writes its arguments as the summary."""
    program = folder / "stand-in"
    answer = 'for name in "$@"; do last=$name; done; echo "$@" >"$last"' if answers else ":"
    program.write_text(f"#!/bin/sh\n{answer}\nexit {status}\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("status", [0, 1, 2, 3, 4, 130])
def test_the_job_ends_as_the_verdict_says(tmp_path: Path, status: int) -> None:
    page = tmp_path / "page"
    page.write_text("before\n")
    done = run(
        tmp_path,
        "compare.sh", "0123", "HEAD", "out/answer",
        REGRESS=str(stand_in(tmp_path, status, answers=True)),
        GITHUB_STEP_SUMMARY=str(page),
    )  # fmt: skip
    assert done.returncode == status
    assert ("::error::" in done.stdout) == (status != 0)
    assert page.read_text() == (
        "before\ncompare 0123 HEAD --json out/answer/comparison.json "
        "--html out/answer/report.html --markdown out/answer/summary.md\n"
    )


@pytest.mark.parametrize(("status", "ends"), [(0, 3), (2, 2), (3, 3), (139, 139)])
def test_without_an_answer_the_job_is_never_green(tmp_path: Path, status: int, ends: int) -> None:
    page, out = tmp_path / "page", tmp_path / "out"
    out.mkdir()
    (out / "summary.md").write_text("of an earlier try\n")
    regress = str(stand_in(tmp_path, status, answers=False))
    done = run(tmp_path, "compare.sh", "a", "b", "out", REGRESS=regress, GITHUB_STEP_SUMMARY=str(page))
    assert done.returncode == ends
    assert page.read_text() == f"No answer: regress ended with status {status}; the log says why.\n"


def test_a_command_that_is_missing_fails_the_job(tmp_path: Path) -> None:
    assert run(tmp_path, "compare.sh", "a", "b", "out", REGRESS="./none").returncode == 127
