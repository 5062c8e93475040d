"""Which cores this host has, where they lie, and which of them each rank keeps to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

SYSTEM = Path("/sys/devices/system")
"""Where the kernel describes processors and nodes."""

DRIVER = Path("/proc/driver/nvidia/gpus")
"""Where NVIDIA's driver describes its devices, one folder per bus id."""

PCI = Path("/sys/bus/pci/devices")
"""Where the kernel says which node a device hangs on."""


@dataclass(frozen=True, kw_only=True)
class Core:
    """A physical core, as far as this process may use it."""

    cpus: tuple[int, ...]
    """Numbers of its hardware threads, ascending."""

    node: int
    """NUMA node it belongs to."""


def read_cores(affinity: Iterable[int], system: Path = SYSTEM) -> tuple[Core, ...]:
    """Physical cores among the CPUs that a process may use, by node and then by number.

    Where the kernel does not say otherwise, each CPU is a core of its own, and all lie on node 0.

    Args:
        affinity: Numbers of the CPUs.
        system: Where the kernel describes them.
    """
    allowed = frozenset(affinity)
    nodes = {
        cpu: int(folder.name.removeprefix("node"))
        for folder in system.glob("node/node[0-9]*")
        for cpu in read_list(folder / "cpulist")
    }
    siblings = {
        tuple(sorted(allowed & ({cpu} | read_list(system / f"cpu/cpu{cpu}/topology/thread_siblings_list"))))
        for cpu in allowed
    }
    cores = [Core(cpus=cpus, node=nodes.get(cpus[0], 0)) for cpus in siblings]
    return tuple(sorted(cores, key=lambda core: (core.node, core.cpus)))


