"""The hardware that a launch ran on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Platform:
    """Hardware of one launch. Two platforms are never compared as if they were one."""

    host: str
    """Name of the first host; not part of the fingerprint."""

    cpu: str
    """Model as the kernel names it."""

    cores: int
    """That this process may use."""

    memory_bytes: int
    """Of the host."""

    devices: tuple[str, ...] = ()
    """Model of each accelerator; empty on CPU."""

    device_ids: tuple[str, ...] = ()
    """Identity of each accelerator, as its driver gives it; not part of the fingerprint."""

    device_memory_bytes: int | None = None
    """Of the smallest accelerator; ``None`` on CPU."""

    nodes: int = 1
    """Hosts in the launch."""

    @property
    def key(self) -> str:
        """Short name of the hardware: ``cpu-2c-1f3a`` or ``8xh100-1f3a``."""
        if self.devices:
            model = self.devices[0].lower().removeprefix("nvidia ").replace(" ", "-")
            name = f"{len(self.devices)}x{model}"
        else:
            name = f"cpu-{self.cores}c"
        name += f".{self.nodes}n" if self.nodes > 1 else ""
        return f"{name}-{self.fingerprint[:4]}"

    @property
    def fingerprint(self) -> str:
        """Digest of all that must be equal for a comparison (memory to the GiB)."""
        facts: tuple[object, ...] = (self.cpu, self.cores, self.memory_bytes >> 30, self.devices, self.nodes)
        if self.device_memory_bytes is not None:
            facts = (*facts, self.device_memory_bytes >> 30)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]

    def fields(self) -> dict[str, str]:
        """What a difference between two platforms is listed by."""
        facts = {
            "cpu": self.cpu,
            "cores": str(self.cores),
            "memory": f"{self.memory_bytes >> 30} GiB",
            "devices": ", ".join(self.devices) or "none",
            "nodes": str(self.nodes),
        }
        if self.device_memory_bytes is not None:
            facts["device memory"] = f"{self.device_memory_bytes >> 30} GiB"
        return facts
