from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from regress.launch.host import read_host
from regress.record.quota import Quota, read_quota
from tests.launch.machine import make_machine

CPU = "sys/devices/system/cpu"


def test_a_quiet_machine(tmp_path: Path) -> None:
    host = read_host(make_machine(tmp_path), range(4))
    assert dataclasses.replace(host, shared_memory_bytes=0) == dataclasses.replace(
        host,
        cpus=(0, 1, 2, 3),
        cores=4,
        shared_cpus=(),
        quota=None,
        governors=("performance",),
        turbo=("on",),
        clock_source="tsc",
        nodes=1,
        numa_balancing=False,
        hypervisor=False,
        memory_bytes=65000000 << 10,
        available_bytes=60000000 << 10,
        swap_used_bytes=0,
        shared_memory_bytes=0,
    )
    assert host.shared_memory_bytes


def test_where_nothing_can_be_read_nothing_is_known(tmp_path: Path) -> None:
    host = read_host(tmp_path, [0, 1])
    assert (host.cpus, host.cores) == ((0, 1), 2)
    facts = dataclasses.asdict(host)
    assert {name for name, fact in facts.items() if fact not in (None, ())} == {"cpus", "cores"}


def test_files_that_say_something_else_are_not_understood_and_do_no_harm(tmp_path: Path) -> None:
    make_machine(tmp_path)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xff\x00 nonsense: x y\n")
    host = read_host(tmp_path, range(2))
    assert (host.quota, host.turbo, host.numa_balancing, host.memory_bytes) == (None, (), None, None)


def test_this_machine_can_be_read() -> None:
    host = read_host()
    assert set(host.cpus) == os.sched_getaffinity(0)
    assert 1 <= host.cores <= len(host.cpus)


def test_only_the_cpus_of_this_process_count(tmp_path: Path) -> None:
    changes = {f"{CPU}/cpu{cpu}/cpufreq/scaling_governor": "powersave\n" for cpu in (2, 3)}
    make_machine(tmp_path, changes=changes)
    assert read_host(tmp_path, [0, 1]).governors == ("performance",)
    assert read_host(tmp_path, range(4)).governors == ("performance", "powersave")


def test_threads_of_a_core_that_others_may_use(tmp_path: Path) -> None:
    make_machine(tmp_path, threads=2)
    whole, halves = read_host(tmp_path, range(4)), read_host(tmp_path, [0, 1, 2])
    assert (whole.cores, whole.shared_cpus) == (2, ())
    assert (halves.cores, halves.shared_cpus) == (2, (2,))


@pytest.mark.parametrize(
    ("files", "turbo"),
    [
        ({"intel_pstate/no_turbo": "1"}, ("off",)),
        ({"cpufreq/boost": "1"}, ("on",)),
        ({"cpufreq/boost": "0"}, ("off",)),
        ({"cpu0/cpufreq/boost": "0", "cpu1/cpufreq/boost": "1", "cpufreq/boost": "1"}, ("off", "on")),
        ({"cpu0/cpufreq/boost": "2"}, ()),
        ({}, ()),
    ],
)
def test_turbo_as_each_driver_tells_it(tmp_path: Path, files: dict[str, str], turbo: tuple[str, ...]) -> None:
    make_machine(tmp_path, changes={f"{CPU}/{name}": text for name, text in files.items()})
    if "intel_pstate/no_turbo" not in files:
        (tmp_path / CPU / "intel_pstate/no_turbo").unlink()
    assert read_host(tmp_path, range(2)).turbo == turbo


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "150000 100000"}, Quota(cores=1.5, throttled=None)),
        (
            {"cpu.max": "50000 100000", "cpu.stat": "usage_usec 5\nnr_periods 9\nnr_throttled 7\n"},
            Quota(cores=0.5, throttled=7),
        ),
        ({"cpu.max": "150000 0"}, None),
        ({"cpu.max": "x"}, None),
        ({"a/b/cpu.max": "max 100000", "a/cpu.max": "200000 100000"}, Quota(cores=2, throttled=None)),
        ({"a/b/cpu.max": "300000 100000", "a/cpu.max": "200000 100000"}, Quota(cores=2, throttled=None)),
        ({"other/cpu.max": "100000 100000"}, None),
        (
            {"cpu,cpuacct/c/cpu.cfs_quota_us": "250000", "cpu,cpuacct/c/cpu.cfs_period_us": "100000"},
            Quota(cores=2.5, throttled=None),
        ),
        ({"cpu/c/cpu.cfs_quota_us": "-1", "cpu/c/cpu.cfs_period_us": "100000"}, None),
        (
            {"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"},
            Quota(cores=1, throttled=None),
        ),
    ],
    ids=str,
)
def test_the_tightest_quota_holds(tmp_path: Path, files: dict[str, str], quota: Quota | None) -> None:
    groups = {"proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/c\n0::/a/b\n"}
    groups |= {f"sys/fs/cgroup/{name}": f"{text}\n" for name, text in files.items()}
    assert read_quota(make_machine(tmp_path, changes=groups)) == quota


@pytest.mark.parametrize(("cores", "usable"), [(0.5, 1), (1.0, 1), (1.5, 2), (4.0, 4)])
def test_a_begun_core_can_be_kept_busy(cores: float, usable: int) -> None:
    assert Quota(cores=cores, throttled=None).usable == usable


@pytest.mark.parametrize(
    ("flags", "is_virtual"),
    [("fpu hypervisor tsc", True), ("fpu nohypervisor", False), (None, None)],
)
def test_a_virtual_machine_says_so(tmp_path: Path, flags: str | None, is_virtual: bool | None) -> None:
    text = "Features: fp asimd\n" if flags is None else f"flags\t\t: {flags}\n"
    make_machine(tmp_path, changes={"proc/cpuinfo": text})
    assert read_host(tmp_path, [0]).hypervisor is is_virtual
