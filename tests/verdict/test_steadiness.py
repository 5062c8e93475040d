from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from regress.record.run import Launch, Measurement
from regress.record.sample import Sample
from regress.units import percent
from regress.verdict.judge import judge
from regress.verdict.steadiness import FEWEST_STEPS, UNSTEADY, drift, steadiness_notes
from tests.verdict.runs import DDP, FSDP, POLICY, launch, measurement, run

STEADY = (1.0,) * 12


def timed(steps_s: Sequence[float], label: str = DDP) -> Measurement:
    samples = (Sample(metric="step_s", value=1.0, steps=tuple(steps_s)),)
    return replace(measurement(label), samples=samples)


def launches(*steps_s: Sequence[float], label: str = DDP) -> list[Launch]:
    """Resident ones, from block 1 on."""
    return [launch(block, [timed(each, label)]) for block, each in enumerate(steps_s, start=1)]


def changing(share: float) -> tuple[float, ...]:
    """Steps whose last third takes so much more than the first one."""
    return (1.0,) * 4 + (5.0,) * 4 + (1 + share,) * 4


def test_the_thirds_at_the_ends_are_compared_by_their_medians() -> None:
    assert drift((1.0, 1.0, 9.0, 5.0, 5.0, 5.0, 1.0, 1.0, 0.1)) == 0.0
    assert drift((1.0,) * (FEWEST_STEPS - 1)) is None
    assert drift((0.0,) * 12) is None


@pytest.mark.parametrize("share", [0.8 * UNSTEADY, -0.8 * UNSTEADY])
def test_a_little_is_not_told(share: float) -> None:
    assert steadiness_notes({"base": launches(changing(share))}) == ()


def test_steps_that_became_faster_want_a_longer_warm_up() -> None:
    sides = {"base": launches(STEADY), "head": launches(*[changing(-0.1)] * 3)}
    (note,) = steadiness_notes(sides)
    assert f"within a launch of head, the last third of {DDP}'s took {percent(-0.1)} against" in note
    assert note.endswith("more steps.warmup may help")


def test_steps_that_became_slower_want_no_warm_up() -> None:
    (note,) = steadiness_notes({"head": launches(changing(0.1))})
    assert "+10.0 %" in note
    assert "warmup" not in note


def test_one_launch_of_three_is_no_habit() -> None:
    assert steadiness_notes({"head": launches(STEADY, changing(0.5), STEADY)}) == ()


def test_the_largest_is_named_and_the_others_are_counted() -> None:
    sides = {
        "base": launches(changing(-0.2), label=FSDP),
        "head": launches(changing(0.1)),
    }
    (note,) = steadiness_notes(sides)
    assert FSDP in note
    assert "1 more of the kind" in note


def test_the_block_alone_is_not_asked_where_others_are_tested() -> None:
    alone = launch(0, [timed(changing(-0.5))], alone=True)
    assert steadiness_notes({"head": [alone, *launches(STEADY)]}) == ()
    assert steadiness_notes({"head": [alone]}) != ()


def test_a_failure_tells_nothing() -> None:
    assert steadiness_notes({"head": [launch(1, [measurement()])]}) == ()


def test_a_verdict_tells_of_either_side() -> None:
    steady, unsteady = launches(*[STEADY] * 3), launches(*[changing(-0.2)] * 3)
    for base, head, name in ((steady, unsteady, "head"), (unsteady, steady, "base")):
        answer = judge(run(base), run(head, side="head"), POLICY, command="")
        (told,) = (note for note in answer.notes if note.startswith("steps were not steady"))
        assert f"within a launch of {name}" in told
