"""Revisions and worktrees, with real git."""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

import pytest

import regress
from regress.errors import RegressError, RequestError
from regress.flows.revisions import Repository, code_digest
from tests.flows.project import git


@pytest.fixture
def repository(project: Path) -> Repository:
    return Repository.around(project)


def tracked(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_repository_around_a_folder_inside_it(project: Path) -> None:
    assert Repository.around(project / "configs").root == project


def test_outside_of_any_repository(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="not in the working tree of a git repository; change into one"):
        Repository.around(tmp_path)


def test_a_bare_repository_has_no_files_to_measure(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(project), "bare.git")
    with pytest.raises(RequestError, match="not in the working tree of a git repository"):
        Repository.around(tmp_path / "bare.git")


def test_a_repository_that_git_refuses_is_named_with_gits_own_words(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere/at/all\n")
    with pytest.raises(
        RequestError, match=r"git cannot use the repository around .*: fatal: .*nowhere/at/all"
    ):
        Repository.around(tmp_path)


def test_without_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project))
    with pytest.raises(RequestError, match="git is not installed"):
        Repository.around(project)


def test_a_revision_is_its_commit_and_subject(project: Path, repository: Repository) -> None:
    git(project, "tag", "--annotate", "v1", "--message", "a tag", "HEAD~1")
    found = repository.resolve("v1")
    assert (found.commit, found.subject) == (git(project, "rev-parse", "HEAD~1"), "Train")
    assert repository.resolve("HEAD").subject == "Train \x1b[31mwider"  # cleaned by whoever prints it


@pytest.mark.parametrize(
    "text", ["mian", "HEAD~9", "", "HEAD:model.py", "0" * 40, "a b", "--all", "\x1b[2J", "x" * 5000]
)
def test_unknown_revisions(repository: Repository, text: str) -> None:
    assert not repository.has(text)
    with pytest.raises(RequestError, match="unknown revision") as refused:
        repository.resolve(text)
    assert str(refused.value).replace(str(repository.root), "").isprintable()
    assert len(str(refused.value)) < 300 + len(str(repository.root))


@pytest.mark.parametrize(
    "branch", ["$(touch HACKED)", ";touch${IFS}HACKED;", "'|touch HACKED", "ünï", "a" * 200, "-x"]
)
def test_a_branch_with_a_hostile_name(
    project: Path, repository: Repository, tmp_path: Path, branch: str
) -> None:
    branch = branch.replace(" ", "\N{NO-BREAK SPACE}")
    commit = git(project, "rev-parse", "HEAD~1")
    git(project, "update-ref", f"refs/heads/{branch}", commit)
    assert repository.resolve(branch).commit == commit
    repository.worktree(repository.resolve(branch).commit, tmp_path / "cache")
    assert not list(tmp_path.rglob("HACKED"))


def test_a_worktree_holds_the_commit(repository: Repository, tmp_path: Path) -> None:
    base, head = (repository.worktree(repository.resolve(rev).commit, tmp_path) for rev in ("HEAD~1", "HEAD"))
    assert (base / "model.py").read_text() == "WIDTH = 1\n"
    assert (head / "model.py").read_text() == "WIDTH = 2\n"
    assert tracked(head) == [".git", ".gitignore", "benchmarks", "configs", "model.py"]
    assert len(str(base)) == len(str(head))


def test_uncommitted_changes_stay_out_of_worktrees(
    project: Path, repository: Repository, tmp_path: Path
) -> None:
    (project / "model.py").write_text("WIDTH = 3\n")
    (project / "new.py").write_text("")
    tree = repository.worktree(repository.resolve("HEAD").commit, tmp_path)
    assert (tree / "model.py").read_text() == "WIDTH = 2\n"
    assert not (tree / "new.py").exists()
    assert (project / "model.py").read_text() == "WIDTH = 3\n"


def test_a_worktree_is_used_again(repository: Repository, tmp_path: Path) -> None:
    commit = repository.resolve("HEAD").commit
    tree = repository.worktree(commit, tmp_path)
    (tree / "__pycache__").mkdir()
    before = (tree / "model.py").stat().st_ino
    assert repository.worktree(commit, tmp_path) == tree
    assert (tree / "model.py").stat().st_ino == before
    assert (tree / "__pycache__").is_dir()


@pytest.mark.parametrize("damage", ["modified", "file gone", "folder gone", "git gone", "other commit"])
def test_a_damaged_worktree_is_made_again(
    project: Path, repository: Repository, tmp_path: Path, damage: str
) -> None:
    commit = repository.resolve("HEAD").commit
    tree = repository.worktree(commit, tmp_path)
    match damage:
        case "modified":
            (tree / "model.py").write_text("WIDTH = 9\n")
        case "file gone":
            (tree / "model.py").unlink()
        case "folder gone":
            shutil.rmtree(tree)
        case "git gone":
            (tree / ".git").unlink()
        case "other commit":
            git(tree, "checkout", "--quiet", "--detach", "HEAD~1")
    assert repository.worktree(commit, tmp_path) == tree
    assert (tree / "model.py").read_text() == "WIDTH = 2\n"
    assert git(tree, "rev-parse", "HEAD") == commit


