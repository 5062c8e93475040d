"""`regress calibrate`: the tool tests itself on this platform, with equal sides and planted slowdowns.

All arms are one plan: a round holds one block of each arm, in an order that is drawn anew. So an
interruption or a budget leaves as many blocks of one arm as of another, and the arms met the same machine.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regress.errors import RequestError
from regress.flows.arms import Arm
from regress.flows.calibrated import describe, mode_of
from regress.flows.earlier import block_s, earlier_runs
from regress.flows.levels import levels_of_code
from regress.flows.machinery import THIS_HOST, Machinery, Site
from regress.flows.measure import measure_block, scratch_folder
from regress.flows.progress import Progress
from regress.flows.undertaking import ORDINARY, Means, Undertaking, open_runs, undertake
from regress.flows.warmth import kept_caches
from regress.flows.workplace import INSTALLED, MeasuredSide, Workplace
from regress.launch.launcher import Launcher
from regress.launch.lock import HostLock
from regress.launch.residency import refuse_if_too_large
from regress.record.calibration import Calibration, Slowdown
from regress.record.platform import Platform
from regress.record.run import Run
from regress.spec.plan import Block, Plan
from regress.spec.side import WORKTREE, CodeSide
from regress.spec.suite import LoadedSuite
from regress.store.calibrations import latest, list_calibrations, read_calibration, write_calibration
from regress.store.runset import RunSet
from regress.units import duration
from regress.verdict.criteria import criteria_for
from regress.verdict.evidence import elapsed_s

FEWEST_BLOCKS = 10
"""Blocks of each arm where nobody says how many, or as many as the suite's own where it has more."""

FEWEST_ROUNDS = 2
"""Measured whatever the budget: fewer show no noise."""

SMALL = 0.02
"""Of the smaller slowdown that is planted by default; the larger one is what the suite must see."""


@dataclass(frozen=True, kw_only=True)
class CalibrateRequest:
    """What the user asked for."""

    suite: str
    """Name or path."""

    blocks: int | None = None
    """Of each arm; ``None``: `FEWEST_BLOCKS`, or the suite's number where that is larger."""

    planted: tuple[Slowdown, ...] | None = None
    """What is planted, each in an arm of its own; ``None``: matrix products, a small and a large amount."""

    means: Means = ORDINARY
    """How it is measured; a budget ends it between two rounds."""


def calibrate(
    workplace: Workplace,
    request: CalibrateRequest,
    progress: Progress,
    machinery: Machinery = THIS_HOST,
) -> Calibration:
    """Measure equal sides and planted slowdowns, and keep what they say of this platform.

    Raises:
        RequestError: The request is wrong; nothing was written.
        LaunchError: The machinery failed; what was measured is kept, and the same request goes on.
        StoreError: The store cannot be written or read.
    """
    if request.blocks is not None and request.blocks < FEWEST_ROUNDS:
        raise RequestError(f"fewer than {FEWEST_ROUNDS} blocks show no noise; ask for more")
    site = Site(workplace=workplace, means=request.means, progress=progress, machinery=machinery)
    loaded = workplace.suite(request.suite)
    with HostLock(request.means.wait_s, progress.say) as host:
        progress.say("laying out both sides")
        first, second, source = _laid_out(workplace, loaded)
        catalogs = site.catalogs(first, second)
        slowdowns = _slowdowns(request, loaded, catalogs[-1].platform)
        arms = tuple(Arm.of(slowdown) for slowdown in (None, *slowdowns))
        sides = [replace(side, role=role) for arm in arms for side, role in _roles(arm, first, second)]
        by_role = [catalog for _ in arms for catalog in catalogs]
        undertaking = undertake(
            loaded,
            sides,
            by_role,
            request.means,
            pin_ranks=workplace.project.project.pin_ranks,
            canary=workplace.project.project.canary,
        )
        undertaking = _arranged(undertaking, arms, loaded, request)
        store, platform = workplace.project.store, catalogs[-1].platform
        earlier = earlier_runs(store, loaded.name, progress.say)
        levels = levels_of_code(store, earlier, platform, mode_of(undertaking))
        host.claim(undertaking.device_ids)
        with machinery.launcher(undertaking, workplace.cache) as launcher:
            plan, runs = open_runs(undertaking, workplace, source, progress)
            undertaking = replace(undertaking, plan=plan)
            with runs, kept_caches(undertaking, runs, workplace.cache) as warm:
                expected_s = _block_s_before(undertaking, store, earlier)
                rounds, seconds = _Measuring(warm, runs, launcher, site).carry_out(expected_s)
                answer = describe(undertaking, arms, runs, levels, loaded, rounds=rounds, seconds=seconds)
                answer = _keep(store, answer)
                runs.close()
    return answer