def deal(cores: Sequence[Core], near: Sequence[int | None]) -> tuple[tuple[Core, ...], ...]:
    """Deal whole cores to ranks: disjoint sets, equal in size, none across two nodes.

    Where every rank names a node that it is to be near, and each of them has cores enough, it gets
    cores of that node. Else ranks fill the nodes in order. Only where there are fewer ranks
    than nodes may a rank have several of them. What cannot be dealt equally stays idle.

    Args:
        cores: By node, as `read_cores` gives them.
        near: For each rank the node of its device, or ``None`` when it has none or it is unknown.

    Returns:
        Cores of each rank; empty when there are fewer cores than ranks.
    """
    nodes: dict[int, list[Core]] = {}
    for core in cores:
        nodes.setdefault(core.node, []).append(core)
    wanted = [node for node in near if node is not None]
    if len(wanted) == len(near):
        size = min((len(nodes.get(node, ())) // wanted.count(node) for node in wanted), default=0)
        if size:
            return tuple(
                tuple(nodes[node][size * wanted[:rank].count(node) :][:size])
                for rank, node in enumerate(wanted)
            )
    regions = _regions(list(nodes.values()), len(near))
    sizes = range(len(cores) // max(1, len(near)), 0, -1)
    size = next((n for n in sizes if sum(len(region) // n for region in regions) >= len(near)), 0)
    if not size:
        return ()
    hands = [
        tuple(region[start : start + size])
        for region in regions
        for start in range(0, len(region) - size + 1, size)
    ]
    return tuple(hands[: len(near)])


def _regions(nodes: list[list[Core]], ranks: int) -> list[list[Core]]:
    """The nodes; where ranks are fewer, neighbours together so that there is one for each rank."""
    if not 0 < ranks < len(nodes):
        return nodes
    bounds = [len(nodes) * rank // ranks for rank in range(ranks + 1)]
    return [[core for node in nodes[start:end] for core in node] for start, end in pairwise(bounds)]


def deal_here(ranks: int, device: str, variables: Mapping[str, str]) -> tuple[tuple[Core, ...], ...]:
    """Deal the cores that this process may use; see `deal`.

    Args:
        ranks: How many.
        device: ``cpu`` or ``cuda``.
        variables: Of the ranks: they may choose among the devices.
    """
    cores = read_cores(os.sched_getaffinity(0))
    if device == "cuda":
        return deal_by_device(cores, ranks, variables.get("CUDA_VISIBLE_DEVICES"))
    return deal(cores, [None] * ranks)


def deal_by_device(
    cores: Sequence[Core], ranks: int, visible: str | None, driver: Path = DRIVER, pci: Path = PCI
) -> tuple[tuple[Core, ...], ...]:
    """Deal each rank the cores that belong to its CUDA device, whoever measures on the others.

    Two measurements may share a host when they use different devices. So each device of the host has
    cores of its own, and a rank those of its device. Where that is less than one for each device, or
    the devices are not known, the ranks share all cores.

    Args:
        cores: As `read_cores` gives them.
        ranks: How many; rank and device have the same number.
        visible: ``CUDA_VISIBLE_DEVICES``; ``None`` when it is not set.
        driver: Where the driver describes its devices.
        pci: Where the kernel does.
    """
    nodes = device_nodes(None, driver, pci)
    mine = device_numbers(visible, driver)[:ranks]
    hands = deal(cores, nodes) if len(set(mine)) == ranks else ()
    if hands:
        return tuple(hands[number] for number in mine)
    near = [nodes[mine[rank]] if rank < len(mine) else None for rank in range(ranks)]
    return deal(cores, near)


def device_numbers(visible: str | None, driver: Path = DRIVER) -> tuple[int, ...]:
    """The number that each CUDA device has among all of the host, in CUDA's order; see `device_nodes`.

    Returns:
        Nothing where there is no driver or the choice is not understood.
    """
    try:
        identities = [_identity(folder) for folder in sorted(driver.iterdir())]
    except OSError:
        return ()
    if visible is None:
        return tuple(range(len(identities)))
    chosen: list[int] = []
    for choice in filter(None, map(str.strip, visible.split(","))):
        by_identity = [number for number, name in enumerate(identities) if name.startswith(choice)]
        if choice.isdecimal() and int(choice) < len(identities):
            chosen.append(int(choice))
        elif len(by_identity) == 1:
            chosen += by_identity
        else:
            return ()
    return tuple(chosen)


def device_nodes(visible: str | None, driver: Path = DRIVER, pci: Path = PCI) -> tuple[int | None, ...]:
    """The NUMA node of each CUDA device, in CUDA's order.

    CUDA numbers equal devices by bus id. Where devices differ, its order is another unless
    ``CUDA_DEVICE_ORDER=PCI_BUS_ID``: a rank may then be pinned beside the wrong one, which costs
    time on both sides alike.

    Args:
        visible: ``CUDA_VISIBLE_DEVICES``; ``None`` when it is not set.
        driver: Where the driver describes its devices.
        pci: Where the kernel does.

    Returns:
        ``None`` for each device whose node is unknown; nothing where there is no driver or the
        choice is not understood.
    """
    numbers = device_numbers(visible, driver)
    if not numbers:
        return ()
    nodes = [_node(pci / folder.name.lower()) for folder in sorted(driver.iterdir())]
    return tuple(nodes[number] for number in numbers)


def _identity(folder: Path) -> str:
    found = re.search(r"^GPU UUID:\s*(\S+)", (folder / "information").read_text(), re.MULTILINE)
    return found[1] if found else folder.name


def _node(device: Path) -> int | None:
    """The node that a device says it hangs on, else the one that its local CPUs belong to."""
    try:
        node = int((device / "numa_node").read_text())
    except (OSError, ValueError):
        return None
    if node >= 0:
        return node
    near = {core.node for core in read_cores(read_list(device / "local_cpulist"))}
    return near.pop() if len(near) == 1 else None


def read_list(path: Path) -> frozenset[int]:
    """Read numbers as Linux lists them (``0-3,8``); empty where there is no such file, or another text."""
    try:
        return frozenset(
            number
            for part in path.read_text().strip().split(",")
            for first, _, last in [part.partition("-")]
            for number in range(int(first), int(last or first) + 1)
        )
    except (OSError, ValueError):
        return frozenset()


def listed(numbers: Iterable[int]) -> str:
    """Write numbers as Linux lists them: ``0-3,8``."""
    ordered = sorted(set(numbers))
    starts = [number for number in ordered if number - 1 not in ordered]
    ends = [number for number in ordered if number + 1 not in ordered]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))
