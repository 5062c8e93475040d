from __future__ import annotations

from pathlib import Path

import pytest

from regress.launch import accelerators
from regress.launch.accelerators import Accelerators, Gpu, GpuProcess, read_accelerators
from tests.launch.machine import GPU, H100, make_driver

IDLE = Gpu(
    index=0,
    uuid=GPU["uuid"],
    name=H100,
    driver="570.124.06",
    persistent=True,
    partitioned=False,
    uncorrected_errors=0,
    power_limit_w=700.0,
    default_power_w=700.0,
    clock_mhz=345.0,
    max_clock_mhz=1980.0,
    temperature_c=31.0,
    throttled_by=(),
    locked=False,
)


def only(tmp_path: Path, **changes: str) -> Gpu:
    fields = GPU | {name.replace("__", "."): value for name, value in changes.items()}
    (gpu,) = read_accelerators(make_driver(tmp_path, [fields])).gpus
    return gpu


def test_one_that_idles(tmp_path: Path) -> None:
    assert only(tmp_path) == IDLE


def test_all_of_them_with_their_processes(tmp_path: Path) -> None:
    gpus = [GPU | {"index": str(index), "uuid": f"GPU-{index}"} for index in (1, 0)]
    processes = "GPU-1, 4242, /usr/bin/python3 -c a, b\nGPU-1, 7, [Not Found]\n"
    found = read_accelerators(make_driver(tmp_path, gpus, processes=processes)).gpus
    assert [(gpu.index, gpu.uuid) for gpu in found] == [(0, "GPU-0"), (1, "GPU-1")]
    assert found[0].processes == ()
    assert found[1].processes == (
        GpuProcess(pid=4242, name="/usr/bin/python3 -c a, b"),
        GpuProcess(pid=7, name="[Not Found]"),
    )


def test_what_a_driver_does_not_tell_is_not_known(tmp_path: Path) -> None:
    known = {"index", "uuid", "name"}
    missing = iter(["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]"] * 5)
    gpu = {name: value if name in known else next(missing) for name, value in GPU.items()}
    (found,) = read_accelerators(make_driver(tmp_path, [gpu])).gpus
    assert found == Gpu(index=0, uuid=GPU["uuid"], name=H100)


def test_a_driver_that_knows_few_fields_is_asked_for_those(tmp_path: Path) -> None:
    known = {"index", "uuid", "name", "temperature.gpu"}
    (found,) = read_accelerators(make_driver(tmp_path, [GPU], known=known)).gpus
    assert found == Gpu(index=0, uuid=GPU["uuid"], name=H100, temperature_c=31.0)


def test_an_older_driver_calls_the_reasons_otherwise(tmp_path: Path) -> None:
    older = {"clocks_throttle_reasons.active": "0x0000000000000040"}
    gpu = {name: value for name, value in GPU.items() if "event_reasons" not in name} | older
    (found,) = read_accelerators(make_driver(tmp_path, [gpu], known=set(gpu))).gpus
    assert found.throttled_by == ("a hardware slowdown for heat",)


@pytest.mark.parametrize(
    ("mask", "throttled_by", "locked"),
    [
        ("0x0000000000000000", (), False),
        ("0x0000000000000002", (), True),
        ("0x0000000000000004", ("its power cap",), False),
        ("0x0000000000000060", ("its temperature", "a hardware slowdown for heat"), False),
        ("0x000000000000008A", ("a hardware slowdown", "a power brake from outside"), True),
        ("0x0000000000000110", (), False),
    ],
)
def test_what_holds_the_clocks_down(
    tmp_path: Path, mask: str, throttled_by: tuple[str, ...], locked: bool
) -> None:
    gpu = only(tmp_path, clocks_event_reasons__active=mask)
    assert (gpu.throttled_by, gpu.locked) == (throttled_by, locked)


def test_settings_and_errors(tmp_path: Path) -> None:
    gpu = only(
        tmp_path,
        persistence_mode="Disabled",
        mig__mode__current="Enabled",
        ecc__errors__uncorrected__volatile__total="3",
        power__limit="350.00",
    )
    assert (gpu.persistent, gpu.partitioned, gpu.uncorrected_errors) == (False, True, 3)
    assert (gpu.power_limit_w, gpu.default_power_w) == (350.0, 700.0)


def test_without_the_program_there_are_none() -> None:
    assert read_accelerators("nvidia-smi-that-is-nowhere") == Accelerators()


def test_a_driver_without_gpus(tmp_path: Path) -> None:
    assert read_accelerators(make_driver(tmp_path, [])) == Accelerators()


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo 'NVIDIA-SMI has failed because it could not reach the driver.'; echo more; exit 9",
         "NVIDIA-SMI has failed because it could not reach the driver."),
        ("echo 'Unable to determine the handle' >&2; exit 15", "Unable to determine the handle"),
        ("exit 1", "{program} failed without a word"),
        ("echo No devices were found", "No devices were found"),
        ("echo No devices were found; exit 6", "No devices were found"),
        ("echo something else", "{program} gave an answer that is not understood"),
        ("echo 'Field \"x\" is not a valid field to query.'; exit 2",
         'Field "x" is not a valid field to query.'),
        ("sleep 5", "{program} did not answer within 0 s"),
    ],
)  # fmt: skip
def test_a_driver_in_trouble_is_a_problem_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, problem: str
) -> None:
    if "sleep" in script:
        monkeypatch.setattr(accelerators, "LIMIT_S", 0.2)
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    found = read_accelerators(str(program))
    assert found == Accelerators(problem=problem.replace("{program}", str(program)))


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "nvidia-smi").write_text("")
    found = read_accelerators(str(tmp_path / "nvidia-smi"))
    assert found.problem is not None
    assert "cannot be started: Permission denied" in found.problem
