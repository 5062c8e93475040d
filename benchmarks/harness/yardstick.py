"""Work that never changes: what every figure of the harness is a multiple of."""

from __future__ import annotations

import json
import subprocess
import sys


def work() -> None:
    """A few milliseconds of what the harness does: dicts, lists, text, JSON. Never change it."""
    table = {f"key {i}": [i, i / 7, str(i), {"even": i % 2 == 0}] for i in range(1200)}
    again = json.loads(json.dumps(table, sort_keys=True))
    ordered = sorted(again.items(), key=lambda pair: (pair[1][3]["even"], pair[0]))
    if sum(row[0] for _, row in ordered) != 719_400:
        raise AssertionError


def interpreter() -> None:
    """``python -c pass``: what no program of ours can be faster than."""
    subprocess.run([sys.executable, "-c", "pass"], check=True)
