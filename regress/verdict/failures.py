"""What failed and lost launches mean for the verdict of a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from regress.record.comparison import Verdict
from regress.record.outcome import OutcomeKind
from regress.verdict.evidence import Evidence, SideEvidence, Trial

FAILED: dict[OutcomeKind, str] = {
    "raised": "raised",
    "exited": "exited",
    "died": "died",
    "hung": "hung",
    "out_of_memory": "ran out of memory",
    "diverged": "diverged",
    "unsupported": "was unsupported",
}
"""Kinds of failure, as verbs."""

MOST_LOST = 0.2
"""Share of the blocks that a test may lose."""

UNEVEN = 2
"""Blocks that one side lost more than the other from which on the change itself may be why."""


def unmeasured(evidence: Evidence) -> tuple[Verdict, str] | None:
    """The verdict of a benchmark that one of the sides lacks; ``None`` when both tried it."""
    base, head = evidence.base, evidence.head
    if not base.trials and not head.trials:
        return "inconclusive", "planned, and measured on neither side"
    if not head.trials:
        if not head.complete:
            return "inconclusive", "not measured in head, whose run was not finished"
        return "gone", f"in {_launches(len(base.trials))} of base, and not in head"
    if not base.trials:
        if not base.complete:
            return "inconclusive", "not measured in base, whose run was not finished"
        if not head.measured:
            return "inconclusive", f"not in base, and in head it {_how(head.failures)}"
        return "new", f"in {_launches(len(head.measured))} of head, and not in base"
    return None


def broken(evidence: Evidence) -> tuple[Verdict, str] | None:
    """The verdict of a benchmark that only fails; ``None`` when there is something to compare.

    `broken` is the same failure in two launches of head, one of them alone, where base is
    sound: in the same blocks where both were measured together, else in all of its launches.
    """
    base, head = evidence.base, evidence.head
    sound = [trial for trial in head.failures if _sound(base, trial.block if evidence.paired else None)]
    for first in sound:
        same = [t for t in sound if t.measurement.outcome.same_failure(first.measurement.outcome)]
        if len(same) >= 2 and any(trial.alone for trial in same):
            return "broken", f"head {_how(same)}; base works"
    if base.failures and head.failures and not (base.measured and head.measured):
        return "inconclusive", f"both sides fail: base {_how(base.failures)}; head {_how(head.failures)}"
    if base.failures and not base.measured:
        return "inconclusive", f"base {_how(base.failures)}: nothing to compare head with"
    if head.failures and not head.measured:
        return "inconclusive", f"head {_how(head.failures)}, never twice alike with one of them alone"
    return None


def failed_some(side: SideEvidence, name: str) -> str | None:
    """How a side failed that was measured nevertheless; ``None`` when it never failed."""
    if not side.failures:
        return None
    times = "failed once" if len(side.failures) == 1 else f"failed {len(side.failures)} times"
    return f"{times}: {name} {_how(side.failures)}"


def lost_blocks(evidence: Evidence) -> str | None:
    """Why too little is left to test; ``None`` when nothing, or little and evenly, was lost."""
    base_lost, head_lost = _lost(evidence.base, evidence), _lost(evidence.head, evidence)
    blocks = evidence.blocks
    lost = base_lost | head_lost
    if len(lost) <= MOST_LOST * len(blocks) and abs(len(base_lost) - len(head_lost)) < UNEVEN:
        return None
    return f"lost blocks: {len(base_lost)} of base and {len(head_lost)} of head, of {len(blocks)}"


def _lost(side: SideEvidence, evidence: Evidence) -> set[int]:
    """The tested blocks in which a side was not measured to its end."""
    blocks = evidence.blocks if evidence.paired else side.blocks(evidence.alone)
    return blocks - {trial.block for trial in side.measured if evidence.alone in (None, trial.alone)}


def _sound(base: SideEvidence, block: int | None) -> bool:
    """Whether base was measured and did not fail, in one block or (``None``) everywhere."""
    measured = any(block in (None, trial.block) for trial in base.measured)
    failed = any(block in (None, trial.block) for trial in base.failures)
    return measured and not failed


def _how(failures: Sequence[Trial]) -> str:
    """Say how often which failure came. Texts of the failed program stay out of it."""
    kinds = Counter(FAILED[trial.measurement.outcome.kind] for trial in failures)
    counted = ", ".join(f"{kind} in {number}" for kind, number in kinds.items())
    launches = "launch" if len(failures) == 1 else "launches"
    return f"{counted} {launches}, {sum(trial.alone for trial in failures)} alone"


def _launches(number: int) -> str:
    return "1 launch" if number == 1 else f"{number} launches"
