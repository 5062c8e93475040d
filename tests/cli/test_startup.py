"""Help is there at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def cpu_s(cache: Path, code: str, *arguments: str) -> float:
    """Least CPU time of some starts: a busy machine makes one slower, and none faster."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables["PYTHONPYCACHEPREFIX"] = str(
        cache
    )  # as after an installation: compiled once, in the first start
    return min(_cpu_s(variables, code, *arguments) for _ in range(5))


def _cpu_s(variables: dict[str, str], code: str, *arguments: str) -> float:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=variables, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_help_is_there_at_once(tmp_path: Path) -> None:
    """By CPU time, so that a busy machine does not decide; the bound is that of the README."""
    pass_s = cpu_s(tmp_path, "pass")
    help_s = cpu_s(tmp_path, "from regress.cli.main import main; main()", "--help")
    assert help_s <= 1.5 * pass_s + 0.1
