"""Where a command works: the project, its repository, the cache."""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from regress.errors import RequestError
from regress.flows.revisions import Repository, Revision, code_digest
from regress.launch.launcher import Code
from regress.spec.load import find_suite, load_project, load_suite, shipped
from regress.spec.project import LoadedProject, NamedEnvironment
from regress.spec.side import (
    WORKTREE,
    CodeSide,
    Side,
    StoredSide,
    Surroundings,
    UnknownRevision,
    parse_side,
)
from regress.spec.suite import LoadedSuite
from regress.store.runs import LAUNCH_FILE, find_run

INSTALLED = "installed"
"""The benchmark files that came with regress."""


@dataclass(frozen=True, kw_only=True)
class MeasuredSide:
    """A side that is ready to be launched."""

    role: str
    """``base``, ``head`` or ``only``."""

    name: str
    """As the user wrote it."""

    revision: Revision | None
    """``None`` when no revision is measured."""

    environment: str | None = None
    """Name of the configured environment; ``None``: the one that runs regress."""

    code: Code
    """What it runs."""

    content: str
    """Digest of the code that lies in the folders of the side: equal code may go on being
    measured. Empty for the installed code."""


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """What the folder that a command was typed in belongs to."""

    folder: Path
    """Where the command was typed."""

    repository: Repository | None
    """Around it; ``None`` outside git."""

    project: LoadedProject
    """Of the repository's root, else of the folder."""

    cache: Path
    """For worktrees and copies; can be deleted at any time."""

    @classmethod
    def around(cls, folder: Path) -> Workplace:
        """Find project and repository.

        Raises:
            RequestError: The project file is wrong.
        """
        try:
            repository = Repository.around(folder)
        except RequestError:
            repository = None
        root = repository.root if repository else folder
        return cls(folder=folder, repository=repository, project=load_project(root), cache=_cache())

    @property
    def spare(self) -> Path:
        """Folder for launches that the store has no room for."""
        return self.cache / "pending"

    def suite(self, name_or_path: str) -> LoadedSuite:
        """Find and read a suite.

        Raises:
            RequestError: There is none of that name, or it is wrong.
        """
        return load_suite(find_suite(name_or_path, self.project.root))

    def parse(self, text: str) -> Side:
        """Read a side as the user wrote it.

        Raises:
            RequestError: It means nothing, or two things.
        """
        try:
            return parse_side(text, self._surroundings)
        except UnknownRevision:
            if self.repository is None:
                Repository.around(self.folder)  # refuses, and says that there is no repository
            raise

    def stored(self, text: str) -> StoredSide:
        """Read a side that must be a stored run.

        Raises:
            RequestError: It means something else, nothing, or two things.
        """
        try:
            side = parse_side(text, self._surroundings)
        except UnknownRevision:
            side = None
        if not isinstance(side, StoredSide):
            raise RequestError(f"{text!r:.80} is no stored run; `regress list` names those there are")
        return side

    @functools.cached_property
    def snapshot(self) -> Revision:
        """The working tree as it is when it is first asked for.

        Raises:
            RequestError: There is no repository, or git cannot take the tree in.
        """
        return self._repository.snapshot()

    def revision(self, side: CodeSide) -> Revision | None:
        """What git knows of a side; ``None`` when it has no revision.

        Raises:
            RequestError: There is no such revision.
        """
        if side.worktree:
            return self.snapshot
        return None if side.rev is None else self._repository.resolve(side.rev)

    def pinned(self, text: str) -> str:
        """The hash of a revision, which means the same tomorrow; ``WORKTREE`` and ``installed`` stay.

        Raises:
            RequestError: There is no such revision.
        """
        if text in (WORKTREE, INSTALLED):
            return text
        return self._repository.resolve(text).commit[:12]

    def pinned_side(self, side: CodeSide) -> CodeSide:
        """The same side by the hash of its commit.

        Raises:
            RequestError: There is no such revision.
        """
        return side if side.rev is None else replace(side, rev=self.pinned(side.rev))

    @property
    def is_dirty(self) -> bool:
        """Whether files that git tracks hold changes that no commit has."""
        return self.repository is not None and self.repository.is_dirty()

    def benchmarks(self, source: str) -> Path:
        """The folder of benchmark files of a revision, of the working tree, or the installed ones.

        Args:
            source: A revision, ``WORKTREE`` or ``installed``. Of a working tree in git, it is
                that of `snapshot`.

        Raises:
            RequestError: There is no such revision, or it has no such folder.
        """
        if source == INSTALLED:
            return shipped() / "benchmarks"
        inner = self.project.project.benchmarks
        if source == WORKTREE and self.repository is None:
            folder = self.project.benchmarks
        else:
            revision = self.snapshot if source == WORKTREE else self._repository.resolve(source)
            folder = self._repository.worktree(revision.commit, self.cache) / inner
        if not folder.is_dir():
            raise _no_benchmarks(source, inner)
        return folder

    def prepare(
        self, role: str, name: str, side: CodeSide, benchmarks: Path, *, again: bool = False
    ) -> MeasuredSide:
        """Lay out a side's code: a revision, the working tree as it is now, or none.

        Args:
            role: See `MeasuredSide`.
            name: See `MeasuredSide`.
            side: What is measured.
            benchmarks: Folder of the benchmark files.
            again: Whether the other side is of the same code, which is laid out a second time.

        Raises:
            RequestError: There is no such revision, or its interpreter is missing.
        """
        revision = self.revision(side)
        tree = self._repository.worktree(revision.commit, self.cache, again=again) if revision else None
        return MeasuredSide(
            role=role,
            name=name,
            revision=revision,
            environment=side.environment,
            code=self._code(side.environment, tree, benchmarks),
            content=revision.commit if revision else "",
        )

    def prepare_here(self, role: str) -> MeasuredSide:
        """Lay out code and benchmarks as they lie in the project's folder.

        Raises:
            RequestError: There are no benchmarks, or git cannot say what lies there.
        """
        code = self.code_here()
        revision = self.snapshot if self.repository else None
        content = revision.commit if revision else code_digest(self.project.root)
        return MeasuredSide(role=role, name=WORKTREE, revision=revision, code=code, content=content)

    def code_here(self) -> Code:
        """What runs when code and benchmarks are taken as they lie in the project's folder.

        Raises:
            RequestError: There are no benchmarks.
        """
        root, benchmarks = self.project.root, self.project.benchmarks
        if not benchmarks.is_dir():
            raise _no_benchmarks(str(root), self.project.project.benchmarks)
        return self._code(None, root, benchmarks)

    @property
    def _repository(self) -> Repository:
        return self.repository or Repository.around(self.folder)

    def _code(self, environment: str | None, tree: Path | None, benchmarks: Path) -> Code:
        settings = self.project.project.environments[environment] if environment else NamedEnvironment()
        folders = [(tree / inner).resolve() for inner in self.project.project.python_path] if tree else []
        return Code(
            python=self._interpreter(environment, settings),
            variables=tuple(sorted(settings.variables.items())),
            path=tuple(str(folder) for folder in folders if folder.is_dir()),
            benchmarks=str(benchmarks),
        )

    def _interpreter(self, name: str | None, settings: NamedEnvironment) -> str:
        if settings.python is None:
            return sys.executable
        python = self.project.path(settings.python)
        if not os.access(python, os.X_OK):
            raise RequestError(
                f"environment {name}: no interpreter at {python}; "
                "correct 'python' in configs/project.yaml, or make the environment"
            )
        return str(python)

    @property
    def _surroundings(self) -> Surroundings:
        repository = self.repository
        return Surroundings(
            is_revision=lambda rev: repository is not None and repository.has(rev),
            environments=self.project.project.environments,
            run_exists=self._has_run,
            path_exists=self._is_stored,
        )

    def _is_stored(self, text: str) -> bool:
        path = self.folder / text
        folder = path.parent if LAUNCH_FILE.fullmatch(path.name) else path
        try:
            return path.exists() and (folder / "plan.json").is_file()
        except (OSError, ValueError):  # no path at all: too long a name
            return False

    def _has_run(self, run: str) -> bool:
        try:
            find_run(self.project.store, run)
        except RequestError:
            return False
        return True


def _no_benchmarks(place: str, folder: str) -> RequestError:
    return RequestError(
        f"{place} has no folder {folder}/; `regress init` writes a first benchmark "
        "(`regress compare --benchmarks-from installed` takes the shipped ones)"
    )


def _cache() -> Path:
    """``$REGRESS_CACHE``, else ``regress`` in the user's cache folder."""
    own = os.environ.get("REGRESS_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "regress"
