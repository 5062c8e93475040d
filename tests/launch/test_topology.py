from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regress.launch.topology import Core, deal, deal_by_device, device_nodes, listed, read_cores, read_list


def tree(folder: Path, nodes: Sequence[str], siblings: dict[str, str]) -> Path:
    """Make a tree as the kernel's: CPUs of each node, and threads of each core by their CPUs."""
    for number, cpus in enumerate(nodes):
        (folder / f"node/node{number}").mkdir(parents=True)
        (folder / f"node/node{number}/cpulist").write_text(f"{cpus}\n")
    (folder / "node/has_cpu").parent.mkdir(parents=True, exist_ok=True)
    (folder / "node/has_cpu").write_text("0\n")
    for cpus, threads in siblings.items():
        for cpu in cpus.split(","):
            (folder / f"cpu/cpu{cpu}/topology").mkdir(parents=True)
            (folder / f"cpu/cpu{cpu}/topology/thread_siblings_list").write_text(f"{threads}\n")
    return folder


def two_nodes(folder: Path) -> Path:
    """Two nodes of 8 cores with 2 threads each, numbered as Linux likes to: second threads last."""
    return tree(folder, ["0-7,16-23", "8-15,24-31"], {f"{n},{n + 16}": f"{n},{n + 16}" for n in range(16)})


def cores(*sizes: int) -> tuple[Core, ...]:
    """Cores with one thread each, so many on each node."""
    nodes = [node for node, size in enumerate(sizes) for _ in range(size)]
    return tuple(Core(cpus=(cpu,), node=node) for cpu, node in enumerate(nodes))


def sizes(hands: Sequence[Sequence[Core]]) -> list[dict[int, int]]:
    """How many cores of which node each rank has."""
    return [dict(Counter(core.node for core in hand)) for hand in hands]


def test_a_small_machine(tmp_path: Path) -> None:
    found = read_cores({0, 1}, tree(tmp_path, ["0-1"], {"0": "0", "1": "1"}))

    assert found == (Core(cpus=(0,), node=0), Core(cpus=(1,), node=0))
    assert deal(found, [None, None]) == ((found[0],), (found[1],))
    assert deal(found, [None, None, None]) == ()


def test_threads_of_a_core_stay_together_and_nodes_apart(tmp_path: Path) -> None:
    found = read_cores(range(32), two_nodes(tmp_path))

    assert len(found) == 16
    assert found[0] == Core(cpus=(0, 16), node=0)
    assert found[-1] == Core(cpus=(15, 31), node=1)
    hands = deal(found, [None] * 4)
    assert [listed(cpu for core in hand for cpu in core.cpus) for hand in hands] == [
        "0-3,16-19",
        "4-7,20-23",
        "8-11,24-27",
        "12-15,28-31",
    ]


def test_only_what_the_process_may_use(tmp_path: Path) -> None:
    found = read_cores({1, 2, 18, 9}, two_nodes(tmp_path))

    assert found == (Core(cpus=(1,), node=0), Core(cpus=(2, 18), node=0), Core(cpus=(9,), node=1))


def test_a_core_that_is_switched_off_has_no_description(tmp_path: Path) -> None:
    system = tree(tmp_path, ["0,2-3"], {"0": "0", "2": "2-3", "3": "2-3"})
    (system / "cpu/cpu1").mkdir()

    assert [core.cpus for core in read_cores({0, 2, 3}, system)] == [(0,), (2, 3)]


def test_a_kernel_that_says_nothing(tmp_path: Path) -> None:
    assert read_cores({3, 1}, tmp_path) == (Core(cpus=(1,), node=0), Core(cpus=(3,), node=0))


@pytest.mark.parametrize(
    ("nodes", "near", "expected"),
    [
        ((8, 8), [None] * 2, [{0: 8}, {1: 8}]),
        ((8, 8), [None] * 3, [{0: 4}, {0: 4}, {1: 4}]),  # 5 each would lie across
        ((7, 1), [None] * 2, [{0: 3}, {0: 3}]),
        ((8, 8), [None], [{0: 8, 1: 8}]),  # fewer ranks than nodes
        ((4, 4, 4, 4), [None] * 2, [{0: 4, 1: 4}, {2: 4, 3: 4}]),
        ((8, 8), [1, 0, 1], [{1: 4}, {0: 4}, {1: 4}]),
        ((8, 8), [1], [{1: 8}]),
        ((1, 4), [0, 0], [{1: 2}, {1: 2}]),  # too few cores beside the devices
        ((8, 8), [1, None], [{0: 8}, {1: 8}]),
        ((8, 8), [5, 5], [{0: 8}, {1: 8}]),  # a node that this process may not use
        ((2, 2), [None] * 5, []),
        ((), [None], []),
    ],
)
def test_the_deal(nodes: tuple[int, ...], near: list[int | None], expected: list[dict[int, int]]) -> None:
    assert sizes(deal(cores(*nodes), near)) == expected


