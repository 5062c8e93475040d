"""Reads a folder of benchmarks in a side's environment, which may not be this one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from regress.errors import LaunchError, RecordError
from regress.launch.harness import cannot_run, harness, side_environment
from regress.launch.launcher import Code
from regress.record.codec import from_plain
from regress.spec.benchmark import Catalog

LIMIT_S = 300.0
"""Longest time that importing all benchmark files may take."""


def read_catalogs(codes: Sequence[Code], cache: Path) -> list[Catalog]:
    """Read the catalog of each side, all at the same time; equal sides are read once.

    Raises:
        LaunchError: An interpreter cannot be started, lacks torch, or does not answer.
    """
    copy = harness(cache)
    running: dict[Code, subprocess.Popen[str]] = {}
    try:
        for code in dict.fromkeys(codes):
            running[code] = _start(code, copy)
        catalogs = {code: _read(code, process) for code, process in running.items()}
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    return [catalogs[code] for code in codes]


def _start(code: Code, copy: Path) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            [code.python, "-m", "regress.worker.catalog", code.benchmarks, *code.path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=copy,
            env=side_environment(code, copy),
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise LaunchError(f"cannot start {code.python}: {error.strerror}: {error.filename}") from None


def _read(code: Code, process: subprocess.Popen[str]) -> Catalog:
    try:
        output, errors = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise LaunchError(f"importing {code.benchmarks} took over {LIMIT_S:.0f} s") from None
    if process.returncode != 0:
        raise cannot_run(code.python, f"read {code.benchmarks}", process.returncode, errors)
    answer = output.rpartition("\n")[2]  # whatever starts with the interpreter may have printed before
    try:
        catalog: Catalog = from_plain(Catalog, json.loads(answer))
    except (ValueError, RecordError):
        raise LaunchError(f"{code.python} gave no catalog: a file in {code.benchmarks} ended it") from None
    return catalog
