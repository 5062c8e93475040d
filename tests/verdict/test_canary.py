"""What the canary says of the node, from readings made by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from math import exp
from typing import Any

import pytest

from regress.record.canary import Canary, Reading
from regress.record.run import Launch
from regress.stats.interval import unpaired_estimate
from regress.verdict.canary import canary_notes, moves, node_moves, node_objections
from tests.verdict.runs import launch, measurement

HERE = "torch 2.13"


def reading(factor: float = 1.0, **parts: float | None) -> Reading:
    values: dict[str, Any] = {"matmul_s": 0.001, "all_reduce_s": 0.0005, "copy_s": 0.002}
    values = {name: factor * value for name, value in values.items()} | parts
    return Reading(**values)


def looks(
    blocks: int = 8,
    *,
    noise: float = 0.005,
    seed: int = 1,
    shift: float = 0.0,
    special: Mapping[int, tuple[Reading | None, Reading | None]] | None = None,
) -> list[Launch]:
    """Both sides of each block, with the canary around them."""
    draw = random.Random(seed)

    def drawn() -> float:
        return exp(shift + draw.gauss(0, noise))

    found = []
    for block in range(blocks):
        before, after = (
            Reading(matmul_s=0.001 * drawn(), all_reduce_s=0.0005 * drawn(), copy_s=0.002 * drawn())
            for _ in range(2)
        )
        before, after = (special or {}).get(block, (before, after))  # type: ignore[assignment]
        canary = Canary(environment=HERE, before=before, after=after)
        found += [replace(launch(block, [measurement()]), canary=canary) for _ in ("base", "head")]
    return found


def test_a_steady_node_is_not_worth_a_word() -> None:
    assert canary_notes(looks()) == ()


def test_a_block_during_which_the_node_moved_is_named_with_the_piece_of_work() -> None:
    special = {3: (reading(), reading(matmul_s=0.00112))}
    (move,) = moves(looks(special=special))
    assert (move.block, move.part, move.during) == (3, "matmul_s", True)
    assert move.change == pytest.approx(0.12)
    assert canary_notes(looks(special=special)) == (
        "the node moved in block 3: matrix product +12.0 % from before it to after it",
    )


def test_a_block_that_was_slow_all_the_time_is_found_against_the_others() -> None:
    slow = reading(copy_s=0.0022)
    (move,) = moves(looks(special={5: (slow, slow)}))
    assert (move.block, move.part, move.during) == (5, "copy_s", False)
    assert move.change == pytest.approx(0.1, abs=0.01)


def test_what_is_usual_on_a_noisy_node_is_no_move() -> None:
    special = {3: (reading(), reading(matmul_s=0.00112))}
    assert moves(looks(noise=0.05, special=special)) == ()


def test_with_few_blocks_only_a_gross_move_is_one() -> None:
    assert moves(looks(2, special={1: (reading(), reading(matmul_s=0.0012))})) == ()
    (move,) = moves(looks(2, special={1: (reading(), reading(matmul_s=0.002))}))
    assert move.part == "matmul_s"


def test_many_moves_are_counted() -> None:
    slow = {block: (reading(), reading(1.5)) for block in (2, 4)}
    notes = canary_notes(looks(12, special=slow))
    assert len(notes) == 4
    assert notes[-1] == "the node moved in 2 blocks in all"


def test_sides_alone_give_one_block_two_looks() -> None:
    """The first side's launch knows how it was before, the second one's how it was afterwards."""
    before, after = reading(), reading(matmul_s=0.00112)
    first, second = looks(8, special={3: (before, after)})[6:8]
    first = replace(first, canary=Canary(environment=HERE, before=before, after=None))
    launches = looks(8)
    launches[6:8] = [first, second]
    assert [(move.block, move.during) for move in moves(launches)] == [(3, True)]


def test_what_failed_is_said_once_and_nothing_is_made_of_it() -> None:
    failed = Canary(environment="", before=None, after=None, problem="no torch")
    launches = [replace(each, canary=failed) for each in looks()]
    assert canary_notes(launches) == ("canary unknown: no torch",)
    assert moves([replace(each, canary=None) for each in looks()]) == ()
    assert canary_notes([replace(each, canary=None) for each in looks()]) == ()


@pytest.mark.parametrize("blocks", [4, 6, 8, 20])
def test_false_moves_are_rare(blocks: int) -> None:
    """On steady nodes with normal noise about 1 comparison in 100 has a note, or fewer."""
    assert sum(bool(moves(looks(blocks, seed=seed, noise=0.02))) for seed in range(300)) <= 3


def test_how_far_the_node_moved_between_two_runs() -> None:
    found = node_moves(looks(seed=1), looks(seed=2, shift=0.1))
    assert not isinstance(found, str)
    assert [each.part for each in found] == ["matmul_s", "all_reduce_s", "copy_s"]
    for each in found:
        assert each.low < exp(0.1) - 1 < each.high
        assert each.high - each.low < 0.03


@pytest.mark.parametrize(
    ("shift", "against"),
    [
        (0.1, {"regressed", "unchanged"}),
        (-0.1, {"improved", "unchanged"}),
        (0.0, set()),
        (0.01, set()),
    ],
)
def test_a_node_that_moved_stands_against_what_it_may_have_made(shift: float, against: set[str]) -> None:
    (objection,) = node_objections(looks(seed=1), looks(seed=2, shift=shift), min_change=0.05)
    assert set(objection.against) == against
    moved = "the node moved: matrix product " if against else "the node did not move: matrix product "
    assert objection.reason.startswith(moved)


@pytest.mark.parametrize(("factor", "stands"), [(1.12, False), (1.5, True)])
def test_a_step_that_moved_much_further_than_the_node_is_the_code_s(factor: float, stands: bool) -> None:
    draw = random.Random(3)
    base = [0.1 * exp(draw.gauss(0, 0.005)) for _ in range(8)]
    head = [factor * 0.1 * exp(draw.gauss(0, 0.005)) for _ in range(8)]
    step = unpaired_estimate(base, head, "lower")
    (objection,) = node_objections(looks(seed=1), looks(seed=2, shift=0.1), min_change=0.05, step=step)
    assert ("regressed" not in objection.against) is stands


def test_readings_that_cannot_be_compared_are_not_compared() -> None:
    other = [
        replace(each, canary=replace(each.canary, environment="torch 2.14"))  # type: ignore[type-var]
        for each in looks()
    ]
    without = [replace(each, canary=None) for each in looks()]
    for head, why in ((other, "another environment"), (without, "not measured in head")):
        (objection,) = node_objections(looks(), head, min_change=0.05)
        assert objection.against == frozenset()
        assert why in objection.reason
    assert node_moves(looks(1), looks(1)) == "too few blocks have a canary"


def test_readings_of_zero_or_none_count_for_nothing() -> None:
    odd = {block: (reading(matmul_s=None), reading(matmul_s=0.0)) for block in range(8)}
    found = node_moves(looks(special=odd), looks(seed=2))
    assert not isinstance(found, str)
    assert [each.part for each in found] == ["all_reduce_s", "copy_s"]
    assert moves(looks(special=odd)) == ()
