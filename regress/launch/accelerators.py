"""What the NVIDIA driver says of its GPUs, asked with ``nvidia-smi``; torch is not needed.

Nothing here raises: what the driver does not tell is ``None``.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace

LIMIT_S = 20.0
"""A driver that does not answer within this time has lost a GPU."""

FIELDS = (
    "index",
    "uuid",
    "name",
    "driver_version",
    "persistence_mode",
    "mig.mode.current",
    "ecc.errors.uncorrected.volatile.total",
    "power.limit",
    "power.default_limit",
    "clocks.sm",
    "clocks.max.sm",
    "temperature.gpu",
    "clocks_event_reasons.active",
    "clocks_throttle_reasons.active",
)
"""What is asked for; the last two are one fact, whose name newer drivers have changed."""

THROTTLING = {
    0x04: "its power cap",
    0x08: "a hardware slowdown",
    0x20: "its temperature",
    0x40: "a hardware slowdown for heat",
    0x80: "a power brake from outside",
}
"""Why clocks are lower than they could be, by bit of NVML's mask, without idling and what people set."""

LOCKED = 0x02
"""The bit that says that people have set the clocks."""

_NO_DEVICES = "No devices were found"

_UNKNOWN_FIELD = re.compile(r'Field "([\w.]+)" is not a valid field to query')


@dataclass(frozen=True, kw_only=True)
class GpuProcess:
    """A process that computes on a GPU."""

    pid: int
    """Its number; in a container perhaps that of the host."""

    name: str
    """Its program; text from outside."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU; ``None`` means that the driver does not tell."""

    index: int
    """As ``nvidia-smi`` counts."""

    uuid: str
    """Identity."""

    name: str
    """Model."""

    driver: str | None = None
    """Version."""

    persistent: bool | None = None
    """Whether the driver stays loaded while nobody uses the GPU."""

    partitioned: bool | None = None
    """Whether it is cut into instances (MIG)."""

    uncorrected_errors: int | None = None
    """Memory errors since the last reboot that could not be corrected."""

    power_limit_w: float | None = None
    """Its power cap."""

    default_power_w: float | None = None
    """What the cap is if nobody changes it."""

    clock_mhz: float | None = None
    """Of the multiprocessors, now."""

    max_clock_mhz: float | None = None
    """The most they reach."""

    temperature_c: float | None = None
    """Now."""

    throttled_by: tuple[str, ...] | None = None
    """What holds its clocks down now; see `THROTTLING`."""

    locked: bool | None = None
    """Whether people have set its clocks."""

    processes: tuple[GpuProcess, ...] = ()
    """That compute on it now."""


@dataclass(frozen=True, kw_only=True)
class Accelerators:
    """All GPUs of this host."""

    gpus: tuple[Gpu, ...] = ()
    """By index; those that a variable hides from torch too."""

    problem: str | None = None
    """Why the driver did not answer; ``None`` where it did, or there is none."""


def read_accelerators(command: str = "nvidia-smi") -> Accelerators:
    """Ask the driver. A host without ``nvidia-smi`` has no GPUs.

    Args:
        command: The program to ask with.
    """
    try:
        rows = _gpu_rows(command)
        gpus = [_gpu(row) for row in rows]
        running = _running(command) if gpus else {}
    except FileNotFoundError:
        return Accelerators()
    except subprocess.TimeoutExpired:
        return Accelerators(problem=f"{command} did not answer within {LIMIT_S:.0f} s")
    except OSError as error:
        return Accelerators(problem=f"{command} cannot be started: {error.strerror}")
    except (ValueError, KeyError):
        return Accelerators(problem=f"{command} gave an answer that is not understood")
    except subprocess.CalledProcessError as error:
        lines = f"{error.stdout}\n{error.stderr}".strip().splitlines()
        return Accelerators(problem=lines[0][:300] if lines else f"{command} failed without a word")
    known = [replace(gpu, processes=running.get(gpu.uuid, ())) for gpu in gpus]
    return Accelerators(gpus=tuple(sorted(known, key=lambda gpu: gpu.index)))


def _gpu_rows(command: str) -> list[dict[str, str]]:
    """One row per GPU, by field. A field that this driver does not know is left out and asked no more."""
    fields = list(FIELDS)
    while True:
        try:
            lines = _ask(command, f"--query-gpu={','.join(fields)}")
        except subprocess.CalledProcessError as error:
            unknown = _UNKNOWN_FIELD.search(f"{error.stdout}{error.stderr}")
            if unknown is None or unknown[1] not in fields:
                raise
            fields.remove(unknown[1])
        else:
            return [dict(zip(fields, line.split(", "), strict=True)) for line in lines]


def _running(command: str) -> Mapping[str, tuple[GpuProcess, ...]]:
    """Processes by the identity of the GPU; the name stands last, as it may hold anything."""
    found: dict[str, tuple[GpuProcess, ...]] = {}
    for line in _ask(command, "--query-compute-apps=gpu_uuid,pid,process_name"):
        uuid, pid, name = line.split(", ", 2)
        found[uuid] = (*found.get(uuid, ()), GpuProcess(pid=int(pid), name=name))
    return found


def _ask(command: str, query: str) -> list[str]:
    done = subprocess.run(
        [command, query, "--format=csv,noheader,nounits"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=LIMIT_S,
        check=True,
    )
    if done.stdout.startswith(_NO_DEVICES):  # not every version calls that a failure
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def _gpu(row: Mapping[str, str]) -> Gpu:
    known = {name: value.strip() for name, value in row.items() if not _is_missing(value)}
    mask = known.get("clocks_event_reasons.active", known.get("clocks_throttle_reasons.active"))
    reasons = None if mask is None else int(mask, 16)
    errors = _number(known.get("ecc.errors.uncorrected.volatile.total"))
    return Gpu(
        index=int(known["index"]),
        uuid=known["uuid"],
        name=known["name"],
        driver=known.get("driver_version"),
        persistent=_is_enabled(known.get("persistence_mode")),
        partitioned=_is_enabled(known.get("mig.mode.current")),
        uncorrected_errors=None if errors is None else int(errors),
        power_limit_w=_number(known.get("power.limit")),
        default_power_w=_number(known.get("power.default_limit")),
        clock_mhz=_number(known.get("clocks.sm")),
        max_clock_mhz=_number(known.get("clocks.max.sm")),
        temperature_c=_number(known.get("temperature.gpu")),
        throttled_by=None
        if reasons is None
        else tuple(why for bit, why in THROTTLING.items() if reasons & bit),
        locked=None if reasons is None else bool(reasons & LOCKED),
    )


def _is_missing(value: str) -> bool:
    """``[N/A]``, ``[Not Supported]``, ``[Unknown Error]``, ``N/A``."""
    return value.strip().startswith("[") or value.strip() in ("", "N/A")


def _is_enabled(value: str | None) -> bool | None:
    return None if value is None else value == "Enabled"


def _number(value: str | None) -> float | None:
    return None if value is None else float(value)