def test_other_worktrees_of_the_user_are_left_alone(
    project: Path, repository: Repository, tmp_path: Path
) -> None:
    git(project, "worktree", "add", "--quiet", str(tmp_path / "usb-stick"), "HEAD~1", "--detach")
    (tmp_path / "usb-stick").rename(tmp_path / "unplugged")
    repository.worktree(repository.resolve("HEAD").commit, tmp_path / "cache")
    (tmp_path / "unplugged").rename(tmp_path / "usb-stick")
    assert git(tmp_path / "usb-stick", "rev-parse", "HEAD") == git(project, "rev-parse", "HEAD~1")


def test_two_repositories_do_not_share_worktrees(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(project), "clone")
    trees = [
        (found := Repository.around(folder)).worktree(found.resolve("HEAD").commit, tmp_path / "cache")
        for folder in (project, tmp_path / "clone")
    ]
    assert trees[0] != trees[1]
    assert len(str(trees[0])) == len(str(trees[1]))


def test_two_at_once_make_one_worktree(repository: Repository, tmp_path: Path) -> None:
    commit = repository.resolve("HEAD").commit
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(repository.worktree(commit, tmp_path))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert (found[0] / "model.py").read_text() == "WIDTH = 2\n"


@pytest.mark.parametrize("hook", ["post-checkout", "reference-transaction"])
def test_hooks_are_not_run(project: Path, repository: Repository, tmp_path: Path, hook: str) -> None:
    script = project / ".git" / "hooks" / hook
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/HOOKED\n")
    script.chmod(0o755)
    git(project, "checkout", "--quiet", "HEAD~1")
    assert (tmp_path / "HOOKED").exists()  # the hook works
    (tmp_path / "HOOKED").unlink()
    repository.worktree(repository.resolve("main").commit, tmp_path / "cache")
    assert not (tmp_path / "HOOKED").exists()


