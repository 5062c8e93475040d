from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regress.launch.host import read_host
from regress.record.quota import Quota, read_quota
from regress.worker.cores import usable_cores

AFFINITY = len(os.sched_getaffinity(0))


def with_quota(root: Path, text: str, group: str = "") -> Path:
    """A system whose control group has a quota."""
    folder = root / "sys/fs/cgroup" / group
    folder.mkdir(parents=True)
    (folder / "cpu.max").write_text(text)
    return root


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("max 100000\n", AFFINITY),
        ("100000 100000\n", 1),
        ("50000 100000\n", 1),
        ("150000 100000\n", min(2, AFFINITY)),
        ("99999999 100000\n", AFFINITY),
        ("", AFFINITY),
        ("1 0\n", AFFINITY),
    ],
)
def test_a_quota_counts_where_it_is_smaller(tmp_path: Path, text: str, cores: int) -> None:
    assert usable_cores(with_quota(tmp_path, text)) == cores


def test_the_quota_of_a_group_above_counts_as_doctor_counts_it(tmp_path: Path) -> None:
    root = with_quota(tmp_path, "100000 100000", "slice")
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text("0::/slice/inner")
    assert usable_cores(root) == 1
    assert read_host(root).quota == read_quota(root) == Quota(cores=1.0, throttled=None)


def test_without_control_groups_the_affinity_counts(tmp_path: Path) -> None:
    assert usable_cores(tmp_path / "absent") == AFFINITY


KEEP = """
import json, os, sys
from pathlib import Path
from regress.worker.cores import take_cores
dealt, world_size, root = json.loads(sys.argv[1])
share = take_cores(dealt, world_size, Path(root))
print(json.dumps([share.threads, list(share.pinned), sorted(os.sched_getaffinity(0))]))
"""


def taken(dealt: list[list[int]], world_size: int, root: Path) -> tuple[int, list[int], list[int]]:
    """Threads, CPUs it is pinned to, and affinity of a process that took cores."""
    arguments = json.dumps([dealt, world_size, str(root)])
    output = subprocess.run([sys.executable, "-c", KEEP, arguments], check=True, capture_output=True)
    threads, pinned, affinity = json.loads(output.stdout)
    return threads, pinned, affinity


def test_a_rank_keeps_to_the_cores_it_was_dealt(tmp_path: Path) -> None:
    last = max(os.sched_getaffinity(0))

    assert taken([[last]], 1, tmp_path / "absent") == (1, [last], [last])


def test_a_rank_that_was_dealt_none_shares_all(tmp_path: Path) -> None:
    everything = sorted(os.sched_getaffinity(0))

    assert taken([], 1, tmp_path / "absent") == (AFFINITY, [], everything)
    assert taken([], 2 * AFFINITY, tmp_path / "absent") == (1, [], everything)


def test_a_quota_leaves_a_rank_fewer_cores_or_none(tmp_path: Path) -> None:
    everything = sorted(os.sched_getaffinity(0))
    quota = with_quota(tmp_path, "100000 100000\n")

    assert taken([[cpu] for cpu in everything], 1, quota) == (1, everything[:1], everything[:1])
    assert taken([[everything[0]]], 2, quota) == (1, [], everything)


def test_a_cpu_that_is_not_there_pins_nobody(tmp_path: Path) -> None:
    assert taken([[100_000]], 1, tmp_path / "absent") == (AFFINITY, [], sorted(os.sched_getaffinity(0)))
