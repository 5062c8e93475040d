"""How many cores this process may keep busy."""

from __future__ import annotations

import math
import os
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Of the container this runs in (control groups, version 2): microseconds of CPU time per period."""


def usable_cores(quota: Path = QUOTA) -> int:
    """Cores in this process's affinity, or fewer where a container's quota allows fewer; at least 1."""
    cores = len(os.sched_getaffinity(0))
    try:
        allowed, period = quota.read_text().split()
        limit = math.ceil(int(allowed) / int(period))
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max": no quota
        return cores
    return max(1, min(cores, limit))
