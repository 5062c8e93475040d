"""Whether the GPUs hold both sides at once, seen from launches in which each had them for itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from regress.errors import RequestError
from regress.record.run import Launch

SPARE = 0.1
"""Share of both peaks that has to be free beside them: for what lives outside torch's allocator (the
context of each process, buffers of NCCL) and for gaps."""


def refuse_if_too_large(base: Sequence[Launch], head: Sequence[Launch]) -> None:
    """Refuse to keep two sides resident that do not fit on a device together.

    A benchmark that one of the sides has no peak of is passed over: it was not measured there, or
    the ranks ran on CPU.

    Args:
        base: Launches of one side; those in which it was not alone are passed over.
        head: Of the other.

    Raises:
        RequestError: Peaks of memory reserved by a benchmark, on the worst rank of each side, and a
            tenth more are above the memory of the smallest device.
    """
    peaks = {"base": _peaks(base), "head": _peaks(head)}
    memory = min(
        (
            launch.platform.device_memory_bytes
            for launch in (*base, *head)
            if launch.platform is not None and launch.platform.device_memory_bytes is not None
        ),
        default=None,
    )
    if memory is None:
        return
    for benchmark, before in peaks["base"].items():
        after = peaks["head"].get(benchmark)
        if after is not None and (before + after) * (1 + SPARE) > memory:
            raise RequestError(
                f"{benchmark}: both sides do not fit on one GPU: base reserves {_gib(before)} and head "
                f"{_gib(after)}, and with a tenth more that is above the {_gib(memory)} that it holds; "
                "leave --resident out"
            )


def _peaks(launches: Iterable[Launch]) -> dict[str, float]:
    """The most bytes that any rank reserved, by benchmark."""
    found: dict[str, float] = {}
    for launch in launches:
        for measurement in launch.measurements if launch.alone else ():
            for sample in measurement.samples:
                if sample.metric == "peak_reserved_bytes" and sample.value is not None:
                    found[measurement.benchmark] = max(sample.value, found.get(measurement.benchmark, 0))
    return found


def _gib(size_bytes: float) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"
