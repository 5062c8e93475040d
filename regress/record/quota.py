"""CPU time that a container may use: what every part of the harness believes, wherever it runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
"""Where ``proc`` and ``sys`` lie; tests have others."""


@dataclass(frozen=True, kw_only=True)
class Quota:
    """CPU time that a container may use."""

    cores: float
    """How many cores keep busy what it may use."""

    throttled: int | None
    """Periods so far in which it wanted more and had to wait."""

    @property
    def usable(self) -> int:
        """Cores that can be kept busy, one begun counts; at least 1."""
        return max(1, math.ceil(self.cores))


def read_quota(root: Path = ROOT) -> Quota | None:
    """The tightest quota of the control groups that this process is in; ``None`` where there is none.

    Args:
        root: Where ``proc`` and ``sys`` lie.
    """
    found = [
        quota
        for line in (_text(root / "proc/self/cgroup") or "").splitlines()
        for quota in _quotas(root / "sys/fs/cgroup", line)
    ]
    found += _quotas(root / "sys/fs/cgroup", "0::/")  # what a container sees, whatever it is told it is in
    return min(found, key=lambda quota: quota.cores, default=None)


def _quotas(groups: Path, line: str) -> Iterator[Quota]:
    """Quotas of one line of ``/proc/self/cgroup`` and of all groups above it, of either version."""
    _, controllers, path = [*line.split(":", 2), "", ""][:3]
    inner = Path(path.strip("/"))
    if not controllers:
        for group in (groups / inner, *(groups / parent for parent in inner.parents)):
            allowed, _, period = (_text(group / "cpu.max") or "").partition(" ")
            yield from _quota(allowed, period, group)
    elif "cpu" in controllers.split(","):
        for folder in (groups / controllers, groups / "cpu"):
            for group in (folder / inner, *(folder / parent for parent in inner.parents)):
                allowed, period = (_text(group / f"cpu.cfs_{what}_us") or "" for what in ("quota", "period"))
                yield from _quota(allowed, period, group)


def _quota(allowed: str, period: str, group: Path) -> Iterator[Quota]:
    """``max`` and -1 mean that there is none."""
    if allowed.isdecimal() and period.isdecimal() and int(period):
        throttled = re.search(r"^nr_throttled (\d+)$", _text(group / "cpu.stat") or "", re.MULTILINE)
        yield Quota(cores=int(allowed) / int(period), throttled=int(throttled[1]) if throttled else None)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, ValueError):
        return None
