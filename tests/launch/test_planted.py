"""What a request plants reaches the ranks of its side, and of no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from regress.launch.launcher import Job
from regress.launch.local import LocalLauncher
from regress.record.calibration import Slowdown
from regress.spec.plan import Steps
from tests.launch.jobs import HEALTHY, Workshop

pytestmark = pytest.mark.torch

SLEEP = Slowdown(kind="sleep", fraction=1.0)


def job(workshop: Workshop, **slowdowns: Slowdown) -> Job:
    asked = workshop.job(steps=Steps(warmup=2, burst=3, turns=4))
    requests = tuple(replace(each, slowdown=slowdowns.get(each.side)) for each in asked.requests)
    return replace(asked, requests=requests)


def test_one_side_is_slowed_and_the_other_by_nothing(launcher: LocalLauncher, tmp_path: Path) -> None:
    slow = "def fault(where, rank, step):\n    time.sleep(0.005)\nimport time"
    workshop = Workshop(tmp_path, {"base": slow, "head": slow})
    asked = job(workshop, base=replace(SLEEP, fraction=0.0), head=SLEEP)

    base, head = (report.measured[0] for report in launcher.run(asked, lambda *_: None))

    assert base.outcome.ok
    assert head.outcome.ok
    assert [len(burst.steps_s) for burst in head.ranks[0].bursts] == [3] * 4
    assert {rank.planted_s for rank in base.ranks} == {0.0}
    for rank in head.ranks:  # a step sleeps for 5 ms, and then for as long as a step takes
        assert rank.planted_s is not None
        assert rank.planted_s >= 0.005
        assert min(step for burst in rank.bursts for step in burst.steps_s) >= 0.0099


def test_where_nothing_is_asked_for_nothing_is_planted(launcher: LocalLauncher, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"base": HEALTHY, "head": HEALTHY})
    for report in launcher.run(job(workshop), lambda *_: None):
        assert {rank.planted_s for rank in report.measured[0].ranks} == {None}
