"""Where a command works: the project, its repository, the cache."""

from __future__ import annotations

import dataclasses
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from regress.errors import RequestError
from regress.flows.revisions import Repository, Revision
from regress.launch.launcher import Code
from regress.spec.load import find_suite, load_project, load_suite, shipped
from regress.spec.project import LoadedProject, NamedEnvironment
from regress.spec.side import RevisionSide, Side, StoredSide, UnknownRevision, parse_side
from regress.spec.suite import LoadedSuite
from regress.store.runs import find_run


@dataclass(frozen=True, kw_only=True)
class MeasuredSide:
    """A side that is ready to be launched."""

    role: str
    """``base``, ``head`` or ``only``."""

    name: str
    """As the user wrote it."""

    revision: Revision | None
    """``None`` when no revision is measured."""

    code: Code
    """What it runs."""


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
            return self._parse(text)
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
            side = self._parse(text)
        except UnknownRevision:
            side = None
        if not isinstance(side, StoredSide):
            raise RequestError(f"{text!r:.80} is no stored run; `regress list` names those there are")
        return side

    def pinned(self, side: RevisionSide) -> RevisionSide:
        """The same side by the hash of its commit, which means the same tomorrow.

        Raises:
            RequestError: There is no such revision.
        """
        if side.rev is None:
            return side
        return dataclasses.replace(side, rev=self.pinned_source(side.rev))

    def pinned_source(self, source: str) -> str:
        """The hash of a revision; ``WORKTREE`` and ``installed`` stay as they are.

        Raises:
            RequestError: There is no such revision.
        """
        if source in ("WORKTREE", "installed"):
            return source
        repository = self.repository or Repository.around(self.folder)
        return repository.resolve(source).commit[:12]

    def benchmarks(self, source: str) -> Path:
        """The folder of benchmark files of a revision, of the working tree, or the installed ones.

        Args:
            source: A revision, ``WORKTREE`` or ``installed``.

        Raises:
            RequestError: There is no such revision, or it has no such folder.
        """
        if source == "installed":
            return shipped() / "benchmarks"
        if source == "WORKTREE":
            folder, source = self.project.benchmarks, str(self.project.root)
        else:
            repository = self.repository or Repository.around(self.folder)
            tree = repository.worktree(repository.resolve(source).commit, self.cache)
            folder = tree / self.project.project.benchmarks
        if not folder.is_dir():
            raise RequestError(
                f"{source} has no folder {self.project.project.benchmarks}/; "
                "add benchmarks to it, or measure the shipped ones with --benchmarks-from installed"
            )
        return folder

    def prepare(self, role: str, name: str, side: RevisionSide, benchmarks: Path) -> MeasuredSide:
        """Lay out a side's code: a revision, or none beside the benchmarks.

        Raises:
            RequestError: There is no such revision, or its interpreter is missing.
        """
        if side.rev is None:
            return self._side(role, name, side.environment, None, None, benchmarks)
        repository = self.repository or Repository.around(self.folder)
        revision = repository.resolve(side.rev)
        tree = repository.worktree(revision.commit, self.cache)
        return self._side(role, name, side.environment, revision, tree, benchmarks)

    def prepare_here(self, role: str, name: str, benchmarks: Path) -> MeasuredSide:
        """Lay out the code as it lies in the project's folder."""
        return self._side(role, name, None, None, self.project.root, benchmarks)

    def _side(
        self,
        role: str,
        name: str,
        environment: str | None,
        revision: Revision | None,
        tree: Path | None,
        benchmarks: Path,
    ) -> MeasuredSide:
        settings = self.project.project.environments[environment] if environment else NamedEnvironment()
        folders = [(tree / inner).resolve() for inner in self.project.project.python_path] if tree else []
        code = Code(
            python=self._interpreter(environment, settings),
            variables=tuple(sorted(settings.variables.items())),
            path=tuple(str(folder) for folder in folders if folder.is_dir()),
            benchmarks=str(benchmarks),
        )
        return MeasuredSide(role=role, name=name, revision=revision, code=code)

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

    def _parse(self, text: str) -> Side:
        repository = self.repository
        return parse_side(
            text,
            is_revision=lambda rev: repository is not None and repository.has(rev),
            environments=self.project.project.environments,
            run_exists=self._has_run,
            folder_exists=self._is_run,
        )

    def _is_run(self, path: str) -> bool:
        try:
            return (self.folder / path / "plan.json").is_file()
        except OSError:  # no path at all: too long a name
            return False

    def _has_run(self, run: str) -> bool:
        try:
            find_run(self.project.store, run)
        except RequestError:
            return False
        return True


def _cache() -> Path:
    """``$REGRESS_CACHE``, else ``regress`` in the user's cache folder."""
    own = os.environ.get("REGRESS_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "regress"