@given(
    nodes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    near=st.lists(st.none() | st.integers(0, 5), min_size=1, max_size=12),
)
def test_every_deal_is_disjoint_equal_and_not_across_nodes(nodes: list[int], near: list[int | None]) -> None:
    deck = cores(*nodes)
    hands = deal(deck, near)

    dealt = [core for hand in hands for core in hand]
    assert len(set(dealt)) == len(dealt)
    assert set(dealt) <= set(deck)
    assert len({len(hand) for hand in hands}) <= 1
    if len(deck) < len(near):
        assert hands == ()
        return
    assert len(hands) == len(near)
    assert all(hands)
    spans = max(map(len, sizes(hands)))
    assert spans <= max(1, -(-len(nodes) // len(near)))
    counts = Counter(near)
    room = {node: size for node, size in enumerate(nodes) if size >= counts[node]}
    if all(node in room for node in near):
        assert [{core.node for core in hand} for hand in hands] == [{node} for node in near]


def devices(folder: Path, places: dict[str, tuple[str, str]]) -> tuple[Path, Path]:
    """Make the driver's and the kernel's folders: node and local CPUs of each device, by bus id."""
    (folder / "driver").mkdir()
    for number, (bus, (node, cpus)) in enumerate(places.items()):
        (folder / "driver" / bus).mkdir()
        (folder / "driver" / bus / "information").write_text(
            f"Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-{number}a-77\nBus Location: \t {bus}\n"
        )
        (folder / "pci" / bus.lower()).mkdir(parents=True)
        (folder / "pci" / bus.lower() / "numa_node").write_text(f"{node}\n")
        (folder / "pci" / bus.lower() / "local_cpulist").write_text(f"{cpus}\n")
    return folder / "driver", folder / "pci"


@pytest.mark.parametrize(
    ("visible", "nodes"),
    [
        (None, (0, 1, None)),
        ("1,0", (1, 0)),
        ("GPU-1a, 0", (1, 0)),
        ("GPU-1a-77", (1,)),
        ("", ()),
        ("7", ()),
        ("MIG-GPU-1a/1/0", ()),
        ("GPU-", ()),  # three of them
    ],
)
def test_the_node_of_each_device(tmp_path: Path, visible: str | None, nodes: tuple[int | None, ...]) -> None:
    driver, pci = devices(
        tmp_path,
        {
            "0000:0A:00.0": ("0", "0-7"),
            "0000:4b:00.0": ("1", "8-15"),
            "0000:5b:00.0": ("-1", ""),
        },
    )

    assert device_nodes(visible, driver, pci) == nodes


EIGHT = {f"0000:{10 + number}:00.0": (str(number // 4), "") for number in range(8)}


def test_two_measurements_on_different_devices_share_no_core(tmp_path: Path) -> None:
    """Each is dealt its cores as if the other were there."""
    places = devices(tmp_path, EIGHT)
    deck = cores(16, 16)
    hands = [
        deal_by_device(deck, ranks, visible, *places)
        for ranks, visible in ((2, "0,1"), (1, "2"), (4, "4,5,6,7"))
    ]
    dealt = [core for group in hands for hand in group for core in hand]
    assert len(set(dealt)) == len(dealt)
    assert [sizes(group) for group in hands] == [[{0: 4}] * 2, [{0: 4}], [{1: 4}] * 4]
    assert deal_by_device(deck, 8, None, *places)[2:3] == hands[1]


def test_where_devices_have_less_than_a_core_each_the_ranks_share_all(tmp_path: Path) -> None:
    places = devices(tmp_path, EIGHT)
    assert sizes(deal_by_device(cores(4), 2, "0,1", *places)) == [{0: 2}, {0: 2}]
    assert sizes(deal_by_device(cores(8, 8), 1, "MIG-1", *places)) == [{0: 8, 1: 8}]


def test_without_a_driver_no_device_has_a_node(tmp_path: Path) -> None:
    assert device_nodes(None, tmp_path / "absent", tmp_path) == ()
    assert device_nodes("0", tmp_path / "absent", tmp_path) == ()


@pytest.mark.parametrize(("numbers", "text"), [([], ""), ([3], "3"), ([8, 0, 1, 2], "0-2,8"), ([1, 1], "1")])
def test_lists_are_written_and_read_as_linux_does(tmp_path: Path, numbers: list[int], text: str) -> None:
    assert listed(numbers) == text
    (tmp_path / "list").write_text(f"{text}\n")
    assert read_list(tmp_path / "list") == set(numbers)
