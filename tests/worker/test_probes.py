from __future__ import annotations

import os

import pytest

pytest.importorskip("torch")

import torch

from regress.worker.probes import probe_environment, probe_platform


def test_software_and_the_variables_that_steer_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        monkeypatch.delenv(name)
    for name in (
        "NCCL_ALGO",
        "OMP_NUM_THREADS",
        "LD_PRELOAD",
        "AWS_SECRET",
        "TORCHELASTIC_RUN_ID",
        "MY_NCCL_X",
    ):
        monkeypatch.setenv(name, "1" * 300)

    environment = probe_environment("gloo")

    assert [name for name, _ in environment.variables] == ["LD_PRELOAD", "NCCL_ALGO", "OMP_NUM_THREADS"]
    assert {len(value) for _, value in environment.variables} == {200}
    assert environment.torch == torch.__version__
    assert environment.threads == torch.get_num_threads()
    assert environment.nccl is None


def test_hardware() -> None:
    platform = probe_platform(torch.device("cpu"), 2)

    assert platform.cores == len(os.sched_getaffinity(0))
    assert platform.memory_bytes > 2**28
    assert platform.cpu
    assert platform.devices == ()


def test_cuda_devices_are_those_of_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"NVIDIA H100 {index}")

    assert probe_platform(torch.device("cuda", 0), 2).devices == ("NVIDIA H100 0", "NVIDIA H100 1")
