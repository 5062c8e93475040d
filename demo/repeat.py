"""How often does the demo's answer come out right? The figures in the README are its output.

``demo/repeat.py 20`` compares base with the slower head, and base with itself, 20 times.
``demo/repeat.py 10 --busy`` compares base with the slower head only, while another program
keeps one core busy.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Repeat both comparisons and print one line each, then the tally."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("times", type=int)
    parser.add_argument("--busy", action="store_true", help="keep one core busy with another program")
    parser.add_argument("--regress", default="regress", help="the command to run (default: %(default)s)")
    arguments = parser.parse_args()
    planted, clean = [], []
    with tempfile.TemporaryDirectory(prefix="regress-demo-") as folder, _load(busy=arguments.busy):
        repository = Path(folder) / "demo"
        subprocess.run([HERE / "make-repository.sh", repository], check=True)
        for _ in range(arguments.times):
            planted.append(_step(arguments.regress, repository, "HEAD~1", "HEAD"))
            if not arguments.busy:
                clean.append(_step(arguments.regress, repository, "HEAD~1", "HEAD~1"))
    _tally("planted", planted, good=sum(step["verdict"] == "regressed" for step in planted), what="regressed")
    wrong = sum(step["change"] is None or step["change"] <= 0 for step in planted)
    print(f"planted: {wrong} of {len(planted)} with the wrong sign")
    if clean:
        _tally(
            "clean", clean, good=sum(step["verdict"] != "regressed" for step in clean), what="not regressed"
        )


def _step(regress: str, repository: Path, base: str, head: str) -> dict[str, Any]:
    """Compare once; returns the comparison of ``step_s`` and the wall time."""
    start = time.monotonic()
    environment = {**os.environ, "REGRESS_CACHE": str(repository / ".regress" / "cache")}
    done = subprocess.run(
        [regress, "compare", base, head, "--quiet", "--json", "-"],
        cwd=repository,
        env=environment,
        stdout=subprocess.PIPE,
        check=False,
    )
    wall_s = time.monotonic() - start
    comparisons = json.loads(done.stdout)["comparisons"]
    step: dict[str, Any] = next(each for each in comparisons if each["metric"] == "step_s")
    names = ("change", "low", "high", "detectable")
    figures = "  ".join(f"{name} {step[name]:+.1%}" for name in names if step[name] is not None)
    print(f"{base} {head}: {step['verdict']}  {figures}  {wall_s:.0f} s", flush=True)
    return {**step, "wall_s": wall_s}


def _tally(name: str, steps: list[dict[str, Any]], *, good: int, what: str) -> None:
    times = [step["wall_s"] for step in steps]
    changes = [step["change"] for step in steps if step["change"] is not None]
    print(
        f"{name}: {good} of {len(steps)} {what}; change {min(changes):+.1%} to {max(changes):+.1%}, "
        f"median {median(changes):+.1%}; {median(times):.0f} s each, at most {max(times):.0f} s"
    )


@contextmanager
def _load(*, busy: bool) -> Iterator[None]:
    if not busy:
        yield
        return
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


if __name__ == "__main__":
    main()
