"""`regress compare`: two sides in, one answer out."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from regress.errors import RequestError
from regress.flows.baseline import find_baseline
from regress.flows.budget import within_budget
from regress.flows.calibrations import last_calibration, with_calibration
from regress.flows.earlier import earlier_runs, noise_of_stored
from regress.flows.machinery import THIS_HOST, Machinery, Site
from regress.flows.measure import carry_out
from regress.flows.progress import Progress
from regress.flows.run import one_sided
from regress.flows.stored import policy_of, read_stored, stored_run
from regress.flows.undertaking import ORDINARY, Means
from regress.flows.workplace import INSTALLED, MeasuredSide, Workplace
from regress.launch.lock import HostLock
from regress.record.baseline import as_run
from regress.record.comparison import SuiteComparison
from regress.record.noise import Noise
from regress.record.platform import Platform
from regress.record.run import Run
from regress.spec.benchmark import Benchmark, Catalog
from regress.spec.plan import read_plan
from regress.spec.policy import Policy
from regress.spec.side import WORKTREE, BaselineSide, CodeSide, Side, StoredSide
from regress.spec.suite import LoadedSuite
from regress.stats.compare import FEWEST
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

    stored: bool | None = None
    """Whether a side that was measured is taken as it is stored (``True``) or its commit is
    measured again (``False``); ``None``: as it is stored if nothing else has to be measured."""

    benchmarks_from: str | None = None
    """Whose benchmark files run on both sides; ``None``: head's, or the installed ones where
    head is no revision."""

    fail_on: frozenset[str] = frozenset()
    """Further verdicts that fail."""

    means: Means = ORDINARY
    """How what has to be measured is measured."""

    only: tuple[Benchmark, ...] = ()
    """Benchmarks of the suite, where both sides are measured; empty: all of them."""


def compare(
    workplace: Workplace,
    request: CompareRequest,
    progress: Progress,
    machinery: Machinery = THIS_HOST,
) -> SuiteComparison:
    """Measure two sides and judge them, or judge what is stored.

    Raises:
        RequestError: The request is wrong; nothing was written.
        LaunchError: The machinery failed; what was measured is kept.
        StoreError: A run cannot be kept or read.
    """
    base, head = parse_sides(workplace, request)
    site = Site(workplace=workplace, means=request.means, progress=progress, machinery=machinery)
    if is_measured(request, base, head):
        return _measured(site, request, base, head)
    measured = [side for side in (base, head) if isinstance(side, CodeSide)]
    if len(measured) == 2:
        raise RequestError("--stored: neither side is stored; name a stored run or `baseline`")
    if measured:
        return _against_stored(site, request, base, head)
    return _stored(workplace, request, base, head)


def parse_sides(workplace: Workplace, request: CompareRequest) -> tuple[Side, Side]:
    """Read both sides as the user wrote them.

    Raises:
        RequestError: One means nothing, or two things, or head is a baseline.
    """
    base, head = workplace.parse(request.base), workplace.parse(request.head)
    if isinstance(head, BaselineSide):
        raise RequestError("a baseline is what others are compared with; write it as BASE")
    return base, head


def is_measured(request: CompareRequest, base: Side, head: Side) -> bool:
    """Whether both sides are measured, together."""
    if request.stored is not None:
        return not request.stored
    return isinstance(base, CodeSide) or isinstance(head, CodeSide)


def report(workplace: Workplace, base: str, head: str) -> SuiteComparison:
    """Judge two stored runs by the policy of their suite.

    Raises:
        RequestError: A side is no stored run, or the runs are of two suites.
        StoreError: A run cannot be read.
    """
    runs = stored_run(workplace, base), stored_run(workplace, head)
    policy = policy_of(workplace, *runs, None)
    return _judged(workplace, *runs, policy, shlex.join(["regress", "report", base, head]))


def _stored(workplace: Workplace, request: CompareRequest, base: Side, head: Side) -> SuiteComparison:
    """Judge what is stored."""
    if request.benchmarks_from is not None or request.means != ORDINARY:
        raise RequestError(
            "two stored runs are not measured again; omit the options of measuring, or add --measure"
        )
    assert isinstance(head, StoredSide)  # noqa: S101 - the caller has seen to it
    head_run = read_stored(workplace, head)
    base_run = _kept(workplace, base, head_run)
    command = _command(request, request.base, request.head)
    policy = policy_of(workplace, base_run, head_run, request.suite)
    return _judged(workplace, base_run, head_run, policy, command, request.fail_on)


def _judged(
    workplace: Workplace,
    base: Run,
    head: Run,
    policy: Policy,
    command: str,
    fail_on: frozenset[str] = frozenset(),
) -> SuiteComparison:
    """Judge two runs with what else the store tells: how runs of other times differ, the last calibration.

    Runs that were measured together have it in their manifests.
    """
    notes: list[str] = []
    noise: tuple[Noise, ...] = ()
    if base.manifest.comparison != head.manifest.comparison:
        earlier = earlier_runs(workplace.project.store, head.manifest.suite, notes.append)
        noise = noise_of_stored(base, head, earlier)
    answer = judge(base, head, policy, command=command, fail_on=fail_on, noise=noise, notes=notes)
    return with_calibration(answer, last_calibration(workplace, base, head))


def _kept(workplace: Workplace, side: Side, other: Run) -> Run:
    """A side as it is stored; a baseline is that of the other run's suite and platform."""
    if isinstance(side, StoredSide):
        return read_stored(workplace, side)
    if other.manifest.platform is None:
        raise RequestError(f"run {other.manifest.run} does not tell its platform, so it has no baseline")
    return _baseline(workplace, other.manifest.suite, other.manifest.platform)


