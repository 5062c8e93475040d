"""`regress run`: measure one side and keep it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from regress.errors import RequestError
from regress.flows.machinery import THIS_HOST, Machinery
from regress.flows.measure import measure, open_runs, undertake
from regress.flows.progress import Progress
from regress.flows.workplace import MeasuredSide, Workplace
from regress.record.run import Run
from regress.spec.side import RevisionSide
from regress.spec.suite import Blocks, LoadedSuite
from regress.store.runs import read_run


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What the user asked for."""

    suite: str
    """Name or path."""

    side: str | None = None
    """What is measured; ``None``: the benchmarks beside the suite, as they lie, without git."""

    launches: int | None = None
    """How many; ``None``: as many as the suite has blocks."""

    seed: int | None = None
    """Of every order; ``None`` draws one, which the plan records."""


def run(
    workplace: Workplace,
    request: RunRequest,
    progress: Progress,
    machinery: Machinery = THIS_HOST,
) -> Run:
    """Measure one side, launch after launch.

    Raises:
        RequestError: The request is wrong; nothing was written.
        LaunchError: The machinery failed; what was measured is kept.
        StoreError: The run cannot be kept.
    """
    loaded = _with_launches(workplace.suite(request.suite), request.launches)
    side = _revision(workplace, request.side) if request.side else _beside(workplace, loaded.file)
    progress.say("reading the benchmarks")
    catalogs = tuple(machinery.catalogs([side.code], workplace.cache))
    seed = secrets.randbits(32) if request.seed is None else request.seed
    undertaking = undertake(loaded, (side,), catalogs, seed)
    with machinery.launcher(undertaking, workplace.cache) as launcher:
        writers = open_runs(undertaking, workplace.project.store, side.code.benchmarks)
        measure(undertaking, writers, launcher, progress)
    return read_run(writers["only"].folder)


def _revision(workplace: Workplace, text: str) -> MeasuredSide:
    side = workplace.parse(text)
    if not isinstance(side, RevisionSide):
        raise RequestError(f"{text!r:.80} is measured already; name a revision, or see `regress report`")
    return workplace.prepare("only", text, side, workplace.benchmarks(side.rev or "installed"))


def _beside(workplace: Workplace, suite: Path) -> MeasuredSide:
    """The benchmarks that belong to a suite's file, as they lie: the project's, or the installed ones."""
    if suite.resolve().parent == (workplace.project.root / "configs").resolve():
        return workplace.prepare_here("only", "WORKTREE", workplace.benchmarks("WORKTREE"))
    side = RevisionSide(rev=None, environment=None)
    return workplace.prepare("only", "installed", side, workplace.benchmarks("installed"))


def _with_launches(loaded: LoadedSuite, launches: int | None) -> LoadedSuite:
    """The suite with one block for each launch, none of them alone: there is no other side."""
    count = loaded.suite.blocks.count if launches is None else launches
    suite = loaded.suite.model_copy(update={"blocks": Blocks(count=count, alone=0)})
    return LoadedSuite(name=loaded.name, file=loaded.file, suite=suite, where=loaded.where)
