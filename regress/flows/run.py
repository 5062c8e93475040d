"""`regress run`: measure one side and keep it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regress.errors import RequestError
from regress.flows.machinery import THIS_HOST, Machinery, Site
from regress.flows.measure import carry_out
from regress.flows.progress import Progress
from regress.flows.undertaking import ORDINARY, Means
from regress.flows.workplace import INSTALLED, Workplace
from regress.launch.lock import HostLock
from regress.record.run import Run
from regress.spec.side import WORKTREE, CodeSide
from regress.spec.suite import Blocks, LoadedSuite


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What the user asked for."""

    suite: str
    """Name or path."""

    side: str | None = None
    """What is measured; ``None``: the benchmarks beside the suite, as they lie, without git."""

    launches: int | None = None
    """How many; ``None``: as many as the suite has blocks."""

    means: Means = ORDINARY
    """How it is measured."""


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
    site = Site(workplace=workplace, means=request.means, progress=progress, machinery=machinery)
    loaded = one_sided(workplace.suite(request.suite), request.launches)
    code, name, source = _asked(workplace, request.side, loaded.file)
    with HostLock(request.means.wait_s, progress.say) as host:
        if code is None:
            side = workplace.prepare_here("only")
        else:
            side = workplace.prepare("only", name, code, workplace.benchmarks(source))
        (measured,) = carry_out(site, loaded, [side], site.catalogs(side), source, host)
    return measured


def one_sided(loaded: LoadedSuite, launches: int | None = None) -> LoadedSuite:
    """The suite with one block for each launch, none of them alone: there is no other side."""
    count = loaded.suite.blocks.count if launches is None else launches
    suite = loaded.suite.model_copy(update={"blocks": Blocks(count=count, alone=0)})
    return LoadedSuite(name=loaded.name, file=loaded.file, suite=suite, where=loaded.where)


def _asked(workplace: Workplace, text: str | None, suite: Path) -> tuple[CodeSide | None, str, str]:
    """What is measured, what it is called, and whose benchmarks: refused before anybody waits.

    Without a side, those benchmarks are measured that belong to the suite's file: the project's, as
    they lie (``None``), or the installed ones.
    """
    if text is None:
        if suite.resolve().parent == (workplace.project.root / "configs").resolve():
            workplace.code_here()  # refuses where there are no benchmarks
            return None, WORKTREE, WORKTREE
        return CodeSide(rev=None, environment=None), INSTALLED, INSTALLED
    side = workplace.parse(text)
    if not isinstance(side, CodeSide):
        raise RequestError(f"{text!r:.80} is measured already; name a revision, or see `regress report`")
    return side, text, workplace.pinned(WORKTREE if side.worktree else side.rev or INSTALLED)
