"""Which benchmarks take part in the next block of a comparison, and whether there is time for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from regress.flows.progress import Progress
from regress.flows.undertaking import Undertaking
from regress.record.run import Launch, Run
from regress.spec.plan import SPARE, Block, Plan
from regress.spec.policy import Policy
from regress.store.runset import RunSet
from regress.verdict.buying import undecided
from regress.verdict.evidence import elapsed_s, pauses_s

Undecided = Callable[[RunSet, Block], Collection[str]]
"""The labels of the benchmarks that are worth more blocks, by what the runs hold up to a block."""


def undecided_after(policy: Policy, runs: RunSet, block: Block) -> Collection[str]:
    """Judge what was measured up to a block, as if that were all.

    Where an interrupted measurement goes on, the runs hold later blocks too.
    """
    base, head = (
        Run(
            manifest=runs.writers[role].manifest,
            launches=tuple(each for each in runs.writers[role].launches if each.block <= block.index),
            folder=str(runs.writers[role].folder),
            complete=True,
        )
        for role in ("base", "head")
    )
    return undecided(base, head, policy)


def still_asked(
    asked: Collection[str], worth: Collection[str], blocks: int, progress: Progress
) -> Collection[str]:
    """Those that are worth more blocks, after a look; how many others there are is told."""
    left = [label for label in asked if label in worth]
    done = len(asked) - len(left)
    if done:
        what = "the one benchmark" if done == 1 == len(asked) else f"{done} of {len(asked)} benchmarks"
        progress.say(f"no more blocks for {what}, after {blocks}: decided, or hopeless")
    return left


def short(runs: RunSet, plan: Plan, spare: Block, asked: Collection[str]) -> list[str]:
    """Those benchmarks that lost more blocks than there are spare ones before this one."""
    before = sum(block.spare and block.index < spare.index for block in plan.blocks)
    planned = {block.index for block in plan.tested if not block.spare}
    found = []
    for label in asked:
        usable = set.intersection(*(_usable(writer.launches, label) for writer in runs.writers.values()))
        if before < len(planned - usable) <= SPARE * len(planned):
            found.append(label)
    return found


def is_spent(undertaking: Undertaking, runs: RunSet, block: Block) -> bool:
    """Whether a block would probably end after the time that there is.

    It takes as long as the one before, or half as long where in that each side ran alone, and what it
    takes to make it ready. What was
    measured of the block itself before an interruption does not count: the answer is the one that
    it would have had without.
    """
    budget_s = undertaking.means.budget_s
    if budget_s is None:
        return False
    launches = [each for writer in runs.writers.values() for each in writer.launches]
    before = [launch for launch in launches if launch.block < block.index]
    if not before:
        return False
    newest = max(launch.block for launch in before)
    last = [launch for launch in before if launch.block == newest]
    next_s = elapsed_s(last) / (2 if last[0].alone and not block.alone else 1)
    ready_s = pauses_s(before)
    ready_s += ready_s / len({launch.block for launch in before})
    return elapsed_s(before) + ready_s + next_s > budget_s


def _usable(launches: Sequence[Launch], label: str) -> set[int]:
    """Blocks in which a side measured a benchmark."""
    return {
        launch.block
        for launch in launches
        for measurement in launch.measurements
        if measurement.benchmark == label and measurement.outcome.ok
    }
