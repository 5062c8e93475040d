"""How many cores this process may keep busy, and which of them a rank keeps to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regress.record.quota import ROOT, read_quota


@dataclass(frozen=True, kw_only=True)
class Share:
    """What a rank has of its host's cores."""

    usable: int
    """Cores that all ranks together may keep busy."""

    threads: int
    """How many of them are this rank's: as many threads keep them busy."""

    pinned: tuple[int, ...] = ()
    """CPUs that this process is kept to, ascending; empty when it is not pinned."""


def usable_cores(root: Path = ROOT) -> int:
    """Cores in this process's affinity, or fewer where a container's quota allows fewer; at least 1."""
    cores = len(os.sched_getaffinity(0))
    quota = read_quota(root)
    return cores if quota is None else min(cores, quota.usable)


def take_cores(dealt: Sequence[Sequence[int]], world_size: int, root: Path = ROOT) -> Share:
    """Keep this process to its physical cores, or to fewer where a quota leaves it fewer.

    Threads that are started later inherit it: those of torch, and the helper threads of gloo and
    NCCL, which so compete with their own rank and with no other. Memory follows, as the kernel
    takes it from the node of whoever touches it first.

    Args:
        dealt: The CPUs of each physical core; empty when the rank is not to be pinned.
        world_size: Ranks that share the host.
        root: Where ``proc`` and ``sys`` lie.

    Returns:
        What the rank has. It is not pinned where a quota leaves less than a core to each rank, or
        the kernel refuses.
    """
    usable = usable_cores(root)
    mine = dealt[: usable // world_size]
    if mine:
        try:
            os.sched_setaffinity(0, {cpu for core in mine for cpu in core})
        except OSError:  # a CPU that was taken away meanwhile, or a sandbox that forbids the call
            mine = ()
    if not mine:
        return Share(usable=usable, threads=max(1, usable // world_size))
    return Share(usable=usable, threads=len(mine), pinned=tuple(sorted(os.sched_getaffinity(0))))
