"""The command itself on a real GPU: a planted slowdown is found, and none where nothing changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.flows.project import git
from tests.gpu.site import NEEDS_GPU

pytestmark = [*NEEDS_GPU]

SUITE = """\
benchmarks:
  - name: products
steps: {warmup: 10, burst: 10, turns: 8}
blocks: {count: 6, alone: 1}
policy: {min_change: 0.02}
"""

BENCHMARK = """
import torch

import regress
import work


@regress.benchmark(world_size=1)
def products(ctx):
    a = torch.randn(work.WIDTH, work.WIDTH, device=ctx.device) / work.WIDTH**0.5
    product = torch.empty_like(a)

    def step():
        for _ in range(work.TIMES):
            torch.mm(a, a, out=product)
        return product.square().mean()

    return regress.TrainingStep(step)
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose last commit does 22 products where there were 20."""
    root = tmp_path_factory.mktemp("repository")
    (root / "configs").mkdir()
    (root / "benchmarks").mkdir()
    (root / "configs" / "commit.yaml").write_text(SUITE)
    (root / "benchmarks" / "products.py").write_text(BENCHMARK)
    (root / "work.py").write_text("WIDTH, TIMES = 2048, 20\n")
    (root / ".gitignore").write_text(".regress/\n__pycache__/\n")
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Twenty products")
    (root / "work.py").write_text("WIDTH, TIMES = 2048, 22\n")
    git(root, "commit", "--quiet", "--all", "--message", "Two more")
    return root


def compare(repository: Path, base: str, head: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Exit status, answer, and what it says of the step's time."""
    done = subprocess.run(
        [sys.executable, "-c", "from regress.cli.main import main; main()", "compare", base, head,
         "--json", "answer.json"],
        cwd=repository,
        env=os.environ | {"REGRESS_CACHE": str(repository / ".regress" / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert (repository / "answer.json").is_file(), done.stderr
    answer = json.loads((repository / "answer.json").read_text())
    (repository / "answer.json").unlink()
    (step,) = (each for each in answer["comparisons"] if each["metric"] == "step_s")
    return done.returncode, answer, step


def test_a_planted_tenth_is_found(repository: Path) -> None:
    status, answer, step = compare(repository, "HEAD~1", "HEAD")

    assert (answer["verdict"], step["verdict"], status) == ("regressed", "regressed", 1), step
    assert step["change"] == pytest.approx(0.1, abs=0.03)


def test_nothing_is_found_between_a_revision_and_itself(repository: Path) -> None:
    status, answer, step = compare(repository, "HEAD", "HEAD")

    assert answer["verdict"] not in ("regressed", "broken"), answer["comparisons"]
    assert status in (0, 3)
    assert abs(step["change"]) < 0.05
