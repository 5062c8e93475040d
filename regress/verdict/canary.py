"""What the canary says: whether the node moved, within a comparison or between two runs.

It runs in one environment for both sides, so it tells nothing of their code. Within a comparison what
it saw is told and changes no verdict: pairs of a block stand the same node. Between runs that were not
measured together it stands against verdicts that the node may have made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from regress.errors import StatsError
from regress.record.canary import PARTS, Canary, Reading
from regress.record.comparison import Verdict
from regress.record.run import Launch
from regress.stats.interval import Estimate, as_log, unpaired_estimate
from regress.units import percent, percents
from regress.verdict.objections import NOTHING, Objection

USUAL = 8.0
"""A reading has moved when it lies by more than so many of the usual deviations from the others: those
are 1.4826 times the median distance of all readings of the comparison from their median."""

LEAST_USUAL = 0.005
"""Least usual deviation, log scale: few readings may agree by chance."""

FEWEST = 12
"""Readings, two a block, from which it is known what is usual; with fewer it is at least `UNKNOWN_USUAL`."""

UNKNOWN_USUAL = 0.025
"""Least usual deviation where it is not known: then a fifth is a move."""

NAMED = 3
"""Moves that are told one by one."""

CONFIDENCE = 0.99
"""Of the interval of how far the node moved between two runs: it may stand against a verdict."""


@dataclass(frozen=True, kw_only=True)
class Move:
    """One piece of the canary's work during one block."""

    block: int
    """Index of the block."""

    part: str
    """A name of `PARTS`."""

    change: float
    """A fraction, positive is slower: from before the block to after it, else against the other blocks."""

    during: bool
    """Whether it moved from before the block to after it."""


def moves(launches: Iterable[Launch]) -> tuple[Move, ...]:
    """Find the blocks of one comparison during which the node moved, or was another than in the others.

    Args:
        launches: Of all sides: the looks around a block belong to all of them.

    Returns:
        The largest first. Blocks are found without asking which side a launch is of, so that
        whoever leaves them out leaves them out on both.
    """
    blocks = _readings(launches)
    found: list[Move] = []
    for part in PARTS:
        found += _moves(part, {block: _logs(readings, part) for block, readings in blocks.items()})
    return tuple(sorted(found, key=lambda move: (-abs(move.change), move.block, move.part)))


def canary_notes(launches: Sequence[Launch]) -> tuple[str, ...]:
    """Say during which blocks of a comparison the node moved, and where that is not known."""
    found = moves(launches)
    notes = [_told(move) for move in found[:NAMED]]
    if len(found) > NAMED:
        notes.append(f"the node moved in {len({move.block for move in found})} blocks in all")
    problems = [launch.canary.problem for launch in launches if launch.canary and launch.canary.problem]
    if problems:
        notes.append(f"canary unknown: {problems[0][:200]}")
    return tuple(notes)


@dataclass(frozen=True, kw_only=True)
class NodeMove:
    """How far the node moved between two runs, by one piece of work."""

    part: str
    """A name of `PARTS`."""

    change: float
    """From base to head, a fraction; positive is slower."""

    low: float
    """Of its interval."""

    high: float
    """Of its interval."""

    @property
    def text(self) -> str:
        """For people: ``matrix product +12.1 % (+10.4 to +13.9 %)``."""
        return f"{PARTS[self.part]} {percent(self.change)} ({percents(self.low, self.high)})"


def node_moves(base: Sequence[Launch], head: Sequence[Launch]) -> tuple[NodeMove, ...] | str:
    """Bound how far the node moved between two runs, from one value per block.

    Returns:
        One for each piece of work, or why it is not known.
    """
    environments = [
        {launch.canary.environment for launch in side if launch.canary and launch.canary.environment}
        for side in (base, head)
    ]
    for name, found in zip(("base", "head"), environments, strict=True):
        if not found:
            return f"the canary was not measured in {name}"
    if len(environments[0] | environments[1]) > 1:
        return "the canary ran in another environment in base than in head"
    before, after = _readings(base), _readings(head)
    found_moves = []
    for part in PARTS:
        values = [
            [math.exp(fmean(logs)) for readings in side.values() if (logs := _logs(readings, part))]
            for side in (before, after)
        ]
        try:
            estimate = unpaired_estimate(values[0], values[1], "lower")
        except StatsError:
            continue
        low, high = estimate.bounds(CONFIDENCE)
        found_moves.append(NodeMove(part=part, change=estimate.change, low=low, high=high))
    return tuple(found_moves) or "too few blocks have a canary"


