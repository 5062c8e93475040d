"""What the folder that a command is typed in belongs to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from regress.errors import RequestError
from regress.flows.workplace import Workplace
from regress.spec.side import CodeSide, StoredSide
from tests.flows.project import EQUAL, Fakes, git, measured

ENVIRONMENTS = """\
environments:
  other: {python: bin/python, variables: {B: "2", A: "1"}}
  missing: {python: nowhere/python}
"""


def test_the_project_is_found_from_a_folder_inside(project: Path) -> None:
    place = Workplace.around(project / "benchmarks")
    assert place.project.root == project
    assert place.suite("commit").file == project / "configs" / "commit.yaml"


def test_outside_of_git_sides_are_refused_for_that_reason(tmp_path: Path) -> None:
    place = Workplace.around(tmp_path)
    with pytest.raises(RequestError, match="not in the working tree of a git repository"):
        place.parse("HEAD")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("@nightly", "unknown environment 'nightly'"),
        ("-x", "starts with '-'"),
        ("run:00000000", "no stored run '00000000'"),
        ("x.csv", "not supported yet"),
        ("", "a side is empty"),
    ],
)
def test_outside_of_git_what_needs_none_is_refused_for_its_own_reason(
    tmp_path: Path, text: str, line: str
) -> None:
    with pytest.raises(RequestError, match=line):
        Workplace.around(tmp_path).parse(text)


def test_outside_of_git_stored_runs_are_found(project: Path, tmp_path: Path) -> None:
    answer = measured(project, Fakes(EQUAL))
    (project / ".regress").rename(tmp_path / ".regress")
    place = Workplace.around(tmp_path)
    assert place.repository is None
    assert place.parse(answer.base.run) == StoredSide(run=answer.base.run)
    assert place.stored(answer.base.run) == StoredSide(run=answer.base.run)


@pytest.mark.parametrize("text", ["nowhere", "x" * 5000, "HEAD", "00000000"])
def test_what_is_no_stored_run(project: Path, text: str) -> None:
    with pytest.raises(
        RequestError, match=r"is no stored run; `regress list` names those there are"
    ) as refused:
        Workplace.around(project).stored(text)
    assert len(str(refused.value)) < 200


def test_a_side_without_revision_runs_the_installed_code(project: Path) -> None:
    place = Workplace.around(project)
    side = place.prepare("base", "x", CodeSide(rev=None, environment=None), place.benchmarks("installed"))
    assert (side.code.path, side.code.python, side.revision) == ((), sys.executable, None)


def test_an_environment_is_its_interpreter_and_variables(project: Path) -> None:
    (project / "configs" / "project.yaml").write_text(ENVIRONMENTS)
    (project / "bin").mkdir()
    (project / "bin" / "python").symlink_to(sys.executable)
    place = Workplace.around(project)
    side = place.prepare("base", "x", CodeSide(rev="HEAD", environment="other"), project / "benchmarks")
    assert side.code.python == str(
        project / "bin" / "python"
    )  # the link itself: a virtual environment is one
    assert side.code.variables == (("A", "1"), ("B", "2"))
    assert side.revision is not None
    assert side.revision.commit == git(project, "rev-parse", "HEAD")


def test_an_environment_without_interpreter(project: Path) -> None:
    (project / "configs" / "project.yaml").write_text(ENVIRONMENTS)
    place = Workplace.around(project)
    with pytest.raises(RequestError, match=r"environment missing: no interpreter at .*nowhere/python"):
        place.prepare("base", "x", CodeSide(rev="HEAD", environment="missing"), project / "benchmarks")


def test_benchmarks_of_a_revision_that_has_none(project: Path) -> None:
    git(project, "rm", "-r", "--quiet", "benchmarks")
    git(project, "commit", "--quiet", "--message", "No benchmarks")
    place = Workplace.around(project)
    with pytest.raises(RequestError, match="HEAD has no folder benchmarks/"):
        place.benchmarks("HEAD")
    with pytest.raises(RequestError, match="WORKTREE has no folder benchmarks/"):
        place.benchmarks("WORKTREE")
    assert place.benchmarks("HEAD~1").is_dir()
