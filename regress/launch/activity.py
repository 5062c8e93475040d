"""What others do on this host at the moment, from two looks at the kernel's accounts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from regress.launch.host import ROOT

PERIOD_S = 0.5
"""Between two looks: 1 % of a core is half a tick then, 2 % are one."""


@dataclass(frozen=True, kw_only=True)
class Busy:
    """A process that used CPU time."""

    pid: int
    """Its number."""

    name: str
    """As it calls itself; text from outside."""

    cores: float
    """How many it kept busy."""


@dataclass(frozen=True, kw_only=True)
class Activity:
    """What others did meanwhile; ``None`` means "not known"."""

    cores: int | None
    """CPUs of the host."""

    busy: float | None
    """How many of them others kept busy."""

    stolen: float | None
    """Share of CPU time that the hypervisor gave to other machines."""

    processes: tuple[Busy, ...]
    """Those of others that can be seen from here, busiest first."""

    waiting: float | None
    """Share of the last 10 seconds in which some process waited for a CPU."""

    load: float | None
    """Processes that ran or wanted to, on average over the last minute."""


@dataclass(frozen=True, kw_only=True)
class _Process:
    name: str
    parent: int
    ticks: int


@dataclass(frozen=True, kw_only=True)
class _Look:
    """The accounts at one moment, in ticks."""

    cores: int
    total: int
    idle: int
    stolen: int
    processes: Mapping[int, _Process]


def read_activity(
    root: Path = ROOT, pause: Callable[[float], None] = time.sleep, own: int | None = None
) -> Activity:
    """Watch this host for half a second. Never raises.

    Args:
        root: Where ``proc`` lies.
        pause: Waits between the two looks.
        own: The process that does not count as another, with all it has started; this one if not given.
    """
    before = _look(root / "proc")
    pause(PERIOD_S)
    after = _look(root / "proc")
    waiting, load = _waiting(root / "proc"), _load(root / "proc")
    if before is None or after is None or after.total <= before.total:
        return Activity(cores=None, busy=None, stolen=None, processes=(), waiting=waiting, load=load)
    return _between(before, after, os.getpid() if own is None else own, waiting, load)


def _between(before: _Look, after: _Look, own: int, waiting: float | None, load: float | None) -> Activity:
    period = after.total - before.total  # of all CPUs together: no other clock has their ticks
    spent = {
        pid: process.ticks - (before.processes[pid].ticks if pid in before.processes else 0)
        for pid, process in after.processes.items()
    }
    ours = {pid for pid in spent if _is_ours(pid, own, after.processes)}
    stolen = after.stolen - before.stolen
    busy = period - (after.idle - before.idle) - stolen - sum(max(0, spent[pid]) for pid in ours)
    processes = [
        Busy(pid=pid, name=after.processes[pid].name, cores=round(ticks * after.cores / period, 2))
        for pid, ticks in spent.items()
        if ticks > 0 and pid not in ours
    ]
    return Activity(
        cores=after.cores,
        busy=round(max(0, busy) * after.cores / period, 2),
        stolen=round(max(0, stolen) / period, 4),
        processes=tuple(sorted(processes, key=lambda each: (-each.cores, each.pid))),
        waiting=waiting,
        load=load,
    )


def _is_ours(pid: int, own: int, processes: Mapping[int, _Process]) -> bool:
    seen = set()
    while pid in processes and pid not in seen:
        if pid == own:
            return True
        seen.add(pid)
        pid = processes[pid].parent
    return False


def _look(proc: Path) -> _Look | None:
    try:
        lines = (proc / "stat").read_text().splitlines()
        user, nice, system, idle, iowait, irq, softirq, stolen = map(int, lines[0].split()[1:9])
    except (OSError, ValueError, IndexError):
        return None
    cores = sum(line.startswith("cpu") and line[3:4].isdecimal() for line in lines)
    return _Look(
        cores=cores,
        total=user + nice + system + idle + iowait + irq + softirq + stolen,
        idle=idle + iowait,
        stolen=stolen,
        processes=_processes(proc),
    )


def _processes(proc: Path) -> dict[int, _Process]:
    found = {}
    for folder in proc.glob("[0-9]*"):
        try:
            head, _, tail = (folder / "stat").read_text(errors="replace").rpartition(")")
            fields = tail.split()
            found[int(folder.name)] = _Process(
                name=head.partition("(")[2], parent=int(fields[1]), ticks=int(fields[11]) + int(fields[12])
            )
        except (OSError, ValueError, IndexError):  # it has ended meanwhile
            continue
    return found


def _waiting(proc: Path) -> float | None:
    """From a line such as ``some avg10=1.33 avg60=1.77 avg300=0.59 total=2320849090``, in percent there."""
    try:
        line = (proc / "pressure/cpu").read_text().splitlines()[0]
        return float(dict(part.split("=") for part in line.split()[1:])["avg10"]) / 100
    except (OSError, ValueError, IndexError, KeyError):
        return None


def _load(proc: Path) -> float | None:
    try:
        return float((proc / "loadavg").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
