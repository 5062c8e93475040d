"""How long benchmarks warm up: the rule, and the rule at work on real ranks."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import median

import pytest

from regress.launch.fake import FakeLauncher, Pace, paced
from regress.launch.launcher import Launcher, Report
from regress.launch.local import LocalLauncher
from regress.launch.paths import LaunchPaths
from regress.launch.turns import Launch
from regress.launch.warmup import CLOSE, WINDOW, is_settled, search
from regress.spec.plan import Steps
from tests.launch.jobs import Workshop

SHORT, LONG, SLOW_STEPS = 0.02, 0.08, 12
STEPS = Steps(warmup=5, warmup_most=40, burst=3, turns=2)
LABEL = "subject[world=2]"

STEADY = f"""
import time

def fault(where, rank, step):
    if where == "step":
        time.sleep({SHORT})
"""
SLOW_AT_FIRST = f"""
import time

def fault(where, rank, step):
    if where == "step":
        time.sleep({LONG} if rank == 1 and step <= {SLOW_STEPS} else {SHORT})
"""


class Taking:
    """Steps that take given times, asked for more and more."""

    def __init__(self, steps_s: Sequence[float]) -> None:
        self._steps_s = list(steps_s)
        self.asked: list[int] = []

    def __call__(self, steps: int) -> Sequence[float]:
        self.asked.append(steps)
        taken, self._steps_s = self._steps_s[:steps], self._steps_s[steps:]
        return taken


def test_fewer_steps_than_two_windows_tell_nothing() -> None:
    assert not is_settled([1.0] * (2 * WINDOW - 1))
    assert is_settled([1.0] * (2 * WINDOW))


@pytest.mark.parametrize("newest", [1 - 0.9 * CLOSE, 1.0, 2.0])
def test_a_little_faster_or_any_slower_is_settled(newest: float) -> None:
    assert is_settled([1.0] * WINDOW + [newest] * WINDOW)


def test_and_no_faster() -> None:
    assert not is_settled([1.0] * WINDOW + [1 - 1.1 * CLOSE] * WINDOW)


def test_it_is_the_second_fastest_before_and_the_median_now() -> None:
    before = [2.0, 2.0, 0.1, 2.0, 1.0]
    assert is_settled([*before, 9.0, 9.0, 0.96, 0.1, 0.1])
    assert not is_settled([*before, 9.0, 9.0, 0.94, 0.1, 0.1])


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.5])
def test_noise_of_any_size_seldom_looks_like_warming_up(noise: float) -> None:
    draw = random.Random(1)
    found = [
        search(Taking([math.exp(draw.gauss(0.0, noise)) for _ in range(30)]), least=5, most=30)
        for _ in range(2000)
    ]
    assert found.count(15) > 0.7 * len(found)
    assert found.count(30) < 0.03 * len(found)


def test_a_spike_in_either_window_is_no_matter() -> None:
    assert is_settled([1.0, 9.0, 1.0, 9.0, 1.0, 1.0, 1.0, 7.0, 1.0, 7.0])


def test_what_was_long_ago_is_forgotten() -> None:
    assert is_settled([50.0] * 20 + [1.0] * (2 * WINDOW))


def test_steady_steps_are_settled_after_two_windows() -> None:
    steps = Taking([1.0] * 100)
    assert search(steps, least=3, most=30) == 13
    assert steps.asked == [5, 5]


def test_steps_that_grow_faster_are_waited_for() -> None:
    falling = [2.0 - 0.1 * place for place in range(10)] + [1.0] * 100
    assert search(Taking(falling), least=3, most=50) == 3 + 20


def test_steps_that_never_settle_are_waited_for_no_longer_than_said() -> None:
    steps = Taking([0.5**place for place in range(100)])
    assert search(steps, least=3, most=20) == 20
    assert steps.asked == [5, 5, 5, 2]


def test_equal_limits_search_for_nothing() -> None:
    steps = Taking([1.0] * 100)
    assert search(steps, least=7, most=7) == 7
    assert steps.asked == []


def test_a_launch_that_has_failed_is_asked_once() -> None:
    steps = Taking([])
    assert search(steps, least=3, most=30) == 3
    assert steps.asked == [5]


def warmups(reports: Sequence[Report]) -> dict[str, int]:
    """Of each side; all its ranks did the same."""
    found = {}
    for report in reports:
        (measured,) = report.measured
        assert measured.outcome.ok
        (steps,) = {rank.warmup for rank in measured.ranks}
        assert steps is not None
        found[report.side] = steps
    return found


def launched(
    launcher: Launcher, workshop: Workshop, *, alone: bool, known: int | None = None
) -> list[Report]:
    job = workshop.job(steps=STEPS, alone=alone)
    known_of = () if known is None else ((LABEL, known),)
    return list(launcher.run(replace(job, warmups=known_of), lambda *_: None))


@pytest.mark.torch
def test_real_ranks_that_are_slow_at_first_warm_up_until_they_are_not(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    workshop = Workshop(tmp_path, {"base": STEADY, "head": SLOW_AT_FIRST})
    alone = launched(launcher, workshop, alone=True)
    found = warmups(alone)
    assert found["head"] >= 20  # slow 5 to 12, mixed up to 15, settled when two windows are fast
    assert 15 <= found["base"] <= 40

    together = launched(launcher, workshop, alone=False)
    both = warmups(together)
    assert both["base"] == both["head"] >= 20

    for report in (*alone, *together):
        for rank in report.measured[0].ranks:
            assert median(chain.from_iterable(burst.steps_s for burst in rank.bursts)) < LONG / 2
            assert rank.losses == (1.0, 2.0, 3.0, 4.0, 5.0)  # of the first steps, however many came


@pytest.mark.torch
def test_what_is_known_is_not_searched_for(launcher: LocalLauncher, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"base": STEADY, "head": SLOW_AT_FIRST})
    reports = launched(launcher, workshop, alone=False, known=7)
    assert warmups(reports) == {"base": 7, "head": 7}
    (slow,) = (report.measured[0] for report in reports if report.side == "head")
    first_s = slow.ranks[0].bursts[0].steps_s
    assert median(first_s) > LONG / 2  # it is slow still, as it was not waited for


@pytest.mark.parametrize(
    ("alone", "known", "expected"),
    [
        (True, None, {"base": 9, "head": 23}),
        (False, None, {"base": 23, "head": 23}),
        (False, 12, {"base": 12, "head": 12}),
    ],
    ids=["alone", "together", "known"],
)
def test_the_fake_launcher_does_the_same(
    tmp_path: Path, alone: bool, known: int | None, expected: dict[str, int]
) -> None:
    fake = FakeLauncher(paced({"base": Pace(settled=9), "head": Pace(settled=23)}))
    workshop = Workshop(tmp_path, {"base": STEADY, "head": SLOW_AT_FIRST})
    reports = launched(fake, workshop, alone=alone, known=known)
    assert warmups(reports) == expected
    assert all(len(rank.losses) == 5 for report in reports for rank in report.measured[0].ranks)


class Group:
    """Ranks that answer what they are told to."""

    def __init__(self, *answers: dict[str, object]) -> None:
        self._answers = list(answers)

    def ask(self, do: str, **_: object) -> list[dict[str, object]]:
        assert do == "warm_up"
        return self._answers


def test_of_each_step_the_slowest_rank_counts(tmp_path: Path) -> None:
    group = Group({"steps_s": [1.0, 5.0, 2.0]}, {"steps_s": [3.0, 1.0, 2.5]})
    request = Workshop(tmp_path, {"only": STEADY}).job().requests[0]
    launch = Launch(request=request, paths=LaunchPaths(folder=tmp_path), group=group)  # type: ignore[arg-type]
    assert launch.warm_up(request.benchmarks[0], 3, losses=False, limit_s=1.0) == (3.0, 5.0, 2.5)
