"""What disturbs is told with what to do; what is not known disturbs nobody."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from regress.flows.disturbances import gpu_checks, host_checks, lock_check
from regress.launch.accelerators import Accelerators, Gpu, GpuProcess
from regress.launch.activity import Activity, Busy
from regress.launch.host import Host, read_host
from regress.record.diagnosis import Check
from regress.record.quota import Quota
from tests.launch.machine import H100, make_machine

QUIET = Activity(cores=4, busy=0.05, stolen=0.0, processes=(), waiting=0.0, load=0.1)
TRAINING = Busy(pid=7, name="train.py", cores=1.5)
KNOWN = Gpu(index=0, uuid="GPU-0", name=H100, throttled_by=(), locked=False)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return replace(read_host(make_machine(tmp_path), range(4)), shared_memory_bytes=1 << 30)


def told(checks: list[Check], state: str) -> dict[str, str]:
    return {check.name: f"{check.text}; {check.advice}" for check in checks if check.state == state}


def test_on_a_quiet_machine_all_is_known_and_fine(host: Host) -> None:
    checks = list(host_checks(host, QUIET))
    assert {check.state for check in checks} == {"fine"}
    assert all(check.text and not check.advice for check in checks)


def test_what_is_not_known_disturbs_nobody() -> None:
    nothing = Host(**{field.name: None for field in fields(Host)} | {  # type: ignore[arg-type]  # all at once
        "cpus": (0, 1), "cores": 2, "shared_cpus": (), "governors": (), "turbo": (),
    })  # fmt: skip
    silent = Activity(cores=None, busy=None, stolen=None, processes=(), waiting=None, load=None)
    checks = list(host_checks(nothing, silent))
    assert {check.state for check in checks} == {"fine", "unknown"}
    assert told(checks, "fine").keys() == {"cores", "CPU quota", "hardware threads"}
    assert all(check.text == check.advice == "" for check in checks if check.state == "unknown")


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"governors": ("powersave",)}, "CPU governor", "powersave; clocks follow the load; `cpupower"),
        ({"governors": ("performance", "schedutil")}, "CPU governor", "performance, schedutil; "),
        ({"turbo": ("off", "on")}, "turbo", "on for some cores and off for others"),
        ({"clock_source": "hpet"}, "clock source", "hpet; reading the time is slow"),
        ({"numa_balancing": True, "nodes": 2}, "NUMA balancing", "on, over 2 nodes"),
        ({"shared_cpus": (1, 3)}, "hardware threads", "the second thread of the cores of CPUs 1,3; "),
        ({"quota": Quota(cores=2.5, throttled=12)}, "CPU quota",
         "may use 2.5 cores, and had to wait in 12 periods so far; give it whole cores"),
        ({"quota": Quota(cores=4.0, throttled=1)}, "CPU quota", "had to wait in 1 periods"),
        ({"quota": Quota(cores=1.0, throttled=0)}, "cores", "1 of 1 core free: two ranks would share it; "),
        ({"cpus": (0, 1), "cores": 1}, "cores", "world_size: [1]"),
        ({"available_bytes": 1 << 29}, "memory", "512.0 MiB of 61.99 GiB available; end programs"),
        ({"swap_used_bytes": 1 << 30}, "swap", "1.000 GiB of memory lie on a disk; `swapoff"),
        ({"shared_memory_bytes": 64 << 20}, "shared memory",
         "64.00 MiB free in /dev/shm; start the container with `--shm-size=1g` or more"),
    ],
    ids=str,
)  # fmt: skip
def test_of_the_host(host: Host, change: dict[str, object], name: str, words: str) -> None:
    changed = replace(host, **change)  # type: ignore[arg-type]  # one field or another
    assert words in told(list(host_checks(changed, QUIET)), "disturbs")[name]


@pytest.mark.parametrize(
    "change",
    [
        {"turbo": ("off",)},
        {"clock_source": "kvm-clock"},
        {"clock_source": "arch_sys_counter"},
        {"numa_balancing": True, "nodes": 1},
        {"quota": Quota(cores=4.0, throttled=0)},
        {"swap_used_bytes": 1 << 20},
        {"hypervisor": True},
    ],
    ids=str,
)
def test_what_does_not_disturb(host: Host, change: dict[str, object]) -> None:
    changed = replace(host, **change)  # type: ignore[arg-type]  # one field or another
    assert {check.state for check in host_checks(changed, QUIET)} == {"fine"}


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"busy": 1.5, "processes": (TRAINING,)}, "other load",
         "others keep 1.5 of 4 cores busy: train.py (pid 7) 1.5; end these programs"),
        ({"busy": 1.5}, "other load", "busy: who, is not seen from here; "),
        ({"busy": 0.4, "processes": (replace(TRAINING, cores=0.01),)}, "other load", "is not seen from here"),
        ({"waiting": 0.25}, "other load", "in 25 % of the last 10 s some program waited for a core; "),
        ({"busy": None, "load": 1.5}, "other load", "1.5 programs wanted to run in the last minute; "),
        ({"busy": 2.6}, "cores", "1 of 4 cores free: ranks would share cores with others; end other"),
        ({"busy": 9.0}, "cores", "0 of 4 cores free"),
        ({"stolen": 0.031}, "stolen time", "3.1 % of CPU time went to other virtual machines; "),
    ],
    ids=str,
)  # fmt: skip
def test_of_what_others_do(host: Host, change: dict[str, object], name: str, words: str) -> None:
    activity = replace(QUIET, **change)  # type: ignore[arg-type]  # one field or another
    assert words in told(list(host_checks(host, activity)), "disturbs")[name]


def test_on_a_large_host_a_little_load_is_none(host: Host) -> None:
    little = replace(QUIET, cores=128, busy=1.0, processes=(TRAINING,))
    assert told(list(host_checks(replace(host, cores=128), little)), "disturbs") == {}


def test_of_other_measurements() -> None:
    assert (lock_check(()).state, lock_check(()).text) == ("fine", "none runs")
    assert told([lock_check(["a measures"])], "disturbs")["measurements"].startswith("a measures; let it end")
    assert lock_check(["a measures", "b measures"]).text == "a measures (and 1 more)"


def test_without_gpus_nothing_is_said_of_them() -> None:
    assert list(gpu_checks(Accelerators())) == []


def test_gpus_that_idle_are_fine() -> None:
    checks = list(gpu_checks(Accelerators(gpus=(KNOWN, replace(KNOWN, index=1)))))
    assert {check.state for check in checks} == {"fine"}
    assert checks[0].text == f"2x {H100}"


def test_gpus_that_tell_nothing_disturb_nobody() -> None:
    checks = list(gpu_checks(Accelerators(gpus=(Gpu(index=0, uuid="GPU-0", name=H100),))))
    assert {check.state for check in checks} == {"fine", "unknown"}


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"name": "NVIDIA A100"}, "GPU models", f"they differ: 1x NVIDIA A100, 2x {H100}; choose equal ones"),
        ({"throttled_by": ("its temperature",)}, "GPU throttling",
         "its temperature holds down the clocks of GPU 1; "),
        ({"processes": tuple(GpuProcess(pid=n, name="x") for n in range(5))}, "GPU processes",
         "GPU 1 is used by x (pid 0), x (pid 1), x (pid 2) and 2 more; end these programs"),
        ({"uncorrected_errors": 1}, "GPU memory errors", "GPU 1: uncorrected errors"),
        ({"power_limit_w": 350.0, "default_power_w": 700.0}, "GPU power", "GPU 1: the power cap is below"),
        ({"temperature_c": 90.0}, "GPU temperature", "GPU 1: 85 °C or more"),
        ({"partitioned": True}, "GPU instances", "GPU 1: MIG is on"),
        ({"persistent": False}, "GPU persistence", "GPU 1: the driver leaves"),
        ({"locked": True}, "GPU clocks", "fixed on some GPUs only; "),
    ],
    ids=str,
)  # fmt: skip
def test_of_gpus(change: dict[str, object], name: str, words: str) -> None:
    one = replace(KNOWN, **{"index": 1} | change)  # type: ignore[arg-type]  # one field or another
    checks = list(gpu_checks(Accelerators(gpus=(KNOWN, one, replace(KNOWN, index=2)))))
    assert words in told(checks, "disturbs")[name]
    assert list(told(checks, "disturbs")) == [name]


def test_a_driver_that_does_not_answer_is_told() -> None:
    (check,) = gpu_checks(Accelerators(problem="it has failed"))
    assert (check.state, check.text) == ("wrong", "the NVIDIA driver names no GPU: it has failed")