def _laid_out(workplace: Workplace, loaded: LoadedSuite) -> tuple[MeasuredSide, MeasuredSide, str]:
    """Two sides of the same code, each in a folder of its own where git lays it out; and whose benchmarks.

    Those of the project are taken as they lie where the suite is the project's, else the installed ones.
    """
    root = workplace.project.root
    if loaded.file.resolve().parent != (root / "configs").resolve():
        side = CodeSide(rev=None, environment=None)
        prepared = workplace.prepare("first", INSTALLED, side, workplace.benchmarks(INSTALLED))
        return prepared, prepared, INSTALLED
    if workplace.repository is None:
        prepared = workplace.prepare_here("first")
        return prepared, prepared, WORKTREE
    side, benchmarks = CodeSide(rev=None, worktree=True, environment=None), workplace.benchmarks(WORKTREE)
    first, second = (
        workplace.prepare("first", WORKTREE, side, benchmarks, again=again) for again in (False, True)
    )
    return first, second, WORKTREE


def _roles(arm: Arm, first: MeasuredSide, second: MeasuredSide) -> Iterator[tuple[MeasuredSide, str]]:
    yield from zip((first, second), arm.roles, strict=True)


def _slowdowns(request: CalibrateRequest, loaded: LoadedSuite, platform: Platform) -> tuple[Slowdown, ...]:
    if request.planted is not None:
        return request.planted
    large = criteria_for(loaded.suite.policy, platform).must_see
    amounts = dict.fromkeys(amount for amount in (SMALL, large) if amount > 0)
    return tuple(Slowdown(kind="kernel", fraction=amount) for amount in amounts)


def _arranged(
    undertaking: Undertaking, arms: Sequence[Arm], loaded: LoadedSuite, request: CalibrateRequest
) -> Undertaking:
    """The undertaking with one block to begin with, then the rounds.

    The first block is one of equal sides, each alone: it warms caches, tells how long a block takes, and
    counts for nothing else. Side order comes in permuted pairs of an arm's blocks, as in a comparison.
    """
    plan = undertaking.plan
    count = request.blocks or max(FEWEST_BLOCKS, loaded.suite.blocks.count)
    alone = undertaking.catalogs[-1].device == "cuda" and not request.means.resident
    draw = random.Random(f"{plan.seed}/arms")
    labels = [benchmark.label for benchmark in plan.benchmarks]
    orders = {arm: _orders(arm, draw) for arm in arms}
    rounds = [arm for _ in range(count) for arm in draw.sample(list(arms), len(arms))]
    blocks = [
        replace(
            plan.blocks[0],
            index=index,
            alone=alone or index == 0,
            counted=False,
            sides=next(orders[arm]),
            benchmarks=tuple(draw.sample(labels, len(labels))),
        )
        for index, arm in enumerate([arms[0], *rounds])
    ]
    planted = tuple((role, arm.slowdown) for arm in arms for role in arm.roles)
    return replace(undertaking, plan=replace(plan, blocks=tuple(blocks)), calibration=planted)


