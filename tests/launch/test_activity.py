from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from regress.launch.activity import PERIOD_S, Activity, Busy, read_activity
from tests.launch.machine import make_machine, set_activity

OWN = 50


def watched(root: Path, meanwhile: Callable[[], None]) -> Activity:
    """What is seen when something happens between the two looks."""

    def pause(seconds: float) -> None:
        assert seconds == PERIOD_S
        meanwhile()

    return read_activity(root, pause, OWN)


def test_others_are_all_but_this_process_and_what_it_started(tmp_path: Path) -> None:
    make_machine(tmp_path)
    before = {1: ("init", 0, 5), OWN: ("regress", 1, 10), 51: ("child", OWN, 10), 7: ("b) (\x1b[31m", 1, 100)}
    set_activity(tmp_path, idle=1000, busy=1000, stolen=10, processes=before)
    after = before | {OWN: ("regress", 1, 20), 51: ("child", OWN, 40), 52: ("grandchild", 51, 10)}
    after |= {7: ("b) (\x1b[31m", 1, 140), 8: ("new", 1, 20)}
    # 200 ticks of 4 cores: 110 busy, of which 50 ours; 10 stolen
    activity = watched(
        tmp_path, lambda: set_activity(tmp_path, idle=1080, busy=1110, stolen=20, processes=after)
    )
    assert (activity.cores, activity.busy, activity.stolen) == (4, 1.2, 0.05)
    assert activity.processes == (
        Busy(pid=7, name="b) (\x1b[31m", cores=0.8),
        Busy(pid=8, name="new", cores=0.4),
    )
    assert (activity.waiting, activity.load) == (0.0, 0.05)


def test_a_process_that_ends_between_two_looks_is_missed(tmp_path: Path) -> None:
    set_activity(tmp_path, idle=0, busy=0, processes={7: ("ends", 1, 10)})

    def end() -> None:
        set_activity(tmp_path, idle=100, busy=100)
        (tmp_path / "proc/7/stat").unlink()

    activity = watched(tmp_path, end)
    assert (activity.busy, activity.processes) == (2.0, ())


def test_a_number_that_another_process_has_got_is_no_negative_time(tmp_path: Path) -> None:
    set_activity(tmp_path, idle=0, busy=0, processes={7: ("old", 1, 500)})
    activity = watched(
        tmp_path, lambda: set_activity(tmp_path, idle=190, busy=10, processes={7: ("new", 1, 3)})
    )
    assert (activity.busy, activity.processes) == (0.2, ())


@pytest.mark.parametrize("stat", ["", "nonsense\n", "cpu a b c d e f g h\n", "cpu 1 2\n"])
def test_accounts_that_cannot_be_read_are_not_known(tmp_path: Path, stat: str) -> None:
    assert watched(tmp_path, lambda: None) == Activity(
        cores=None, busy=None, stolen=None, processes=(), waiting=None, load=None
    )
    make_machine(tmp_path, changes={"proc/stat": stat, "proc/pressure/cpu": "x\n", "proc/loadavg": "\n"})
    assert watched(tmp_path, lambda: None).busy is None
    assert watched(tmp_path, lambda: None).waiting is None


def test_a_kernel_that_keeps_no_account_is_not_known(tmp_path: Path) -> None:
    set_activity(make_machine(tmp_path), idle=0, busy=0)
    activity = watched(tmp_path, lambda: None)
    assert (activity.busy, activity.load) == (None, 0.05)


def test_waiting_is_a_fraction(tmp_path: Path) -> None:
    text = "some avg10=12.50 avg60=1.00 avg300=0.10 total=9\n"
    make_machine(tmp_path, changes={"proc/pressure/cpu": text})
    assert watched(tmp_path, lambda: None).waiting == 0.125


def test_this_machine_can_be_watched() -> None:
    activity = read_activity()
    assert activity.cores is None or (activity.busy is not None and 0 <= activity.busy <= activity.cores)