def _baseline(workplace: Workplace, suite: str, platform: Platform) -> Run:
    """The blessed run of a suite and a platform, as far as its file tells."""
    return as_run(find_baseline(workplace, suite, platform))


def _against_stored(site: Site, request: CompareRequest, base: Side, head: Side) -> SuiteComparison:
    """Measure the one side that is not stored, and judge it beside the other."""
    workplace = site.workplace
    if (site.means.most_blocks, site.means.budget_s) != (None, None):
        raise RequestError("--budget is for sides that are measured together; omit it, or --stored")
    code, name = (head, request.head) if isinstance(head, CodeSide) else (base, request.base)
    assert isinstance(code, CodeSide)  # noqa: S101 - the caller has seen to it
    kept = [read_stored(workplace, side) for side in (base, head) if isinstance(side, StoredSide)]
    loaded = workplace.suite(request.suite or (kept[0].manifest.suite if kept else DEFAULT_SUITE))
    source = _source(workplace, request, code)
    with HostLock(site.means.wait_s, site.progress.say) as host:
        side = workplace.prepare("only", name, code, workplace.benchmarks(source))
        catalogs = site.catalogs(side)
        if not kept:
            kept = [_baseline(workplace, loaded.name, catalogs[0].platform)]
        (measured,) = carry_out(
            site,
            one_sided(loaded, max(FEWEST["unpaired"], loaded.suite.blocks.count)),
            [side],
            catalogs,
            source,
            host,
        )
    runs = (kept[0], measured) if code is head else (measured, kept[0])
    policy = policy_of(workplace, *runs, request.suite)
    command = _command(request, request.base, request.head, "--stored")
    return _judged(workplace, *runs, policy, command, request.fail_on)


def _measured(site: Site, request: CompareRequest, base: Side, head: Side) -> SuiteComparison:
    """Measure both sides together. What is stored is measured again, at its commit."""
    workplace = site.workplace
    with HostLock(site.means.wait_s, site.progress.say) as host:
        ready = lay_out(site, request, base, head)
        runs = carry_out(site, ready.loaded, ready.sides, ready.catalogs, ready.source, host)
    base_run, head_run = runs
    pinned = (workplace.pinned_side(code).text for code in ready.codes)
    options = ["--benchmarks-from", ready.source] if request.benchmarks_from else []
    options += _budget(site.means)
    seed = str(read_plan(head_run.manifest.plan).seed)
    command = _command(request, *pinned, *options, "--seed", seed)
    return _judged(workplace, base_run, head_run, ready.loaded.suite.policy, command, request.fail_on)