def _orders(arm: Arm, draw: random.Random) -> Iterator[tuple[str, ...]]:
    """Permuted pairs: an order drawn at random, then its reverse."""
    while True:
        order = tuple(draw.sample(arm.roles, 2))
        yield order
        yield order[::-1]


class _Measuring:
    """Carries the plan of a calibration out, round by round."""

    def __init__(self, undertaking: Undertaking, runs: RunSet, launcher: Launcher, site: Site) -> None:
        self._undertaking, self._runs, self._launcher, self._site = undertaking, runs, launcher, site
        self._budget_s = undertaking.means.budget_s
        self._start_s = time.monotonic()
        self._kept_s = _launched_s(runs)

    def carry_out(self, expected_s: float | None) -> tuple[int, float]:
        """Measure until the plan or the budget ends.

        Args:
            expected_s: What a block is thought to take; ``None`` where nobody knows.

        Returns:
            Rounds that were measured, and the seconds spent.
        """
        plan = self._undertaking.plan
        trial, rounds = plan.blocks[0], _rounds(plan)
        self._tell(expected_s, plan)
        with scratch_folder() as scratch:

            def measure(block: Block) -> None:
                if self._undertaking.means.resident and not block.alone:
                    refuse_if_too_large(*(self._runs.writers[role].launches for role in trial.sides))
                measure_block(
                    self._undertaking, block, self._runs, self._launcher, self._site.progress, scratch
                )

            measure(trial)
            self._tell(self._spent_s(), plan)
            longest_s, before_s = 0.0, self._spent_s()
            for done, blocks in enumerate(rounds):
                if self._is_over(longest_s) and done >= FEWEST_ROUNDS:
                    return done, self._spent_s()
                for block in blocks:
                    measure(block)
                now_s = self._spent_s()
                longest_s, before_s = max(longest_s, now_s - before_s), now_s
        return len(rounds), self._spent_s()

    def _is_over(self, round_s: float) -> bool:
        return self._budget_s is not None and self._spent_s() + round_s > self._budget_s

    def _spent_s(self) -> float:
        """Since the beginning; of what an interrupted command did, its launches count."""
        launched_s = _launched_s(self._runs)
        return self._kept_s + max(launched_s - self._kept_s, time.monotonic() - self._start_s)

    def _tell(self, block_s: float | None, plan: Plan) -> None:
        """Say how long it will take."""
        number = len(plan.blocks)
        if block_s is None:
            self._site.progress.say(f"{number} blocks; the first one tells how long they take")
            return
        until = "" if self._budget_s is None else f", or until {duration(self._budget_s)} are spent"
        self._site.progress.say(
            f"{number} blocks of about {duration(block_s)}: about {duration(number * block_s)}{until}"
        )


def _rounds(plan: Plan) -> list[tuple[Block, ...]]:
    arms = len(plan.sides) // 2
    rest = plan.blocks[1:]
    return [rest[start : start + arms] for start in range(0, len(rest), arms)]


def _block_s_before(undertaking: Undertaking, store: Path, earlier: Sequence[Run]) -> float | None:
    """What a block took in the last calibration of this suite here, else in the last comparison."""
    platform, suite = undertaking.catalogs[-1].platform, undertaking.plan.suite
    last = latest(store, platform.key, mode_of(undertaking), suite)
    if last is not None and last.suite == suite:
        return last.seconds / (1 + last.rounds * (1 + len(last.slowdowns)))
    return block_s([run for run in earlier if run.manifest.platform == platform])


def _launched_s(runs: RunSet) -> float:
    """What all launches took; those of resident sides ran at the same time."""
    return elapsed_s([launch for writer in runs.writers.values() for launch in writer.launches])


def _keep(store: Path, answer: Calibration) -> Calibration:
    """Write it; where a command that was killed after that has written it already, that one counts."""
    for file in list_calibrations(store):
        if file.stem.endswith(f"-{answer.calibration}"):
            return read_calibration(file)
    write_calibration(store, answer)
    return answer
