from __future__ import annotations

import ast
import os
import stat
from pathlib import Path

import pytest

from regress.errors import RegressError, RequestError
from regress.flows import init
from regress.flows.init import begin, ranks_here
from regress.record.quota import Quota
from regress.spec.load import load_project, load_suite
from tests.flows.project import git

FILES = ("benchmarks/train.py", "configs/commit.yaml", "configs/project.yaml")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch", "main")
    return root


def tree(root: Path) -> dict[str, bytes | None]:
    """All that lies below a folder, but git's own files."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
        if ".git" not in path.relative_to(root).parts
    }


def test_what_is_written_is_right_and_all_there_is(repository: Path) -> None:
    beginning = begin(repository)
    assert beginning.root == repository
    assert beginning.in_repository
    assert beginning.written == (*FILES, ".gitignore")
    assert {name for name, content in tree(repository).items() if content is not None} == {
        *FILES,
        ".gitignore",
    }
    assert load_suite(repository / "configs" / "commit.yaml").suite.benchmarks[0].world_size == [
        beginning.world_size
    ]
    load_project(repository)
    ast.parse((repository / "benchmarks" / "train.py").read_text())
    assert not any("$" in (repository / name).read_text() for name in FILES)
    assert max(len(line) for name in FILES for line in (repository / name).read_text().splitlines()) <= 110


def test_the_documented_values_are_the_defaults(repository: Path, tmp_path: Path) -> None:
    begin(repository)
    assert load_project(repository).project == load_project(tmp_path).project


def test_from_a_subfolder_it_goes_where_the_project_is_looked_for(repository: Path) -> None:
    inner = repository / "src" / "deep"
    inner.mkdir(parents=True)
    assert begin(inner).root == repository
    assert (repository / "benchmarks" / "train.py").exists()
    assert list(inner.iterdir()) == []


def test_without_git_it_goes_into_the_folder(tmp_path: Path) -> None:
    beginning = begin(tmp_path)
    assert (beginning.root, beginning.in_repository) == (tmp_path, False)


def test_without_a_program_git_it_goes_into_the_folder(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = repository / "inner"
    inner.mkdir()
    monkeypatch.setenv("PATH", "/nowhere")
    assert begin(inner).root == inner


@pytest.mark.parametrize("name", FILES)
def test_what_is_there_stays_and_nothing_else_is_written(repository: Path, name: str) -> None:
    (repository / name).parent.mkdir()
    (repository / name).write_text("mine\n")
    before = tree(repository)
    with pytest.raises(RequestError, match="is there already") as refusal:
        begin(repository)
    assert str(repository / name) in str(refusal.value)
    assert tree(repository) == before


def test_a_dangling_link_is_there_already(repository: Path) -> None:
    (repository / "configs").mkdir()
    (repository / "configs" / "commit.yaml").symlink_to("nowhere")
    with pytest.raises(RequestError, match=r"commit\.yaml is there already"):
        begin(repository)


@pytest.mark.parametrize("name", ["configs", "benchmarks"])
def test_a_file_where_a_folder_belongs(repository: Path, name: str) -> None:
    (repository / name).write_text("")
    with pytest.raises(RequestError, match=f"{name} is no folder"):
        begin(repository)
    assert tree(repository) == {name: b""}


def test_a_write_that_fails_midway_leaves_nothing(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "configs").mkdir()
    before, link = tree(repository), os.link

    def full(source: Path, target: Path) -> None:
        if target.name == "project.yaml":
            raise OSError(28, "No space left on device")
        link(source, target)

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(RegressError, match=r"project\.yaml: cannot be written: No space left") as failure:
        begin(repository)
    assert failure.value.exit_status == 3
    assert tree(repository) == before


@pytest.mark.parametrize("end", [KeyboardInterrupt, OSError(30, "Read-only file system")])
def test_an_interruption_before_the_last_file_leaves_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException | type[BaseException]
) -> None:
    (repository / ".gitignore").write_text("*.pyc\n")
    before = tree(repository)

    def fail(path: Path, target: Path) -> Path:
        raise end

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises((KeyboardInterrupt, RegressError)):
        begin(repository)
    assert tree(repository) == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b".regress/\n"),
        (b"", b".regress/\n"),
        (b"*.pyc\n", b"*.pyc\n.regress/\n"),
        (b"*.pyc", b"*.pyc\n.regress/\n"),
        (b"\xff\n", b"\xff\n.regress/\n"),
        (b"# .regress/\n", b"# .regress/\n.regress/\n"),
        (b".regress/\n", None),
        (b"a\r\n/.regress\r\n", None),
    ],
)
def test_gitignore_gets_one_line(repository: Path, before: bytes | None, after: bytes | None) -> None:
    file = repository / ".gitignore"
    if before is not None:
        file.write_bytes(before)
        file.chmod(0o640)
    assert (".gitignore" in begin(repository).written) is (after is not None)
    assert file.read_bytes() == (before if after is None else after)
    if before is not None:
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert "regress" not in git(
        repository, "status", "--porcelain", "--untracked-files=all", "--", ".regress"
    )


def test_a_link_is_no_place_for_a_line(repository: Path) -> None:
    (repository / ".gitignore").symlink_to("/dev/null")
    with pytest.raises(RequestError, match=r"\.gitignore is no plain file"):
        begin(repository)


@pytest.mark.parametrize(
    ("packages", "named"),
    [
        ([], None),
        (["mylib"], "mylib"),
        (["src/mylib"], "mylib"),
        (["mylib", "tests", "benchmarks"], "mylib"),
        (["mylib", "other"], None),
        (["my-lib"], None),
        (["class"], None),
        (["mylib/inner"], None),
    ],
)
def test_the_one_package_is_named(repository: Path, packages: list[str], named: str | None) -> None:
    for package in packages:
        (repository / package).mkdir(parents=True, exist_ok=True)
        (repository / package / "__init__.py").write_text("raise SystemExit('was imported')\n")
    beginning = begin(repository)
    assert beginning.package == named
    text = (repository / "benchmarks" / "train.py").read_text()
    assert (f"from {named} import" in text) is (named is not None)
    assert beginning.neighbours == (("__init__.py",) if "benchmarks" in packages else ())


@pytest.mark.parametrize(
    ("cpus", "quota", "gpus", "ranks"),
    [
        (8, None, 0, 8),
        (1, None, 0, 1),
        (8, 1.5, 0, 2),
        (8, 0.5, 0, 1),
        (8, None, 1, 1),
        (2, None, 8, 2),
    ],
)
def test_ranks_fit_whether_torch_uses_the_gpus_or_not(
    monkeypatch: pytest.MonkeyPatch, cpus: int, quota: float | None, gpus: int, ranks: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)))
    limit = None if quota is None else Quota(cores=quota, throttled=None)
    monkeypatch.setattr(init, "read_quota", lambda: limit)
    monkeypatch.setattr(init, "device_nodes", lambda _: (None,) * gpus)
    assert ranks_here() == ranks


def test_one_rank_is_asked_for_where_there_is_one(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init, "ranks_here", lambda: 1)
    assert begin(repository).world_size == 1
    loaded = load_suite(repository / "configs" / "commit.yaml")
    assert loaded.suite.benchmarks[0].world_size == [1]
    assert "on one rank" in loaded.suite.description
