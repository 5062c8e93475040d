from __future__ import annotations

import os
from pathlib import Path

import pytest

from regress.worker.cores import usable_cores

AFFINITY = len(os.sched_getaffinity(0))


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
    quota = tmp_path / "cpu.max"
    quota.write_text(text)
    assert usable_cores(quota) == cores


def test_without_control_groups_the_affinity_counts(tmp_path: Path) -> None:
    assert usable_cores(tmp_path / "absent") == AFFINITY
