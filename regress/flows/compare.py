"""`regress compare`: two sides in, one answer out."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from regress.errors import RequestError
from regress.flows.machinery import THIS_HOST, Machinery
from regress.flows.measure import measure, open_runs, undertake
from regress.flows.progress import Progress
from regress.flows.workplace import Workplace
from regress.record.comparison import SuiteComparison
from regress.record.run import Run
from regress.spec.policy import Policy
from regress.spec.side import RevisionSide, StoredSide
from regress.spec.suite import LoadedSuite
from regress.store.runs import find_run, read_run
from regress.verdict.judge import judge

DEFAULT_SUITE = "commit"
"""What is measured where the user names no suite."""


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """What the user asked for."""

    base: str
    """The side that head is compared with, as written."""

    head: str
    """The side that is judged, as written."""

    suite: str | None = None
    """Name or path; ``None``: `DEFAULT_SUITE`, or that of two stored runs."""

    benchmarks_from: str | None = None
    """Whose benchmark files run on both sides; ``None``: head's, or the installed ones where
    head is no revision."""

    fail_on: frozenset[str] = frozenset()
    """Further verdicts that fail."""

    seed: int | None = None
    """Of every order; ``None`` draws one, which the plan records."""


def compare(
    workplace: Workplace,
    request: CompareRequest,
    progress: Progress,
    machinery: Machinery = THIS_HOST,
) -> SuiteComparison:
    """Measure two sides and judge them, or judge two runs that are stored.

    Raises:
        RequestError: The request is wrong; nothing was written.
        LaunchError: The machinery failed; what was measured is kept.
        StoreError: A run cannot be kept or read.
    """
    base, head = workplace.parse(request.base), workplace.parse(request.head)
    if isinstance(base, StoredSide) and isinstance(head, StoredSide):
        if request.benchmarks_from is not None or request.seed is not None:
            raise RequestError("two stored runs are not measured again; omit --benchmarks-from and --seed")
        runs = _read(workplace, base), _read(workplace, head)
        policy = _policy(workplace, runs, request.suite)
        command = _command(request, request.base, request.head)
    elif isinstance(base, RevisionSide) and isinstance(head, RevisionSide):
        loaded = workplace.suite(request.suite or DEFAULT_SUITE)
        base_run, head_run, command = _measured(workplace, request, loaded, (base, head), progress, machinery)
        runs = base_run, head_run
        policy = loaded.suite.policy
    else:
        raise RequestError(
            f"{request.base} and {request.head}: one is stored and one is to be measured; "
            "name two stored runs or two revisions"
        )
    return judge(*runs, policy, command=command, fail_on=request.fail_on)


def report(workplace: Workplace, base: str, head: str) -> SuiteComparison:
    """Judge two stored runs by the policy of their suite.

    Raises:
        RequestError: A side is no stored run, or the runs are of two suites.
        StoreError: A run cannot be read.
    """
    runs = stored_run(workplace, base), stored_run(workplace, head)
    policy = _policy(workplace, runs, None)
    return judge(*runs, policy, command=shlex.join(["regress", "report", base, head]))


def stored_run(workplace: Workplace, text: str) -> Run:
    """Read a stored run, named as a side.

    Raises:
        RequestError: It names no stored run.
        StoreError: It cannot be read.
    """
    return _read(workplace, workplace.stored(text))


def _read(workplace: Workplace, side: StoredSide) -> Run:
    if side.folder is not None:
        return read_run(workplace.folder / side.folder)
    return read_run(find_run(workplace.project.store, side.run or ""))


def _policy(workplace: Workplace, runs: Sequence[Run], suite: str | None) -> Policy:
    """The policy of a suite, else of the one that both runs are of."""
    base, head = (run.manifest for run in runs)
    if base.suite != head.suite:
        raise RequestError(
            f"run {base.run} is of suite {base.suite!r:.80}, and run {head.run} of {head.suite!r:.80}; "
            "compare runs of one suite"
        )
    return workplace.suite(suite or head.suite).suite.policy


def _command(request: CompareRequest, base: str, head: str, *options: str) -> str:
    words = ["regress", "compare", base, head]
    if request.suite is not None:
        words += ["--suite", request.suite]
    return shlex.join([*words, *options])


def _measured(
    workplace: Workplace,
    request: CompareRequest,
    loaded: LoadedSuite,
    asked: tuple[RevisionSide, RevisionSide],
    progress: Progress,
    machinery: Machinery,
) -> tuple[Run, Run, str]:
    """Measure; returns both runs and the command that does the same again, by hashes and seed."""
    if workplace.repository is not None and workplace.repository.is_dirty():
        progress.say("the working tree has uncommitted changes, and commits are what is measured")
    progress.say("laying out both sides")
    base, head = (workplace.pinned(side) for side in asked)
    source = workplace.pinned_source(request.benchmarks_from or head.rev or "installed")
    benchmarks = workplace.benchmarks(source)
    sides = (
        workplace.prepare("base", request.base, base, benchmarks),
        workplace.prepare("head", request.head, head, benchmarks),
    )
    progress.say("reading the benchmarks")
    catalogs = machinery.catalogs([side.code for side in sides], workplace.cache)
    seed = secrets.randbits(32) if request.seed is None else request.seed
    undertaking = undertake(loaded, sides, tuple(catalogs), seed)
    with machinery.launcher(undertaking, workplace.cache) as launcher:
        writers = open_runs(undertaking, workplace.project.store, source)
        measure(undertaking, writers, launcher, progress)
    runs = read_run(writers["base"].folder), read_run(writers["head"].folder)
    options = ["--benchmarks-from", source] if request.benchmarks_from else []
    return *runs, _command(request, base.text, head.text, *options, "--seed", str(seed))
