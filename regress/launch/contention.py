"""How much of this host others used while a launch ran."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
"""Unit of the kernel's accounts."""


@dataclass(frozen=True, kw_only=True)
class CpuUse:
    """CPU time spent on this host up to a moment."""

    at_s: float
    """The moment, on the monotonic clock."""

    host_s: float
    """By everybody, all cores together; what a hypervisor took away is included."""

    ours_s: float
    """By this process, by those that start ranks, and by their ranks that have ended."""


def cpu_use(parents: Iterable[int]) -> CpuUse | None:
    """Read the accounts now.

    Args:
        parents: Process ids of those that start ranks.

    Returns:
        ``None`` where the kernel keeps no such accounts.
    """
    try:
        host_s = _host_s(Path("/proc/stat").read_text())
        ours_s = time.process_time() + sum(
            _process_s(Path(f"/proc/{parent}/stat").read_text()) for parent in parents
        )
    except (OSError, ValueError, IndexError):
        return None
    return CpuUse(at_s=time.monotonic(), host_s=host_s, ours_s=ours_s)


def foreign_share(before: CpuUse | None, after: CpuUse | None, cores: int) -> float | None:
    """Share of the host's cores that others used between two moments.

    Args:
        before: The earlier moment.
        after: The later one.
        cores: Of the host.

    Returns:
        Between 0 and 1; ``None`` where it cannot be known.
    """
    if before is None or after is None:
        return None
    room_s = (after.at_s - before.at_s) * cores
    if room_s <= 0 or after.host_s <= before.host_s:  # a kernel that keeps no account says 0
        return None
    foreign_s = (after.host_s - before.host_s) - (after.ours_s - before.ours_s)
    return round(min(1.0, max(0.0, foreign_s / room_s)), 3)  # two accounts never agree to the tick


def _host_s(stat: str) -> float:
    """Sum what is neither idle nor waiting, nor a guest's (which is counted as user already)."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS_PER_S


def _process_s(stat: str) -> float:
    """Sum user and system time of a process and of its children that have ended."""
    fields = stat.rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS_PER_S
