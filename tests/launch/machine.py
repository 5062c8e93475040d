"""A machine that exists as files alone: what the kernel and a driver would say."""

from __future__ import annotations

from pathlib import Path

H100 = "NVIDIA H100 80GB HBM3"

GPU = {
    "index": "0",
    "uuid": "GPU-11111111-2222-3333-4444-555555555555",
    "name": H100,
    "driver_version": "570.124.06",
    "persistence_mode": "Enabled",
    "mig.mode.current": "Disabled",
    "ecc.errors.uncorrected.volatile.total": "0",
    "power.limit": "700.00",
    "power.default_limit": "700.00",
    "clocks.sm": "345",
    "clocks.max.sm": "1980",
    "temperature.gpu": "31",
    "clocks_event_reasons.active": "0x0000000000000001",
}
"""One that idles, as a driver of today tells of it."""

QUIET = {
    "proc/meminfo": "MemTotal:       65000000 kB\nMemAvailable:   60000000 kB\n"
    "SwapTotal:       8000000 kB\nSwapFree:        8000000 kB\nHugePages_Total:       0\n",
    "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu tsc msr\n\nprocessor\t: 1\nflags\t\t: fpu tsc msr\n",
    "proc/loadavg": "0.05 0.10 0.12 1/200 4242\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.10 avg300=0.00 total=1\n",
    "proc/sys/kernel/numa_balancing": "0\n",
    "proc/self/cgroup": "0::/\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "sys/devices/system/node/node0/cpulist": "0-3\n",
}
"""Files of a machine on which nothing disturbs."""


def make_machine(
    root: Path, *, cpus: int = 4, threads: int = 1, changes: dict[str, str] | None = None
) -> Path:
    """Write the files of a quiet machine, with changes; its CPUs are numbered core by core."""
    files = dict(QUIET)
    for cpu in range(cpus):
        place = f"sys/devices/system/cpu/cpu{cpu}"
        first = cpu - cpu % threads
        files[f"{place}/cpufreq/scaling_governor"] = "performance\n"
        files[f"{place}/topology/thread_siblings_list"] = f"{first}-{first + threads - 1}\n"
    for name, text in (files | (changes or {})).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "dev/shm").mkdir(parents=True, exist_ok=True)
    return root


def set_activity(
    root: Path,
    *,
    idle: int,
    busy: int,
    stolen: int = 0,
    processes: dict[int, tuple[str, int, int]] | None = None,
) -> None:
    """Write the kernel's accounts, in ticks; a process is its name, its parent and its ticks."""
    proc = root / "proc"
    proc.mkdir(parents=True, exist_ok=True)
    cores = "".join(f"cpu{number} 1 0 0 1 0 0 0 0 0 0\n" for number in range(4))
    (proc / "stat").write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 {stolen} 0 0\n{cores}intr 1\nctxt 1\n")
    for pid, (name, parent, ticks) in (processes or {}).items():
        (proc / str(pid)).mkdir(exist_ok=True)
        rest = f"S {parent} 1 1 0 -1 4194304 9 9 9 9 {ticks} 0 0 0 20 0 1 0 5 1000 10"
        (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {rest}\n")


def make_driver(
    folder: Path, gpus: list[dict[str, str]], *, processes: str = "", known: set[str] | None = None
) -> str:
    """Write a program that answers as ``nvidia-smi`` does, and knows only some fields; returns its path."""
    fields = known or set(GPU)
    rows = "\n".join(f"        print(', '.join({gpu!r}[field] for field in fields))" for gpu in gpus)
    program = folder / "nvidia-smi"
    program.write_text(
        "#!/usr/bin/env python3\nimport sys\n"
        "what, _, names = sys.argv[1].partition('=')\n"
        "assert sys.argv[2] == '--format=csv,noheader,nounits'\n"
        "if what == '--query-compute-apps':\n"
        "    assert names == 'gpu_uuid,pid,process_name'\n"
        f"    print({processes!r}, end='')\n"
        "elif what == '--query-gpu':\n"
        "    fields = names.split(',')\n"
        f"    unknown = [field for field in fields if field not in {fields!r}]\n"
        "    if unknown:\n"
        "        print(f'Field \"{unknown[0]}\" is not a valid field to query.\\n')\n"
        "        sys.exit(2)\n"
        f"    else:\n{rows or '        pass'}\n"
    )
    program.chmod(0o755)
    return str(program)
