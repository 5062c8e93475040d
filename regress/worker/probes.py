"""What this rank runs on: hardware and software."""

from __future__ import annotations

import os
import platform
import re
import socket
from pathlib import Path

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
    """Hardware of this host, seen from one rank of a launch that fills it."""
    devices: tuple[str, ...] = ()
    if device.type == "cuda":
        count = min(world_size, torch.cuda.device_count())
        devices = tuple(torch.cuda.get_device_name(index) for index in range(count))
    return Platform(
        host=socket.gethostname(),
        cpu=_cpu(),
        cores=usable_cores(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        devices=devices,
    )


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
