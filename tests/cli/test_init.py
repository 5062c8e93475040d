"""`regress init`, as a user types it."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from regress.cli.main import run
from regress.flows.listing import listing
from regress.flows.workplace import Workplace
from tests.flows.project import git


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch", "main")
    monkeypatch.chdir(root)
    monkeypatch.setenv("REGRESS_CACHE", str(tmp_path / "cache"))
    return root


def test_it_says_what_it_wrote_and_what_to_type_next(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"wrote into {repository} (the root of the repository):"
    assert [line.split()[0] for line in lines[1:5]] == [
        "benchmarks/train.py", "configs/commit.yaml", "configs/project.yaml", ".gitignore",
    ]  # fmt: skip
    assert lines[5] == "next:"
    add, measure, compare = (line.strip() for line in lines[6:])
    assert (measure, compare) == ("regress run commit", "regress compare HEAD WORKTREE")
    subprocess.run(shlex.split(add.partition(" && ")[0]), check=True)
    git(repository, "commit", "--quiet", "--message", "x")
    assert git(repository, "status", "--porcelain") == ""


def test_elsewhere_it_says_where(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository.parent)
    (repository / "inner").mkdir()
    assert run(["init", "repository/inner"]) == 0
    assert f"next, in {repository}:" in capsys.readouterr().out


def test_without_git_it_says_that_compare_needs_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "bench_\x1b[31m.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert run(["init"]) == 0
    out = capsys.readouterr().out
    assert "(no git repository)" in out
    assert "`regress compare` needs a repository" in out
    assert "holds other files too (bench_.py)" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("arguments", "there", "line"),
    [
        (["nowhere"], None, "'nowhere' is no folder; make it first, or name another"),
        (["a", "b"], None, "unrecognized arguments: b (`regress init --help` says more)"),
        (["--force"], None, "unrecognized arguments: --force (`regress init --help` says more)"),
        (["a\x1b[2J"], None, "'a\\x1b[2J' is no folder; make it first, or name another"),
        ([], "benchmarks/train.py",
         "{root}/benchmarks/train.py is there already and stays as it is; move it away to begin anew"),
        ([], "configs/project.yaml",
         "{root}/configs/project.yaml is there already and stays as it is; move it away to begin anew"),
        ([], "configs", "{root}/configs is no folder, and commit.yaml belongs there; move it away"),
        ([], ".gitignore/x",
         "{root}/.gitignore is no plain file, and a line belongs into it; nothing was written"),
        (["x"], "x", "'x' is no folder; make it first, or name another"),
    ],
    ids=str,
)  # fmt: skip
def test_refusals(
    repository: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], there: str | None, line: str
) -> None:
    if there is not None:
        (repository / there).parent.mkdir(exist_ok=True)
        (repository / there).write_text("mine\n")
    before = git(repository, "status", "--porcelain", "--untracked-files=all")
    assert run(["init", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"regress: {line.replace('{root}', str(repository))}\n"
    assert git(repository, "status", "--porcelain", "--untracked-files=all") == before


def test_a_repository_that_git_cannot_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    monkeypatch.chdir(tmp_path)
    assert run(["init"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"regress: git cannot use the repository around {tmp_path}: ")
    assert len(error.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [".git"]


@pytest.mark.torch
def test_the_benchmark_can_be_imported(repository: Path) -> None:
    """That it runs too is part of the first hour."""
    assert run(["init"]) == 0
    found = listing(Workplace.around(repository), None)
    assert [benchmark.name for benchmark in found.benchmarks] == ["train"]
    assert found.failures == ()
    assert found.unreadable == ()
