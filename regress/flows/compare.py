"""`regress compare`: two sides in, one answer out."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regress.errors import RequestError
from regress.flows.measure import Undertaking, measure, open_runs, undertake
from regress.flows.progress import Progress
from regress.flows.workplace import Workplace
from regress.launch.catalogs import read_catalogs
from regress.launch.launcher import Launcher
from regress.launch.local import LocalLauncher
from regress.record.comparison import SuiteComparison
from regress.record.run import Run
from regress.spec.policy import Policy
from regress.spec.side import RevisionSide, StoredSide
from regress.spec.suite import LoadedSuite
from regress.store.runs import find_run, read_run
from regress.verdict.judge import judge


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """What the user asked for."""

    base: str
    """The side that head is compared with, as written."""

    head: str
    """The side that is judged, as written."""

    suite: str
    """Name or path."""

    benchmarks_from: str | None = None
    """Whose benchmark files run on both sides; ``None``: head's, or the installed ones where
    head is no revision."""

    fail_on: frozenset[str] = frozenset()
    """Further verdicts that fail."""

    seed: int | None = None
    """Of every order; ``None`` draws one, which the plan records."""


LauncherFor = Callable[[Undertaking, Path], Launcher]
"""Makes the launcher of an undertaking; the folder is the cache."""


def local_launcher(undertaking: Undertaking, cache: Path) -> Launcher:
    """The launcher of this host."""
    return LocalLauncher(cache=cache, device=undertaking.catalogs[-1].device)


def compare(
    workplace: Workplace,
    request: CompareRequest,
    progress: Progress,
    launcher_for: LauncherFor = local_launcher,
) -> SuiteComparison:
    """Measure two sides and judge them, or judge two runs that are stored.

    Raises:
        RequestError: The request is wrong; nothing was written.
        LaunchError: The machinery failed; what was measured is kept.
        StoreError: A run cannot be kept or read.
    """
    base, head = workplace.parse(request.base), workplace.parse(request.head)
    loaded = workplace.suite(request.suite)
    if isinstance(base, StoredSide) and isinstance(head, StoredSide):
        runs = _read(workplace, base), _read(workplace, head)
    elif isinstance(base, RevisionSide) and isinstance(head, RevisionSide):
        runs = _measured(workplace, request, loaded, (base, head), progress, launcher_for)
    else:
        raise RequestError(
            f"{request.base} and {request.head}: one is stored and one is to be measured; "
            "name two stored runs or two revisions"
        )
    return _answer(*runs, loaded.suite.policy, command_of(request), request.fail_on)


def report(workplace: Workplace, base: str, head: str) -> SuiteComparison:
    """Judge two stored runs by the policy of their suite.

    Raises:
        RequestError: A side is no stored run, or the runs are of two suites.
        StoreError: A run cannot be read.
    """
    runs = stored_run(workplace, base), stored_run(workplace, head)
    suite = runs[1].manifest.suite
    policy = workplace.suite(suite).suite.policy
    return _answer(*runs, policy, shlex.join(["regress", "report", base, head]), frozenset())


def stored_run(workplace: Workplace, text: str) -> Run:
    """Read a stored run, named as a side.

    Raises:
        RequestError: It names no stored run.
        StoreError: It cannot be read.
    """
    side = workplace.parse(text)
    if not isinstance(side, StoredSide):
        raise RequestError(f"{text!r:.80} is no stored run; `regress list` names those there are")
    return _read(workplace, side)


def _read(workplace: Workplace, side: StoredSide) -> Run:
    if side.folder is not None:
        return read_run(workplace.folder / side.folder)
    return read_run(find_run(workplace.project.store, side.run or ""))


def _answer(base: Run, head: Run, policy: Policy, command: str, fail_on: frozenset[str]) -> SuiteComparison:
    if base.manifest.suite != head.manifest.suite:
        raise RequestError(
            f"run {base.manifest.run} is of suite {base.manifest.suite}, and run {head.manifest.run} "
            f"of {head.manifest.suite}; compare runs of one suite"
        )
    return judge(base, head, policy, command=command, fail_on=fail_on)


def command_of(request: CompareRequest) -> str:
    """What to type to compare again."""
    words = ["regress", "compare", request.base, request.head, "--suite", request.suite]
    if request.benchmarks_from:
        words += ["--benchmarks-from", request.benchmarks_from]
    return shlex.join(words)


def _measured(
    workplace: Workplace,
    request: CompareRequest,
    loaded: LoadedSuite,
    asked: tuple[RevisionSide, RevisionSide],
    progress: Progress,
    launcher_for: LauncherFor,
) -> tuple[Run, Run]:
    progress.say("laying out both sides")
    base, head = asked
    source = request.benchmarks_from or head.rev or "installed"
    benchmarks = workplace.benchmarks(source)
    sides = (
        workplace.prepare("base", request.base, base, benchmarks),
        workplace.prepare("head", request.head, head, benchmarks),
    )
    progress.say("reading the benchmarks")
    catalogs = read_catalogs([side.code for side in sides], workplace.cache)
    seed = secrets.randbits(32) if request.seed is None else request.seed
    undertaking = undertake(loaded, sides, tuple(catalogs), seed)
    with launcher_for(undertaking, workplace.cache) as launcher:
        writers = open_runs(undertaking, workplace.project.store, source)
        measure(undertaking, writers, launcher, progress)
    return read_run(writers["base"].folder), read_run(writers["head"].folder)
