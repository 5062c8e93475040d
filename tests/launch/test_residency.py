"""Two sides stay on a GPU together only where both peaks and a tenth more fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from regress.errors import RequestError
from regress.launch.fake import PLATFORM
from regress.launch.residency import refuse_if_too_large
from regress.record.outcome import Outcome
from regress.record.platform import Platform
from regress.record.run import Launch, Measurement
from regress.record.sample import Sample

GIB = 1 << 30
GPU = replace(PLATFORM, devices=("H100",), device_memory_bytes=80 * GIB)


def launch(
    *, block: int = 0, alone: bool = True, platform: Platform | None = GPU, **peaks: float | None
) -> Launch:
    """One launch with a peak for each benchmark; ``None``: it failed."""
    return Launch(
        run="0",
        block=block,
        attempt=0,
        world_size=1,
        alone=alone,
        started="",
        seconds=1.0,
        platform=platform,
        environment=None,
        measurements=tuple(
            Measurement(
                benchmark=name,
                definition="d",
                outcome=Outcome(kind="raised" if peak is None else "ok"),
                samples=() if peak is None else (
                    Sample(metric="peak_allocated_bytes", value=999 * GIB),
                    Sample(metric="peak_reserved_bytes", value=peak, rank=0),
                ),
            )
            for name, peak in peaks.items()
        ),
    )  # fmt: skip


def test_both_peaks_and_a_tenth_more_are_the_limit() -> None:
    refuse_if_too_large([launch(ddp=40 * GIB)], [launch(ddp=80 * GIB / 1.1 - 40 * GIB)])
    with pytest.raises(RequestError) as refused:
        refuse_if_too_large([launch(ddp=40 * GIB)], [launch(ddp=32.75 * GIB)])
    assert str(refused.value) == (
        "ddp: both sides do not fit on one GPU: base reserves 40.0 GiB and head 32.8 GiB, and with a "
        "tenth more that is above the 80.0 GiB that it holds; leave --resident out"
    )


def test_the_benchmark_that_does_not_fit_is_named() -> None:
    with pytest.raises(RequestError, match=r"^fsdp: "):
        refuse_if_too_large(
            [launch(ddp=GIB, fsdp=GIB), launch(block=1, ddp=2 * GIB, fsdp=60 * GIB)],
            [launch(fsdp=60 * GIB, ddp=3 * GIB)],
        )


def test_benchmarks_of_one_launch_are_on_the_device_one_after_the_other() -> None:
    refuse_if_too_large([launch(ddp=30 * GIB, fsdp=30 * GIB)], [launch(ddp=30 * GIB, fsdp=30 * GIB)])


def test_the_largest_peak_and_the_smallest_device_count() -> None:
    small = replace(GPU, device_memory_bytes=50 * GIB)
    sides = [launch(ddp=10 * GIB), launch(block=1, ddp=40 * GIB)], [launch(ddp=15 * GIB)]
    refuse_if_too_large(*sides)
    with pytest.raises(RequestError, match=r"40\.0 GiB and head 15\.0 GiB.* the 50\.0 GiB"):
        refuse_if_too_large(sides[0], [launch(ddp=15 * GIB, platform=small)])


def test_what_is_not_known_is_not_refused() -> None:
    large = [launch(ddp=79 * GIB)]
    refuse_if_too_large(large, [launch(ddp=None)])
    refuse_if_too_large(large, [launch(fsdp=79 * GIB)])
    refuse_if_too_large(large, [launch(ddp=79 * GIB, alone=False)])
    refuse_if_too_large(large, [])
    on_cpu = [launch(ddp=79 * GIB, platform=PLATFORM)]
    refuse_if_too_large(on_cpu, [*on_cpu, launch(platform=None)])
