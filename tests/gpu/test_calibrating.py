"""Slowdowns planted on a real GPU are as large in the step as they are said to be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.gpu.site import NEEDS_GPU
from tests.gpu.test_comparing import BENCHMARK, SUITE

pytestmark = [*NEEDS_GPU]

PLANTED = ("kernel:20%", "sleep:20%")


def test_what_is_planted_is_measured(tmp_path: Path) -> None:
    for name, text in (("configs/commit.yaml", SUITE), ("benchmarks/products.py", BENCHMARK)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    (tmp_path / "work.py").write_text("WIDTH, TIMES = 2048, 20\n")

    done = subprocess.run(
        [sys.executable, "-c", "from regress.cli.main import main; main()", "calibrate", "--blocks", "2",
         "--planted", ",".join(PLANTED), "--quiet", "--json", "-"],
        cwd=tmp_path,
        env=os.environ | {"REGRESS_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    (found,) = answer["benchmarks"]
    assert (answer["mode"], found["blocks"], found["lost"]) == ("alone", 2, 0)
    assert len(found["planted"]) == len(PLANTED)
    for each in found["planted"]:
        assert each["planted"] == pytest.approx(0.2, rel=0.3), each
        assert each["measured"] == pytest.approx(each["planted"], rel=0.3), each
