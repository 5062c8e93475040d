"""How our own speed is shown beside the reference."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.harness.figures import REFERENCE, Figure, read_reference, table, write_reference
from benchmarks.harness.yardstick import work

ROOT = Path(__file__).parents[3]
PLAN = Figure(name="plan", times_s=(0.030, 0.044, 0.020), yardstick="work", yardstick_s=(0.010, 0.011, 0.010))
HELP = Figure(name="help", times_s=(0.09,), yardstick="python", yardstick_s=(0.03,))


def test_a_ratio_is_taken_round_by_round() -> None:
    """So that a round in which the machine was slow for both does not count."""
    slow = Figure(name="x", times_s=(1.0, 30.0, 1.1), yardstick="work", yardstick_s=(1.0, 30.0, 1.1))
    assert slow.ratio == pytest.approx(1.0)
    assert PLAN.ratio == pytest.approx(3.0)
    assert PLAN.now_s == 0.030


def test_what_is_dearer_than_the_reference_is_marked() -> None:
    lines = table([PLAN, HELP], {"plan": 1.9, "help": 2.5})
    assert lines[1].split() == ["▲", "plan", "30", "ms", "work", "3", "1.9", "1.58", "x"]
    assert lines[2].split() == ["help", "90", "ms", "python", "3", "2.5", "1.20", "x"]


def test_a_figure_without_reference_is_shown_and_not_marked() -> None:
    line = table([PLAN], {})[1]
    assert "none yet" in line
    assert "▲" not in line


def test_a_reference_reads_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "reference.json"
    assert read_reference(path) == {}
    write_reference(path, [PLAN, HELP])
    assert read_reference(path) == {"plan": 3.0, "help": 3.0}
    assert [file.name for file in tmp_path.iterdir()] == ["reference.json"]


def test_another_file_is_no_reference(tmp_path: Path) -> None:
    path = tmp_path / "reference.json"
    path.write_text(json.dumps({"ratios": {}}))
    with pytest.raises(ValueError, match="no reference of schema"):
        read_reference(path)


def test_the_yardstick_is_work_that_ends() -> None:
    work()


def harness(*options: str) -> subprocess.CompletedProcess[str]:
    chosen = ["benchmarks/harness", "--deselect", "benchmarks/harness/test_overhead.py"]
    plain = ["--benchmark-quiet", "--quiet", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *chosen, *plain, "--rounds", "1", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_harness_shows_all_figures_and_leaves_the_reference_alone() -> None:
    before = REFERENCE.read_bytes() if REFERENCE.exists() else None
    done = harness()
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout.split("what regress itself costs")[1]
    for name in (
        "regress --help", "a wrong argument refused", "plan 500 comparisons", "judge 500 comparisons",
        "terminal, 500 comparisons", "JSON, 500 comparisons", "page, 500 comparisons",
        "write a run of 100 launches", "read a run of 100 launches",
    ):  # fmt: skip
        assert name in shown
    assert (REFERENCE.read_bytes() if REFERENCE.exists() else None) == before
