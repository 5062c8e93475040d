"""What this rank runs on: hardware and software."""

from __future__ import annotations

import os
import platform
import re
import socket
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from regress.record.environment import Environment
from regress.record.platform import Platform
from regress.worker.cores import usable_cores

STEERING = re.compile(
    r"(NCCL|TORCH|PYTORCH|ATEN|CUDA|GLOO|OMP|MKL|OPENBLAS|KMP|UCX|FI|CUBLAS|MALLOC)_[A-Z0-9_]*|LD_PRELOAD"
)
"""Variables that change what training costs. Others may hold secrets and are not recorded."""


def probe_environment(backend: str) -> Environment:
    """Software of this process."""
    variables = {name: value[:200] for name, value in os.environ.items() if STEERING.fullmatch(name)}
    return Environment(
        python=platform.python_version(),
        torch=str(torch.__version__),
        backend=backend,
        threads=torch.get_num_threads(),
        cuda=torch.version.cuda,
        nccl=_nccl() if backend == "nccl" else None,
        variables=tuple(sorted(variables.items())),
    )


def probe_platform(device: torch.device, world_size: int) -> Platform:
    """Hardware of this host, seen from one rank of a launch that fills it.

    Of CUDA devices only properties are read: that puts no context on those of other ranks.
    """
    count = min(world_size, torch.cuda.device_count()) if device.type == "cuda" else 0
    properties = [torch.cuda.get_device_properties(index) for index in range(count)]
    return Platform(
        host=socket.gethostname(),
        cpu=_cpu(),
        cores=usable_cores(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        devices=tuple(each.name for each in properties),
        device_ids=tuple(_identity(each, index) for index, each in enumerate(properties)),
        device_memory_bytes=min((each.total_memory for each in properties), default=None),
    )


def _identity(properties: Any, index: int) -> str:
    """What tells a device from its twins: its UUID, else its place on the bus, else its number.

    Versions of torch differ in which they know.
    """
    uuid = str(getattr(properties, "uuid", ""))
    if uuid.strip("0-"):
        return uuid
    place = [getattr(properties, f"pci_{part}_id", None) for part in ("domain", "bus", "device")]
    if None not in place:
        return ":".join(f"{number:02x}" for number in place)
    return f"cuda:{index}"


def _nccl() -> str | None:
    if not dist.is_nccl_available():
        return None
    return ".".join(map(str, torch.cuda.nccl.version()))


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.machine()
