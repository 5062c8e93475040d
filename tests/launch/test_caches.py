"""Where ranks keep what torch compiles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from regress.launch.launcher import Job, Launcher
from regress.launch.local import LocalLauncher
from regress.launch.torchrun import TorchrunLauncher
from tests.launch.jobs import Workshop

pytestmark = pytest.mark.torch

COMPILES = """
import json, os
from pathlib import Path
from torch._inductor.runtime.cache_dir_utils import cache_dir, triton_cache_dir

def fault(where, rank, step):
    if where == "build" and rank == 0:
        folders = [cache_dir(), triton_cache_dir(0)]
        found = [name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)]
        for folder in folders:
            Path(folder).mkdir(parents=True, exist_ok=True)
            Path(folder, "kernel").write_text("")
        print(json.dumps({"folders": folders, "found": found}))
"""
"""Asks torch for its folders, tells what is in them, and leaves something there."""


def kept_by(job: Job, folders: Mapping[str, Path]) -> Job:
    return replace(job, requests=tuple(replace(each, caches=folders.get(each.side)) for each in job.requests))


def told(launcher: Launcher, job: Job) -> dict[str, tuple[list[str], list[str]]]:
    """Of each side: torch's folders, and what a launch found in them."""
    reports = list(launcher.run(job, lambda *_: None))
    assert all(each.outcome.ok for report in reports for each in report.measured)
    answers = {}
    for report in reports:
        answer = json.loads((job.scratch / report.side / "rank0.log").read_text().strip().splitlines()[-1])
        answers[report.side] = (answer["folders"], answer["found"])
    return answers


def test_a_fresh_folder_for_each_launch(launcher: LocalLauncher, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"base": COMPILES, "head": COMPILES})
    seen: set[str] = set()
    for _ in range(2):
        job = workshop.job()
        for side, (folders, found) in told(launcher, job).items():
            assert found == []
            assert all(Path(folder).is_relative_to(job.scratch / side) for folder in folders)
            seen.update(folders)
    assert len(seen) == 8


def test_one_folder_for_all_launches_of_a_side(launcher: LocalLauncher, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"base": COMPILES, "head": COMPILES})
    kept = {"base": tmp_path / "kept" / "0", "head": tmp_path / "kept" / "1"}
    first, second = (told(launcher, kept_by(workshop.job(), kept)) for _ in range(2))
    for side, folder in kept.items():
        assert all(Path(each).is_relative_to(folder) for each in first[side][0])
        assert first[side][1] == []
        assert second[side] == (first[side][0], ["kernel", "kernel"])


def test_ranks_of_torchs_agent_do_the_same(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"only": COMPILES})
    kept = tmp_path / "kept"
    with TorchrunLauncher(cache=tmp_path / "cache") as launcher:
        folders, found = told(launcher, kept_by(workshop.job(), {"only": kept}))["only"]
    assert all(Path(each).is_relative_to(kept) for each in folders)
    assert found == []
