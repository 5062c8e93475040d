"""Ranks on a real GPU: its clock, NCCL, memory, failures, and a fork server that leaves it alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from regress.launch.launcher import Report
from regress.launch.local import LocalLauncher
from regress.record.series import launch_samples
from regress.worker.clock import clock_of
from tests.gpu.site import DEVICE, NEEDS_GPU, Site, suite_job

pytestmark = [*NEEDS_GPU]

PRECISIONS = ("fp32", "bf16", "fp16")


def ignore(side: str, label: str, done: float) -> None:
    """Watch nothing."""


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalLauncher]:
    with LocalLauncher(cache=tmp_path_factory.mktemp("cache"), device=DEVICE) as launcher:
        yield launcher


def test_events_measure_kernels_as_the_wall_clock_does_and_wait_for_none() -> None:
    device = torch.device(DEVICE, 0)
    clock = clock_of(device)
    a = torch.randn(4096, 4096, device=device) / 64
    product = torch.empty_like(a)
    for _ in range(20):
        torch.mm(a, a, out=product)
    clock.synchronize()
    start_s = time.perf_counter()
    marks = [clock.mark()]
    for _ in range(4):
        for _ in range(50):
            torch.mm(a, a, out=product)
        marks.append(clock.mark())
    handed_over_s = time.perf_counter() - start_s
    clock.wait(marks[1])
    first_s = time.perf_counter() - start_s
    clock.synchronize()
    wall_s = time.perf_counter() - start_s

    offsets_s = clock.offsets_s(marks[0], marks)

    assert offsets_s[-1] == pytest.approx(wall_s, rel=0.05, abs=0.002)
    assert handed_over_s < wall_s / 2
    assert first_s < 0.75 * wall_s
    parts_s = [end - start for start, end in pairwise(offsets_s)]
    assert max(parts_s) < 1.25 * min(parts_s)


def test_every_strategy_trains_in_every_precision_over_nccl(launcher: LocalLauncher, tmp_path: Path) -> None:
    can = [each for each in PRECISIONS if each != "bf16" or torch.cuda.is_bf16_supported(False)]
    job = suite_job(
        tmp_path,
        [
            (name, {"size": "small", "precision": precision, **more})
            for precision in can
            for name, more in (("ddp", {}), ("fsdp", {"reshard": True}))
        ],
    )

    (report,) = launcher.run(job, ignore)

    assert [(each.outcome.kind, each.outcome.message) for each in report.measured] == [("ok", "")] * len(
        job.turns
    )
    assert report.environment is not None
    assert (report.environment.backend, bool(report.environment.nccl)) == ("nccl", True)
    assert report.platform is not None
    assert report.platform.devices == (torch.cuda.get_device_name(0),)
    assert report.platform.device_memory_bytes == torch.cuda.get_device_properties(0).total_memory
    assert len(set(report.platform.device_ids)) == 1
    found = {each.benchmark.label: launch_samples(each.ranks) for each in report.measured}
    losses = {}
    for label, samples in found.items():
        values = {sample.metric: sample for sample in samples}
        assert 0 < (values["step_s"].value or 0) < 1
        assert 0 < (values["forward_s"].value or 0) < (values["step_s"].value or 0)
        allocated, reserved = values["peak_allocated_bytes"].value, values["peak_reserved_bytes"].value
        assert allocated is not None
        assert reserved is not None
        assert 1e8 < allocated <= reserved < report.platform.device_memory_bytes
        losses[label] = values["loss"].steps
    first = next(iter(losses.values()))
    for label, series in losses.items():
        assert series == pytest.approx(first, rel=5e-3), label
        assert series[-1] < series[0]


def test_the_fork_server_never_touches_a_device(launcher: LocalLauncher, tmp_path: Path) -> None:
    site = Site(tmp_path, only=False)

    for _ in range(2):
        (report,) = launcher.run(site.job("products"), ignore)
        assert report.measured[0].outcome.ok

    assert all(note["nodes"] for note in site.notes("rank"))
    servers = site.notes("server")
    assert len({note["server"] for note in servers}) == 1  # the second rank is forked after the first used it
    assert [note["nodes"] for note in servers] == [[], []]


def test_both_sides_are_resident_on_one_device_and_take_turns(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    site = Site(tmp_path, base=False, head=False)
    job = site.job("products", alone=False)

    reports = tuple(launcher.run(job, ignore))

    assert [report.side for report in reports] == ["base", "head"]
    assert all(report.measured[0].outcome.ok for report in reports)
    assert len({report.platform.device_ids for report in reports if report.platform}) == 1
    steps = [note["side"] for note in site.notes("step")]
    burst = job.steps.burst + 1
    timed = steps[2 * job.steps.warmup :][: 2 * job.steps.turns * burst]
    assert [timed[start] for start in range(0, len(timed), burst)] == list(job.turns[0][1])
    assert len({note["pid"] for note in site.notes("rank")}) == 2


def test_memory_that_is_not_there_is_an_outcome_and_ends_the_launch(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    site = Site(tmp_path, only=True)

    (report,) = launcher.run(site.job("too_large", "products"), ignore)
    (after,) = launcher.run(site.job("products"), ignore)

    (failed,) = report.measured  # what comes after it is launched afresh
    assert (failed.outcome.kind, failed.outcome.rank) == ("out_of_memory", 0)
    assert "memory" in failed.outcome.message
    assert _kinds(after) == ["ok"]


def _kinds(report: Report) -> list[str]:
    return [measured.outcome.kind for measured in report.measured]