def node_objections(
    base: Sequence[Launch], head: Sequence[Launch], *, min_change: float, step: Estimate | None = None
) -> tuple[Objection, ...]:
    """Tell "the node moved" from "the code moved", for runs that were not measured together.

    The node moved when the interval of a piece of work leaves out 0 and its change is at least half of
    ``min_change``. A slower node stands against `regressed` (unless the step got slower than
    any piece of work by ``min_change`` more), a faster one against `improved`, and either against
    `unchanged`.

    Args:
        base: All launches of the one run.
        head: All launches of the other.
        min_change: Smallest change worth a verdict.
        step: Of the benchmark's step time.
    """
    found = node_moves(base, head)
    if isinstance(found, str):
        return (Objection(against=NOTHING, reason=f"whether the node moved is not known: {found}"),)
    moved = [each for each in found if abs(each.change) >= min_change / 2 and each.low * each.high > 0]
    if not moved:
        texts = ", ".join(each.text for each in found)
        return (Objection(against=NOTHING, reason=f"the node did not move: {texts}"),)
    against: set[Verdict] = {"unchanged"}
    if any(each.change > 0 for each in moved) and not _beyond(step, moved, min_change, worse=True):
        against.add("regressed")
    if any(each.change < 0 for each in moved) and not _beyond(step, moved, min_change, worse=False):
        against.add("improved")
    reason = f"the node moved: {', '.join(each.text for each in moved)}"
    return (Objection(against=frozenset(against), reason=reason),)


def _beyond(step: Estimate | None, moved: Sequence[NodeMove], min_change: float, *, worse: bool) -> bool:
    """Whether the step changed by ``min_change`` more than the node could have made it."""
    if step is None:
        return False
    low, high = (as_log(bound, "lower") for bound in step.bounds(CONFIDENCE))
    reserve = as_log(min_change, "lower")
    if worse:
        return low > max(as_log(each.high, "lower") for each in moved) + reserve
    return high < min(as_log(each.low, "lower") for each in moved) - reserve


def _moves(part: str, blocks: Mapping[int, Sequence[float]]) -> list[Move]:
    """Of one piece of work: what lies further from the others than is usual."""
    everything = [value for logs in blocks.values() for value in logs]
    if not everything:
        return []
    centre = median(everything)
    least = LEAST_USUAL if len(everything) >= FEWEST else UNKNOWN_USUAL
    usual = max(least, 1.4826 * median(abs(value - centre) for value in everything))
    found = []
    for block, logs in blocks.items():
        drift = logs[-1] - logs[0]
        away = max((value - centre for value in logs), key=abs, default=0.0)
        if abs(drift) > math.sqrt(2) * USUAL * usual:
            found.append(Move(block=block, part=part, change=math.expm1(drift), during=True))
        elif abs(away) > USUAL * usual:
            found.append(Move(block=block, part=part, change=math.expm1(away), during=False))
    return found


def _readings(launches: Iterable[Launch]) -> dict[int, list[Reading]]:
    """The looks around each block, the first and the last: those between are of other world sizes."""
    looks: dict[int, list[Canary]] = {}
    for launch in sorted(launches, key=lambda launch: (launch.block, launch.started)):
        if launch.canary is not None:
            looks.setdefault(launch.block, []).append(launch.canary)
    found: dict[int, list[Reading]] = {}
    for block, canaries in looks.items():
        before = next((each.before for each in canaries if each.before is not None), None)
        after = next((each.after for each in reversed(canaries) if each.after is not None), None)
        found[block] = [reading for reading in (before, after) if reading is not None]
    return {block: readings for block, readings in found.items() if readings}


def _logs(readings: Iterable[Reading], part: str) -> list[float]:
    values = (getattr(reading, part) for reading in readings)
    return [math.log(value) for value in values if value is not None and value > 0]


def _told(move: Move) -> str:
    when = "from before it to after it" if move.during else "against the other blocks"
    return f"the node moved in block {move.block}: {PARTS[move.part]} {percent(move.change)} {when}"
