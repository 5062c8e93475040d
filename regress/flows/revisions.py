"""Git, as far as sides need it: revisions and their worktrees."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from regress.errors import RegressError, RequestError

UNTRACKED_BYTES = 256 << 20
"""Most that a working tree may hold outside of git: a checkpoint is easily taken for code."""

NOBODY = {"NAME": "regress", "EMAIL": "regress@localhost", "DATE": "@0 +0000"}
"""Who commits a working tree: always the same, so that equal trees give the same commit."""


@dataclass(frozen=True, kw_only=True)
class Revision:
    """A commit and what people know it by."""

    commit: str
    """Full hash."""

    subject: str
    """First line of its message; text from outside."""

    uncommitted: bool = False
    """Whether it is a working tree that was never committed: ``commit`` names its content."""


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A git repository with at least one worktree of its own."""

    root: Path
    """Its top level."""

    @classmethod
    def around(cls, folder: Path) -> Repository:
        """The repository that a folder lies in.

        Raises:
            RequestError: It lies in none, git refuses to use it, or is not installed.
        """
        found = _git(folder, "rev-parse", "--show-toplevel")
        if found.returncode != 0 and any((parent / ".git").exists() for parent in (folder, *folder.parents)):
            raise RequestError(f"git cannot use the repository around {folder}: {_complaint(found)}")
        if found.returncode != 0:
            raise RequestError(
                f"{folder} is not in the working tree of a git repository; change into one, "
                "or measure the shipped suite with `regress run`"
            )
        return cls(root=Path(found.stdout.removesuffix("\n")))

    def has(self, revision: str) -> bool:
        """Whether git knows a commit by that name."""
        return self._commit(revision) is not None

    def resolve(self, revision: str) -> Revision:
        """Look a revision up.

        Raises:
            RequestError: There is no such commit.
        """
        commit = self._commit(revision)
        if commit is None:
            raise RequestError(
                f"unknown revision {revision!r:.100} in {self.root}; `git log` lists what there is"
            )
        subject = _git(self.root, "log", "-1", "--format=%s", commit, "--").stdout
        return Revision(commit=commit, subject=subject.strip()[:200])

    def snapshot(self) -> Revision:
        """The working tree as it is now, as a commit that no branch leads to.

        It holds what git tracks and what it would add; files that git ignores are left out. Equal
        trees give the same commit; a tree without changes is that of ``HEAD``.

        Raises:
            RequestError: The tree holds more than `UNTRACKED_BYTES` that git neither tracks nor
                ignores, or git cannot take it in.
        """
        self._refuse_large()
        index = Path(
            _git(self.root, "rev-parse", "--path-format=absolute", "--git-path", "index").stdout[:-1]
        )
        with tempfile.TemporaryDirectory(prefix="regress-") as folder:
            aside = Path(folder) / "index"
            if index.exists():
                shutil.copyfile(index, aside)  # git then reads only what has changed since
            variables = {"GIT_INDEX_FILE": str(aside)}
            self._told(_git(self.root, "add", "--all", variables=variables))
            tree = self._told(_git(self.root, "write-tree", variables=variables))
        head = self._commit("HEAD")
        if head is None:
            return Revision(commit=self._commit_tree(tree), subject="working tree", uncommitted=True)
        revision = self.resolve(head)
        if tree == _git(self.root, "rev-parse", f"{head}^{{tree}}").stdout.strip():
            return revision
        subject = f"uncommitted changes on {head[:12]}: {revision.subject}"[:200]
        return Revision(commit=self._commit_tree(tree, "-p", head), subject=subject, uncommitted=True)

    def history(self) -> tuple[str, ...] | None:
        """Every commit that ``HEAD`` rests on, oldest first, each after its parents.

        ``None`` where that is not known: nothing was committed, or the clone is shallow.
        """
        shallow = _git(self.root, "rev-parse", "--is-shallow-repository").stdout.strip()
        listed = _git(self.root, "rev-list", "--topo-order", "--reverse", "HEAD", "--")
        if shallow != "false" or listed.returncode != 0:
            return None
        return tuple(listed.stdout.split())

    def tags(self) -> tuple[tuple[str, str], ...]:
        """Every tag of a commit with that commit, the newest tag first."""
        form = "%(refname:short)%00%(objectname)%00%(*objectname)"
        listed = _git(self.root, "for-each-ref", "--sort=-creatordate", f"--format={form}", "refs/tags")
        lines = (line.split("\0") for line in listed.stdout.splitlines())
        return tuple((name, peeled or own) for name, own, peeled in lines)

    def is_dirty(self) -> bool:
        """Whether files that git tracks hold changes that no commit has."""
        return bool(_git(self.root, "status", "--porcelain", "--untracked-files=no").stdout)

    def worktree(self, commit: str, cache: Path, *, again: bool = False) -> Path:
        """A folder with the commit's files as they were committed; kept for the next time.

        What a run leaves beside them (compiled bytecode) stays. Paths of two commits are of
        equal length, so that neither side is favoured.

        Args:
            commit: Full hash.
            cache: Where the folder lies.
            again: Whether it is a second folder of the same commit, its path as long as that of the first.

        Raises:
            RegressError: git cannot make it, or the cache cannot be written.
        """
        key = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:8]
        folder = cache / ("worktree2" if again else "worktrees") / key
        target = folder / commit[:12]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder / f"{commit[:12]}.lock"):
                if not self._is_clean(target, commit):
                    self._make(target, commit)
        except OSError as error:
            raise RegressError(
                f"cannot write the cache {cache}: {error.strerror}; set REGRESS_CACHE to another folder"
            ) from None
        return target

    def _refuse_large(self) -> None:
        names = _git(self.root, "ls-files", "--others", "--exclude-standard", "-z").stdout.split("\0")
        size = 0
        for name in filter(None, names):
            with suppress(OSError):
                size += (self.root / name).lstat().st_size
        if size > UNTRACKED_BYTES:
            raise RequestError(
                f"the working tree holds {size >> 20} MiB that git neither tracks nor ignores; "
                "list them in .gitignore, or commit them"
            )

    def _commit_tree(self, tree: str, *parents: str) -> str:
        who = {
            f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in NOBODY.items()
        }
        return self._told(_git(self.root, "commit-tree", tree, *parents, "-m", "working tree", variables=who))

    def _told(self, done: subprocess.CompletedProcess[str]) -> str:
        """What git answered, or its refusal as a wrong request."""
        if done.returncode != 0:
            raise RequestError(f"git cannot take in the working tree of {self.root}: {_complaint(done)}")
        return done.stdout.strip()

    def _commit(self, revision: str) -> str | None:
        found = _git(
            self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
        return found.stdout.strip() if found.returncode == 0 else None

    def _is_clean(self, target: Path, commit: str) -> bool:
        if not (target / ".git").exists():
            return False
        head = _git(target, "rev-parse", "HEAD")
        changes = _git(target, "status", "--porcelain", "--untracked-files=no")
        return head.stdout.strip() == commit and changes.returncode == 0 and not changes.stdout

    def _make(self, target: Path, commit: str) -> None:
        shutil.rmtree(target, ignore_errors=True)
        made = _git(self.root, "worktree", "add", "--force", "--detach", "--quiet", str(target), commit)
        if made.returncode != 0:
            raise RegressError(f"git cannot make a worktree of {commit[:12]} in {target}: {_complaint(made)}")


def code_digest(root: Path) -> str:
    """What equal code has in common where there is no git: a digest of all Python files below a folder."""
    digest = hashlib.sha256()
    for file in sorted(_python_files(root)):
        digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _python_files(root: Path) -> Iterator[Path]:
    """Those below a folder; hidden folders and virtual environments are left out."""
    for folder, folders, files in os.walk(root):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and not (Path(folder) / name / "pyvenv.cfg").exists()
        ]
        yield from (Path(folder) / name for name in files if name.endswith(".py"))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _complaint(failed: subprocess.CompletedProcess[str]) -> str:
    """The line in which git says what is wrong; the lines after it are advice."""
    lines = failed.stderr.strip().splitlines() or ["it said nothing"]
    return next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0])[:300]


def _git(
    folder: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git without the hooks of the repository and without what a calling hook has set."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", "-C", str(folder), *arguments],  # noqa: S607 - the user's git
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**own, **(variables or {})},
            check=False,
        )
    except FileNotFoundError:
        raise RequestError("git is not installed, and a revision can only be measured with it") from None
