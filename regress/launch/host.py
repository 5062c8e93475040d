"""What this host is, as far as the kernel tells: what never changes while a measurement runs.

Nothing here raises: a fact that cannot be read is ``None`` or empty, which means "not known".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from regress.launch.topology import read_cores, read_list
from regress.record.quota import Quota, read_quota

ROOT = Path("/")
"""Where ``proc``, ``sys`` and ``dev`` lie; tests have others."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """Facts about this host; ``None`` and empty mean "not known"."""

    cpus: tuple[int, ...]
    """Numbers of the CPUs that this process may use, ascending."""

    cores: int
    """Physical cores among them."""

    shared_cpus: tuple[int, ...]
    """CPUs among them whose core has another hardware thread, which this process may not use."""

    quota: Quota | None
    """Of the container; ``None`` where there is none."""

    governors: tuple[str, ...]
    """Frequency governors of these CPUs, without repetition, by name."""

    turbo: tuple[str, ...]
    """``on`` and ``off``, as far as there are CPUs of each kind."""

    clock_source: str | None
    """What the kernel reads the time from."""

    nodes: int | None
    """NUMA nodes."""

    numa_balancing: bool | None
    """Whether the kernel moves memory between nodes."""

    hypervisor: bool | None
    """Whether this is a virtual machine."""

    memory_bytes: int | None
    """In all."""

    available_bytes: int | None
    """That can be had without swapping."""

    swap_used_bytes: int | None
    """Memory that lies on a disk."""

    shared_memory_bytes: int | None
    """Free in ``/dev/shm``, through which ranks of one host speak."""


def read_host(root: Path = ROOT, affinity: Iterable[int] | None = None) -> Host:
    """Read what there is to know.

    Args:
        root: Where ``proc``, ``sys`` and ``dev`` lie.
        affinity: Numbers of the CPUs that this process may use; asked for if not given.
    """
    cpus = tuple(sorted(os.sched_getaffinity(0) if affinity is None else affinity))
    system = root / "sys/devices/system"
    memory = _memory(root / "proc/meminfo")
    total, free = memory.get("SwapTotal"), memory.get("SwapFree")
    siblings = {
        cpu: read_list(system / f"cpu/cpu{cpu}/topology/thread_siblings_list") - {cpu} for cpu in cpus
    }
    balancing = _number(root / "proc/sys/kernel/numa_balancing")
    return Host(
        cpus=cpus,
        cores=len(read_cores(cpus, system)),
        shared_cpus=tuple(cpu for cpu in cpus if siblings[cpu] - set(cpus)),
        quota=read_quota(root),
        governors=_each(system / f"cpu/cpu{cpu}/cpufreq/scaling_governor" for cpu in cpus),
        turbo=_turbo(system / "cpu", cpus),
        clock_source=_text(system / "clocksource/clocksource0/current_clocksource"),
        nodes=len(list(system.glob("node/node[0-9]*"))) or None,
        numa_balancing=None if balancing is None else balancing > 0,
        hypervisor=_hypervisor(root / "proc/cpuinfo"),
        memory_bytes=memory.get("MemTotal"),
        available_bytes=memory.get("MemAvailable"),
        swap_used_bytes=None if total is None or free is None else total - free,
        shared_memory_bytes=free_bytes(root / "dev/shm"),
    )


def free_bytes(folder: Path) -> int | None:
    """Room on the disk that a folder lies on, for this user; ``None`` where it is not known."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return None
    return status.f_bavail * status.f_frsize


def _turbo(cpu: Path, cpus: Iterable[int]) -> tuple[str, ...]:
    """Read what Intel's driver says of all CPUs, else what other drivers say of all or of each."""
    intel = _number(cpu / "intel_pstate/no_turbo")
    if intel is not None:
        return ("off",) if intel else ("on",)
    each = _each(cpu / f"cpu{number}/cpufreq/boost" for number in cpus) or _each([cpu / "cpufreq/boost"])
    return tuple(sorted({"0": "off", "1": "on"}[text] for text in each if text in ("0", "1")))


def _hypervisor(cpuinfo: Path) -> bool | None:
    flags = re.search(r"^flags\s*:(.*)$", _text(cpuinfo) or "", re.MULTILINE)
    return None if flags is None else "hypervisor" in flags[1].split()


def _memory(meminfo: Path) -> dict[str, int]:
    found = re.findall(r"^(\w+):\s*(\d{1,15}) kB$", _text(meminfo) or "", re.MULTILINE)
    return {name: int(number) << 10 for name, number in found}


def _each(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(sorted({text for text in map(_text, paths) if text}))


def _number(path: Path) -> int | None:
    text = _text(path) or ""
    return int(text) if text.isdecimal() and len(text) < 20 else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, ValueError):
        return None
