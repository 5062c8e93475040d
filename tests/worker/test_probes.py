from __future__ import annotations

import os
from types import SimpleNamespace

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
    assert (platform.devices, platform.device_ids, platform.device_memory_bytes) == ((), (), None)


DEVICES = [
    SimpleNamespace(name="NVIDIA H100", total_memory=80 << 30, uuid="5a5b", pci_bus_id=1),
    SimpleNamespace(name="NVIDIA A100", total_memory=40 << 30, uuid=""),
    SimpleNamespace(
        name="NVIDIA H100", total_memory=80 << 30, pci_domain_id=0, pci_bus_id=27, pci_device_id=0
    ),
    SimpleNamespace(name="NVIDIA T4", total_memory=16 << 30, uuid="00000000-0000-0000-0000-000000000000"),
]


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(DEVICES))
    monkeypatch.setattr(torch.cuda, "get_device_properties", DEVICES.__getitem__)


def test_cuda_devices_are_those_of_the_launch(devices: None) -> None:
    platform = probe_platform(torch.device("cuda", 1), 2)

    assert platform.devices == ("NVIDIA H100", "NVIDIA A100")
    assert platform.device_memory_bytes == 40 << 30
    assert probe_platform(torch.device("cuda", 0), 1).device_memory_bytes == 80 << 30
    assert len(probe_platform(torch.device("cuda"), 16).devices) == 4


def test_every_device_has_an_identity_whatever_torch_knows_of_it(devices: None) -> None:
    platform = probe_platform(torch.device("cuda", 0), 4)

    assert platform.device_ids == ("5a5b", "cuda:1", "00:1b:00", "cuda:3")