def test_variables_of_a_calling_hook_lead_nowhere_else(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    found = Repository.around(project)
    assert found.root == project
    tree = found.worktree(found.resolve("HEAD").commit, tmp_path / "cache")
    assert (tree / "model.py").read_text() == "WIDTH = 2\n"


def test_inside_a_real_hook(project: Path, tmp_path: Path) -> None:
    """As a pre-push or post-commit hook calls the tool: with GIT_DIR and more in its environment."""
    program = tmp_path / "program.py"
    program.write_text(
        "import os\n"
        "from pathlib import Path\n"
        "from regress.flows.revisions import Repository\n"
        "assert 'GIT_INDEX_FILE' in os.environ\n"
        "print(Repository.around(Path.cwd()).resolve('HEAD').commit)\n"
    )
    hook = project / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    package = Path(regress.__file__).parent.parent
    hook.write_text(
        f"#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} {program} >{tmp_path}/said 2>&1\n"
    )
    hook.chmod(0o755)
    git(project, "commit", "--quiet", "--allow-empty", "--message", "next")
    assert (tmp_path / "said").read_text().strip() == git(project, "rev-parse", "HEAD")


def test_a_cache_that_cannot_be_written(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RegressError, match=r"cannot write the cache .*; set REGRESS_CACHE to another folder"):
        repository.worktree(repository.resolve("HEAD").commit, tmp_path / "file" / "cache")


def test_a_commit_that_git_cannot_check_out(project: Path, repository: Repository, tmp_path: Path) -> None:
    commit = repository.resolve("HEAD").commit
    blob = git(project, "rev-parse", "HEAD:model.py")
    (project / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(
        RegressError, match=f"git cannot make a worktree of {commit[:12]} in .*: (error|fatal): "
    ):
        repository.worktree(commit, tmp_path / "cache")


def test_git_is_run_without_a_shell_and_reads_no_pager(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_PAGER", "touch PAGED")
    monkeypatch.setenv("PAGER", "touch PAGED")
    Repository.around(project).resolve("HEAD")
    assert not list(project.rglob("PAGED"))


def test_a_snapshot_holds_what_git_would_add(project: Path) -> None:
    (project / "model.py").write_text("WIDTH = 3\n")
    (project / "new.py").write_text("NEW = 1\n")
    (project / ".regress").mkdir()
    (project / ".regress" / "ignored").touch()
    git(project, "rm", "--quiet", "--cached", "benchmarks/train.py")
    (project / "benchmarks" / "train.py").unlink()
    staged = git(project, "status", "--porcelain")
    taken = Repository.around(project).snapshot()
    assert taken.uncommitted
    assert taken.subject.startswith(f"uncommitted changes on {git(project, 'rev-parse', 'HEAD')[:12]}: Train")
    files = git(project, "ls-tree", "-r", "--name-only", taken.commit).splitlines()
    assert files == [".gitignore", "configs/commit.yaml", "model.py", "new.py"]
    assert git(project, "show", f"{taken.commit}:model.py") == "WIDTH = 3"
    assert git(project, "status", "--porcelain") == staged  # the user's index is as it was
    assert git(project, "branch", "--contains", taken.commit) == ""


def test_equal_trees_give_equal_snapshots(project: Path) -> None:
    repository = Repository.around(project)
    (project / "model.py").write_text("WIDTH = 3\n")
    first = repository.snapshot()
    (project / "model.py").write_text("WIDTH = 4\n")
    second = repository.snapshot()
    (project / "model.py").write_text("WIDTH = 3\n")
    assert repository.snapshot() == first
    assert second.commit != first.commit
    assert git(project, "show", "--no-patch", "--format=%at %ct", first.commit) == "0 0"  # at whatever time
    git(project, "checkout", "--quiet", "model.py")
    assert repository.snapshot().commit == git(project, "rev-parse", "HEAD")
    assert not repository.snapshot().uncommitted


def test_a_snapshot_can_be_laid_out(project: Path, tmp_path: Path) -> None:
    repository = Repository.around(project)
    (project / "model.py").write_text("WIDTH = 3\n")
    tree = repository.worktree(repository.snapshot().commit, tmp_path / "other cache")
    assert (tree / "model.py").read_text() == "WIDTH = 3\n"


def test_before_the_first_commit_there_is_a_snapshot_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "new.py").touch()
    taken = Repository.around(tmp_path).snapshot()
    assert (taken.uncommitted, taken.subject) == (True, "working tree")
    assert git(tmp_path, "ls-tree", "--name-only", taken.commit) == "new.py"


def test_a_checkpoint_is_not_taken_for_code(project: Path) -> None:
    with (project / "model.pt").open("wb") as file:
        file.truncate(300 << 20)
    with pytest.raises(RequestError, match="holds 300 MiB that git neither tracks nor ignores"):
        Repository.around(project).snapshot()
    with (project / ".gitignore").open("a") as file:
        file.write("*.pt\n")
    assert Repository.around(project).snapshot().uncommitted


def test_a_tree_that_git_cannot_take_in(project: Path) -> None:
    git(project, "init", "--quiet", "inner")  # a repository without a commit in it
    with pytest.raises(RequestError, match=r"git cannot take in the working tree of .*inner"):
        Repository.around(project).snapshot()


def test_code_outside_of_git_is_known_by_its_python_files(tmp_path: Path) -> None:
    (tmp_path / "venv" / "lib").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "model.py").write_text("WIDTH = 1\n")
    before = code_digest(tmp_path)
    for other in ("venv/lib/x.py", ".hidden/x.py", "notes.txt"):
        (tmp_path / other).write_text("x")
    assert code_digest(tmp_path) == before
    (tmp_path / "model.py").write_text("WIDTH = 2\n")
    assert code_digest(tmp_path) != before


def test_the_history_of_head_is_oldest_first_and_leaves_other_branches_out(
    project: Path, repository: Repository
) -> None:
    first, second = git(project, "rev-list", "--reverse", "HEAD").split()
    git(project, "checkout", "--quiet", "-b", "other", first)
    git(project, "commit", "--quiet", "--allow-empty", "--message", "Elsewhere")
    other = git(project, "rev-parse", "HEAD")
    git(project, "checkout", "--quiet", "main")
    assert repository.history() == (first, second)
    git(project, "merge", "--quiet", "--no-ff", "--message", "Merge", "other")
    merged = repository.history()
    assert merged is not None
    assert (merged[0], set(merged[1:3]), merged[3]) == (
        first,
        {second, other},
        git(project, "rev-parse", "HEAD"),
    )


def test_no_history_is_known_of_a_shallow_clone_or_before_the_first_commit(
    project: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{project}", "shallow")
    assert Repository(root=tmp_path / "shallow").history() is None
    (tmp_path / "fresh").mkdir()
    git(tmp_path / "fresh", "init", "--quiet")
    assert Repository(root=tmp_path / "fresh").history() is None


def test_tags_name_commits_newest_first(project: Path, repository: Repository) -> None:
    first, second = git(project, "rev-list", "--reverse", "HEAD").split()
    assert repository.tags() == ()
    git(project, "tag", "light", first)
    git(project, "tag", "--annotate", "heavy", "--message", "a tag", second)
    assert dict(repository.tags()) == {"light": first, "heavy": second}