@dataclass(frozen=True, kw_only=True)
class LaidOut:
    """Two sides that can be measured together."""

    loaded: LoadedSuite
    """With as many blocks as the budget allows for."""

    codes: tuple[CodeSide, CodeSide]
    """What base and head are of."""

    sides: tuple[MeasuredSide, MeasuredSide]
    """Base and head, ready to be launched."""

    catalogs: tuple[Catalog, ...]
    """Of each side."""

    source: str
    """Where the benchmark files came from."""


def lay_out(site: Site, request: CompareRequest, base: Side, head: Side) -> LaidOut:
    """Lay out the code of both sides and read their benchmarks. The caller holds the lock of the host.

    Raises:
        RequestError: The request is wrong; nothing was written.
        LaunchError: The benchmarks cannot be read.
        StoreError: The store cannot be read.
    """
    workplace = site.workplace
    loaded = workplace.suite(request.suite or DEFAULT_SUITE)
    if request.only:
        loaded = loaded.only(request.only)
    environment = next((side.environment for side in (head, base) if isinstance(side, CodeSide)), None)
    head_code = _code(workplace, head, environment)
    source = _source(workplace, request, head_code)
    site.progress.say("laying out both sides")
    benchmarks = workplace.benchmarks(source)
    head_side = workplace.prepare("head", request.head, head_code, benchmarks)
    if isinstance(base, BaselineSide):
        (catalog,) = site.catalogs(head_side)
        baseline = _baseline(workplace, loaded.name, catalog.platform)
        base_code = _again(workplace, baseline, environment)
    else:
        base_code = _code(workplace, base, environment)
    base_side = workplace.prepare("base", request.base, base_code, benchmarks)
    if workplace.is_dirty and not (base_code.worktree or head_code.worktree):
        site.progress.say("the working tree has uncommitted changes, and commits are what is measured")
    catalogs = site.catalogs(base_side, head_side)
    return LaidOut(
        loaded=within_budget(site, loaded, catalogs[-1]),
        codes=(base_code, head_code),
        sides=(base_side, head_side),
        catalogs=catalogs,
        source=source,
    )


def _budget(means: Means) -> list[str]:
    """The budget as it is typed."""
    if means.most_blocks is not None:
        return ["--budget", str(means.most_blocks)]
    return [] if means.budget_s is None else ["--budget", f"{means.budget_s:.0f}s"]


def _code(workplace: Workplace, side: Side, environment: str | None) -> CodeSide:
    """The side itself if it is to be measured, else the commit that a stored run is of."""
    if isinstance(side, CodeSide):
        return side
    assert isinstance(side, StoredSide)  # noqa: S101 - baselines are looked up by platform first
    return _again(workplace, read_stored(workplace, side), environment)


def _again(workplace: Workplace, run: Run, environment: str | None) -> CodeSide:
    """The commit of a run that was measured, in the environment of the other side."""
    commit, name = run.manifest.commit, run.manifest.run
    if commit is None:
        raise RequestError(
            f"run {name} is of no commit and cannot be measured again; "
            "add --stored to compare with it as it is"
        )
    if workplace.repository is None or not workplace.repository.has(commit):
        raise RequestError(
            f"run {name} is of commit {commit[:12]}, which is not in this repository; "
            "fetch it, or add --stored to compare with the run as it is"
        )
    return CodeSide(rev=commit, environment=environment)


def _source(workplace: Workplace, request: CompareRequest, head: CodeSide) -> str:
    """Whose benchmark files are run, so that it means the same tomorrow."""
    own = WORKTREE if head.worktree else head.rev or INSTALLED
    return workplace.pinned(request.benchmarks_from or own)


def _command(request: CompareRequest, base: str, head: str, *options: str) -> str:
    words = ["regress", "compare", base, head]
    if request.suite is not None:
        words += ["--suite", request.suite]
    return shlex.join([*words, *options])
