"""Hardware as a fingerprint: what must be equal is in it, and what tells one machine from its twin is not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from regress.record.platform import Platform

CPU = Platform(host="a", cpu="Epyc", cores=4, memory_bytes=16 << 30)
GPUS = replace(CPU, devices=("NVIDIA H100",) * 2, device_ids=("u0", "u1"), device_memory_bytes=(80 << 30) - 5)


@pytest.mark.parametrize(
    "other",
    [
        replace(GPUS, devices=("NVIDIA H100", "NVIDIA A100")),
        replace(GPUS, devices=("NVIDIA H100",)),
        replace(GPUS, device_memory_bytes=40 << 30),
        replace(GPUS, cores=8),
        CPU,
    ],
)
def test_other_hardware_has_another_fingerprint_and_says_in_what(other: Platform) -> None:
    assert other.fingerprint != GPUS.fingerprint
    assert other.key != GPUS.key
    assert other.fields() != GPUS.fields()


@pytest.mark.parametrize(
    "twin",
    [
        replace(GPUS, host="b"),
        replace(GPUS, device_ids=("u7", "u8")),
        replace(GPUS, device_memory_bytes=(80 << 30) - 6),
    ],
)
def test_another_machine_of_the_same_build_has_the_same(twin: Platform) -> None:
    assert twin.fingerprint == GPUS.fingerprint
    assert twin.key == GPUS.key
    assert twin.fields() == GPUS.fields()


def test_keys_and_fields_for_people() -> None:
    assert re.fullmatch(r"cpu-4c-[0-9a-f]{4}", CPU.key)
    assert re.fullmatch(r"2xh100-[0-9a-f]{4}", GPUS.key)
    assert "device memory" not in CPU.fields()
    assert GPUS.fields()["device memory"] == "79 GiB"


def test_runs_stored_before_devices_told_their_memory_keep_their_fingerprint() -> None:
    assert CPU.fingerprint == "d54e1e605b86"
