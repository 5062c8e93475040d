"""The plan is drawn from its seed alone, fair to both sides, and refuses what does not fit."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regress.errors import SpecError
from regress.launch.fake import PLATFORM
from regress.record.codec import from_plain, plain
from regress.spec.benchmark import Catalog, Definition
from regress.spec.load import load_suite
from regress.spec.plan import Block, Plan, make_plan, read_plan, turns
from regress.spec.suite import LoadedSuite, Steps, Suite

CATALOG = Catalog(
    platform=PLATFORM,
    torch="2.13.0+cpu",
    definitions=(
        Definition(name="ddp", world_sizes=(2, 4), params=(("size", ("tiny", "small")),),
                   file="ddp.py", line=1, digest="d1"),
        Definition(name="fsdp", world_sizes=(2, 8), params=(("size", ("tiny",)), ("reshard", (True, False))),
                   file="fsdp.py", line=1, digest="d2"),
        Definition(name="wide", world_sizes=(8, 16), file="wide.py", line=1, digest="d4"),
        Definition(name="widths", world_sizes=(2,), params=(("width", (1, 2.0, "8")),),
                   file="widths.py", line=1, digest="d3"),
    ),
    ranks=4,
)  # fmt: skip

SIDES = ("base", "head")


def suite(blocks: int = 8, alone: int = 1) -> LoadedSuite:
    content = {
        "benchmarks": [{"name": "ddp"}, {"name": "fsdp", "world_size": [2]}],
        "blocks": {"count": blocks, "alone": alone},
    }
    return LoadedSuite(
        name="s", file=Path("s.yaml"), suite=Suite.model_validate(content), where=lambda _: "s.yaml:1"
    )


def plan(seed: int, blocks: int = 8, alone: int = 1, sides: tuple[str, ...] = SIDES) -> Plan:
    return make_plan(suite(blocks, alone), CATALOG, sides=sides, seed=seed)


def test_benchmarks_come_in_the_order_of_the_suite_where_they_fit() -> None:
    assert [benchmark.label for benchmark in plan(1).benchmarks] == [
        "ddp[size=tiny,world=2]",
        "ddp[size=small,world=2]",
        "ddp[size=tiny,world=4]",
        "ddp[size=small,world=4]",
        "fsdp[size=tiny,reshard=true,world=2]",
        "fsdp[size=tiny,reshard=false,world=2]",
    ]
    assert {benchmark.digest for benchmark in plan(1).benchmarks} == {"d1", "d2"}


def test_the_seed_makes_the_plan_and_nothing_else_does() -> None:
    assert plan(7) == plan(7)
    orders = {tuple((block.sides, block.benchmarks) for block in plan(seed).blocks) for seed in range(20)}
    assert len(orders) == 20


@given(seed=st.integers(0, 2**32), blocks=st.integers(1, 12), alone=st.integers(0, 3))
def test_blocks_are_alone_then_tested_then_spare(seed: int, blocks: int, alone: int) -> None:
    laid_out = plan(seed, blocks, alone).blocks
    spare = math.ceil(blocks / 5)
    assert [block.index for block in laid_out] == list(range(alone + blocks + spare))
    assert [block.alone for block in laid_out] == [True] * alone + [False] * (blocks + spare)
    assert [block.spare for block in laid_out] == [False] * (alone + blocks) + [True] * spare
    for block in laid_out:
        assert sorted(block.sides) == sorted(SIDES)


def test_which_side_goes_first_is_drawn_anew_for_each_block() -> None:
    """Not in pairs, one the reverse of the other: noise that lasts would raise false alarms."""
    orders = [tuple(block.sides for block in plan(seed, 2, 0).blocks[:2]) for seed in range(200)]
    for order in itertools.product((SIDES, SIDES[::-1]), repeat=2):
        assert 30 < orders.count(order) < 70


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [(1, (1,)), (3, (3,)), (4, (3, 4)), (6, (3, 6)), (8, (3, 5, 8)), (40, (3, 5, 8, 13, 21, 40))],
)
def test_looks_come_where_a_quarter_more_is_left_and_at_the_end(
    blocks: int, expected: tuple[int, ...]
) -> None:
    assert plan(1, blocks, 1).looks == expected


def test_one_side_is_never_looked_at_early() -> None:
    made = make_plan(suite(blocks=8), CATALOG, sides=("only",), seed=1)
    assert made.looks == ()
    assert not any(block.spare for block in made.blocks)


def test_on_cuda_the_first_block_is_tested_too() -> None:
    catalog = dataclasses.replace(CATALOG, device="cuda")
    made = make_plan(suite(blocks=4, alone=1), catalog, sides=SIDES, seed=1)
    assert made.looks == (3, 5)
    assert [block.index for block in made.tested] == list(range(6))
    resident = make_plan(suite(blocks=4, alone=1), catalog, sides=SIDES, seed=1, resident=True)
    assert resident.looks == (3, 4)
    assert [block.index for block in resident.tested] == list(range(1, 6))


@given(labels=st.sets(st.sampled_from(sorted(benchmark.label for benchmark in plan(1).benchmarks))))
def test_a_block_holds_only_benchmarks_that_are_asked_about(labels: set[str]) -> None:
    made = plan(1)
    groups = list(made.groups(made.blocks[0], labels))
    assert {benchmark.label for group in groups for benchmark in group} == labels
    assert all(groups)


@given(seed=st.integers(0, 2**32))
def test_each_block_holds_every_benchmark_once_in_one_order_for_both_sides(seed: int) -> None:
    made = plan(seed)
    labels = sorted(benchmark.label for benchmark in made.benchmarks)
    for block in made.blocks:
        assert sorted(block.benchmarks) == labels
        groups = list(made.groups(block))
        assert len({group[0].world_size for group in groups}) == len(groups) == 2
        for group in groups:
            wanted = [label for label in block.benchmarks if label in {one.label for one in group}]
            assert [benchmark.label for benchmark in group] == wanted
            assert len({benchmark.world_size for benchmark in group}) == 1


def test_the_order_of_benchmarks_changes_between_blocks() -> None:
    assert len({block.benchmarks for block in plan(3).blocks}) > 5


def test_on_cuda_every_block_is_alone() -> None:
    catalog = dataclasses.replace(CATALOG, device="cuda")
    blocks = make_plan(suite(blocks=3), catalog, sides=SIDES, seed=1).blocks
    assert [block.alone for block in blocks] == [True] * 5


@pytest.mark.parametrize(("wanted", "alone"), [(0, 1), (1, 1), (2, 2)])
def test_resident_on_cuda_some_blocks_come_alone_before(wanted: int, alone: int) -> None:
    catalog = dataclasses.replace(CATALOG, device="cuda")
    blocks = make_plan(suite(3, wanted), catalog, sides=SIDES, seed=1, resident=True).blocks
    assert [block.alone for block in blocks] == [True] * alone + [False] * 4
    assert [block.counted for block in blocks] == [True] * (alone + 1) + [False] * 3


def test_resident_or_not_is_one_on_cpu() -> None:
    for alone in (0, 1):
        plans = [
            make_plan(suite(3, alone), CATALOG, sides=SIDES, seed=1, resident=resident)
            for resident in (False, True)
        ]
        assert plans[0] == plans[1]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("resident", [False, True])
def test_one_side_is_always_alone(device: Literal["cpu", "cuda"], resident: bool) -> None:
    catalog = dataclasses.replace(CATALOG, device=device)
    blocks = make_plan(suite(blocks=3), catalog, sides=("only",), seed=1, resident=resident).blocks
    assert [block.alone for block in blocks] == [True] * 4


def test_without_a_world_size_all_declared_ones_that_fit_are_taken() -> None:
    catalog = dataclasses.replace(
        CATALOG, definitions=(dataclasses.replace(CATALOG.definitions[0], world_sizes=(1, 2, 4, 8)),)
    )
    one = {"benchmarks": [{"name": "ddp", "params": {"size": ["tiny"]}}]}
    loaded = dataclasses.replace(suite(), suite=Suite.model_validate(one))
    for ranks, expected in ((1, [1]), (5, [1, 2, 4]), (8, [1, 2, 4, 8])):
        made = make_plan(loaded, dataclasses.replace(catalog, ranks=ranks), sides=SIDES, seed=1)
        assert [benchmark.world_size for benchmark in made.benchmarks] == expected


def test_blocks_alone_and_a_resident_one_are_counted_and_never_fewer_than_two() -> None:
    assert [block.counted for block in plan(1, blocks=3, alone=1).blocks[:4]] == [True, True, False, False]
    assert [block.counted for block in plan(1, blocks=3, alone=2).blocks[:5]] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert [block.counted for block in plan(1, blocks=3, alone=0).blocks[:3]] == [True, True, False]


@given(seed=st.integers(0, 2**32))
def test_a_plan_survives_json(seed: int) -> None:
    made = plan(seed)
    assert from_plain(Plan, json.loads(json.dumps(plain(made)))) == made


def test_types_of_parameters_survive_json(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("benchmarks: [{name: widths}, {name: fsdp, world_size: [2]}]")
    made = make_plan(load_suite(tmp_path / "s.yaml"), CATALOG, sides=SIDES, seed=1)
    back = from_plain(Plan, json.loads(json.dumps(plain(made))))
    assert repr(back) == repr(made)  # 1, 1.0 and true are equal, and print differently
    assert [value for one in made.benchmarks for name, value in one.params if name == "width"] == [
        1,
        2.0,
        "8",
    ]


@given(seed=st.integers(0, 2**32), index=st.integers(0, 50), count=st.integers(1, 30))
def test_turns_are_balanced_at_every_pair(seed: int, index: int, count: int) -> None:
    block = Block(index=index, alone=False, counted=False, sides=SIDES, benchmarks=("b",))
    taken = list(turns(seed, block, "b", count))
    assert taken == list(turns(seed, block, "b", count))
    assert Counter(taken) == {"base": count, "head": count}
    for start in range(0, 2 * count, 2):
        assert sorted(taken[start : start + 2]) == sorted(SIDES)
    for start in range(0, 4 * (count // 2), 4):
        first, second = taken[start : start + 2], taken[start + 2 : start + 4]
        assert second == first[::-1]


def test_turns_differ_between_blocks_and_benchmarks() -> None:
    def taken(index: int, label: str) -> tuple[str, ...]:
        block = Block(index=index, alone=False, counted=False, sides=SIDES, benchmarks=(label,))
        return tuple(turns(1, block, label, 20))

    assert len({taken(index, label) for index in range(5) for label in ("a", "b")}) == 10


def test_alone_each_side_has_all_its_turns_at_once() -> None:
    block = Block(index=0, alone=True, counted=True, sides=("head", "base"), benchmarks=("b",))
    assert list(turns(1, block, "b", 3)) == ["head"] * 3 + ["base"] * 3
    only = Block(index=3, alone=False, counted=False, sides=("only",), benchmarks=("b",))
    assert list(turns(1, only, "b", 3)) == ["only"] * 3


def test_one_side_can_be_planned() -> None:
    assert {block.sides for block in plan(1, sides=("only",)).blocks} == {("only",)}


WRONG = {
    "more ranks than there are": (
        "benchmarks:\n  - name: ddp\n    world_size:\n      - 2\n      - 8\n",
        ["world_size 8 is above the 4 ranks that this machine holds; use at most 4, or a larger machine"],
        [5],
    ),
    "none of the declared numbers of ranks fits": (
        "benchmarks:\n  - name: ddp\n  - name: wide\n",
        ["wide needs 8 ranks, and this machine holds 4; name a smaller world_size, or use a larger machine"],
        [3],
    ),
    "an unknown benchmark": (
        "benchmarks:\n  - name: fsdq\n",
        ["unknown benchmark 'fsdq'; did you mean 'fsdp'?"],
        [2],
    ),
    "a benchmark like none": (
        "benchmarks:\n  - params: {}\n    name: zzz\n",
        ["unknown benchmark 'zzz'; known: ddp, fsdp, wide, widths"],
        [3],
    ),
    "an unknown parameter": (
        "benchmarks:\n  - name: fsdp\n    params:\n      reshrd: [true]\n",
        ["fsdp has no parameter 'reshrd'; did you mean 'reshard'?"],
        [4],
    ),
    "an unknown value": (
        "benchmarks:\n  - name: ddp\n    params:\n      size:\n        - tiny\n        - huge\n",
        ["ddp has no size='huge'; allowed: tiny, small"],
        [6],
    ),
    "a number for a text": (
        "benchmarks:\n  - name: widths\n    params: {width: [8, true]}\n",
        ["widths has no width=8; allowed: 1, 2.0, 8", "widths has no width=true; allowed: 1, 2.0, 8"],
        [3, 3],
    ),
    "control characters": (
        'benchmarks:\n  - name: ddp\n    params: {size: ["\\e[31m\\n"]}\n  - name: "\\e[31m"\n',
        ["ddp has no size='\\x1b[31m\\n'; allowed: tiny, small",
         "unknown benchmark '\\x1b[31m'; known: ddp, fsdp, wide, widths"],
        [3, 4],
    ),
    "all at once, in the order of the lines": (
        "benchmarks:\n  - name: ddp\n    params: {size: [x]}\n    world_size: [9]\n  - name: nix\n",
        ["ddp has no size='x'; allowed: tiny, small",
         "world_size 9 is above the 4 ranks that this machine holds; use at most 4, or a larger machine",
         "unknown benchmark 'nix'; known: ddp, fsdp, wide, widths"],
        [3, 4, 5],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "messages", "lines"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_refused_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, messages: list[str], lines: list[int]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(text)
    with pytest.raises(SpecError) as refused:
        make_plan(load_suite(Path("s.yaml")), CATALOG, sides=SIDES, seed=1)
    expected = [f"s.yaml:{line}: {message}" for line, message in zip(lines, messages, strict=True)]
    assert str(refused.value).splitlines() == expected


@pytest.mark.parametrize(
    ("told", "least", "most"),
    [({}, 5, 30), ({"warmup": 50}, 50, 50), ({"warmup": 3, "warmup_most": 3}, 3, 3)],
    ids=["nothing said", "more than the most", "no search"],
)
def test_the_search_for_the_warm_up_has_limits(told: dict[str, int], least: int, most: int) -> None:
    whole = suite()
    said = dataclasses.replace(
        whole, suite=whole.suite.model_copy(update={"steps": Steps.model_validate(told)})
    )
    steps = make_plan(said, CATALOG, sides=SIDES, seed=1).steps
    assert (steps.warmup, steps.warmup_most) == (least, most)


def test_a_plan_from_before_the_search_is_read_as_one_without() -> None:
    old = plain(plan(1))
    del old["steps"]["warmup_most"], old["caches"]
    read = read_plan(json.dumps(old))
    assert (read.steps.warmup, read.steps.warmup_most, read.caches) == (5, None, None)
