"""`regress baseline`: which run others are compared with."""

from __future__ import annotations

import itertools
from datetime import datetime, timezone

from regress.errors import RegressError, RequestError
from regress.flows.stored import stored_run
from regress.flows.workplace import Workplace
from regress.record.baseline import Baseline, Blessing
from regress.record.baseline import bless as reduce_run
from regress.record.platform import Platform
from regress.record.run import Run
from regress.record.series import Workload, one_workload
from regress.spec.plan import read_plan
from regress.stats.compare import FEWEST
from regress.store.baselines import find, list_baselines, read_baseline, write_baseline
from regress.store.runs import list_runs, read_run

LEAST = 3
"""Launches of every benchmark of a baseline."""

MOST_CHARACTERS = 300
"""Of a reason."""


class NoBaseline(RegressError):
    """There is none; the text says what to type."""


def bless(workplace: Workplace, text: str, reason: str) -> Blessing:
    """Make a stored run the baseline of its suite and platform.

    Args:
        workplace: Whose baseline it becomes.
        text: The run, named as a side.
        reason: Why; may be empty.

    Raises:
        RequestError: It is no stored run, or one that cannot be a baseline; nothing was written.
        StoreError: The run or the baseline before it cannot be read, or the file cannot be written.
    """
    if not reason.isprintable():
        raise RequestError(f"--reason {reason!r:.80} holds control characters; write one plain line")
    if len(reason) > MOST_CHARACTERS:
        raise RequestError(
            f"--reason is longer than {MOST_CHARACTERS} characters; put the rest into the commit"
        )
    run = stored_run(workplace, text)
    refused = _refusal(run)
    platform = platform_of(run)
    if refused or platform is None:
        raise RequestError(refused or f"run {run.manifest.run} does not tell its platform; measure it again")
    root = workplace.project.root
    before = find(root, run.manifest.suite, platform)
    baseline = reduce_run(run, platform, blessed=_now(), reason=reason, replaces=_before(before, run))
    file = write_baseline(root, baseline)
    return Blessing(
        file=str(file.relative_to(root)), baseline=baseline, replaced=before, warnings=_warnings(run)
    )


def baselines(workplace: Workplace, suite: str | None) -> tuple[Baseline, ...]:
    """All baselines of the project, or of a suite, by suite and platform.

    Raises:
        NoBaseline: There are none.
        StoreError: One cannot be read.
    """
    root = workplace.project.root
    found = tuple(read_baseline(file) for file in list_baselines(root, suite))
    if not found:
        whose = f"suite {suite!r:.80}" if suite else f"{root}"
        raise NoBaseline(f"{whose} has no baseline; `regress baseline bless RUN` makes a stored run one")
    return found


def find_baseline(workplace: Workplace, suite: str, platform: Platform) -> Baseline:
    """The baseline of a suite on a platform.

    Raises:
        NoBaseline: There is none; the text says what to type.
        StoreError: It cannot be read.
    """
    found = find(workplace.project.root, suite, platform)
    if found is not None:
        return found
    others = [file.stem for file in list_baselines(workplace.project.root, suite)]
    elsewhere = f" (there are baselines for {', '.join(others)})" if others else ""
    candidate = _candidate(workplace, suite, platform)
    advice = (
        f"`regress baseline bless {candidate}`"
        if candidate
        else f"`regress run {suite}{' --side HEAD' if workplace.repository else ''}`, "
        "then `regress baseline bless RUN`"
    )
    raise NoBaseline(f"suite {suite} has no baseline on {platform.key}{elsewhere}; type {advice}")


def platform_of(run: Run) -> Platform | None:
    """The host that a run was measured on; in old runs that of its largest launch."""
    if run.manifest.platform is not None:
        return run.manifest.platform
    launches = sorted(run.launches, key=lambda launch: -launch.world_size)
    return next((launch.platform for launch in launches if launch.platform is not None), None)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _before(before: Baseline | None, run: Run) -> str | None:
    """The run that was blessed before; blessing one run twice does not make it its own predecessor."""
    if before is None:
        return None
    return before.replaces if before.run == run.manifest.run else before.run


def _candidate(workplace: Workplace, suite: str, platform: Platform) -> str | None:
    """The newest stored run that could be blessed."""
    for folder in reversed(list_runs(workplace.project.store, suite)):
        try:
            run = read_run(folder)
            found = platform_of(run)
            if found is not None and found.fingerprint == platform.fingerprint and not _refusal(run):
                return run.manifest.run
        except RegressError:  # `regress list` names what cannot be read
            continue
    return None


def _refusal(run: Run) -> str:
    """Why a run cannot be a baseline, in one line; empty when it can."""
    name = run.manifest.run
    if not run.complete:
        return f"run {name} was not finished; type the command that measures it again, and it goes on"
    if not run.launches:
        return f"run {name} has no launches; measure it again"
    if run.manifest.purpose != "comparison":
        return f"run {name} was measured for a {run.manifest.purpose}, perhaps slowed down; measure one anew"
    for launch in run.launches:
        for each in launch.measurements:
            if not each.outcome.ok:
                return (
                    f"run {name}: {each.benchmark} failed in block {launch.block} ({each.outcome.kind}); "
                    "a baseline is sound in all launches"
                )
    return _differing(run) or _too_few(run)


def _differing(run: Run) -> str:
    platforms: dict[int, set[str]] = {}
    definitions: dict[str, set[str]] = {}
    workloads: dict[str, list[Workload]] = {}
    for launch in run.launches:
        if launch.platform is not None:
            platforms.setdefault(launch.world_size, set()).add(launch.platform.fingerprint)
        for each in launch.measurements:
            definitions.setdefault(each.benchmark, set()).add(each.definition)
            if each.workload is not None:
                workloads.setdefault(each.benchmark, []).append(each.workload)
    name = run.manifest.run
    if any(len(found) > 1 for found in platforms.values()):
        return f"run {name} was measured on two platforms; bless one that was measured on one"
    several = (label for label, found in definitions.items() if len(found) > 1)
    others = (label for label, found in workloads.items() if one_workload(found) is None)
    changed = next(itertools.chain(several, others), None)
    return (
        f"run {name}: {changed} was not one and the same in all launches; measure it again" if changed else ""
    )


def _too_few(run: Run) -> str:
    for label, launches in _launches(run).items():
        if launches < LEAST:
            return (
                f"run {run.manifest.run}: {label} has {_counted(launches)}; a baseline needs {LEAST}, and "
                f"{FEWEST['unpaired']} for times to be judged: `regress run --launches {FEWEST['unpaired']}`"
            )
    return ""


def _warnings(run: Run) -> tuple[str, ...]:
    """What cannot be judged with a run that is not measured again."""
    name, fewest = run.manifest.run, FEWEST["unpaired"]
    warnings = []
    if run.manifest.commit is None:
        warnings.append(f"run {name} is of no commit, so only `--stored` compares with it")
    short = {label: number for label, number in _launches(run, alone=True).items() if number < fewest}
    if short:
        label, number = min(short.items(), key=lambda pair: pair[1])
        more = f" (and {len(short) - 1} more)" if len(short) > 1 else ""
        warnings.append(
            f"times cannot be judged with `--stored`: {label}{more} has {_counted(number)} that ran alone, "
            f"and {fewest} are needed; `regress run --launches {fewest}` measures so many"
        )
    return tuple(warnings)


def _launches(run: Run, *, alone: bool = False) -> dict[str, int]:
    """Launches in which each planned or measured benchmark was measured: all, or those alone."""
    planned = read_plan(run.manifest.plan).benchmarks if run.manifest.plan else ()
    counts = dict.fromkeys((benchmark.label for benchmark in planned), 0)
    for launch in run.launches:
        for each in launch.measurements:
            counts[each.benchmark] = counts.get(each.benchmark, 0) + (launch.alone or not alone)
    return counts


def _counted(number: int) -> str:
    return f"{number} launch" if number == 1 else f"{number} launches"
