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
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Repeat the comparisons and print one line each, then the tally."""
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
            planted.append(_compare(arguments.regress, repository, "HEAD~1", "HEAD"))
            if not arguments.busy:
                clean.append(_compare(arguments.regress, repository, "HEAD~1", "HEAD~1"))
    found = sum(answer.step_verdict == "regressed" for answer in planted)
    wrong = sum(answer.change is None or answer.change <= 0 for answer in planted)
    _tally("planted", planted, f"step time regressed in {found}, wrong sign in {wrong}")
    if clean:
        alarms = sum(answer.verdict in ("regressed", "broken", None) for answer in clean)
        _tally("clean", clean, f"{alarms} alarms of any kind")
        both = [one.wall_s + other.wall_s for one, other in zip(planted, clean, strict=True)]
        print(f"both comparisons together: {median(both):.0f} s, at most {max(both):.0f} s")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one comparison said; ``None`` where it said nothing."""

    verdict: str | None
    """Of the whole suite."""

    step_verdict: str | None
    """Of the step time."""

    change: float | None
    """Of the step time."""

    wall_s: float
    """From the command to its end."""


def _compare(regress: str, repository: Path, base: str, head: str) -> Answer:
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
    try:
        said = json.loads(done.stdout)
        step = next(each for each in said["comparisons"] if each["metric"] == "step_s")
    except (ValueError, StopIteration):
        print(f"{base} {head}: no answer, exit status {done.returncode}, {wall_s:.0f} s", flush=True)
        return Answer(verdict=None, step_verdict=None, change=None, wall_s=wall_s)
    names = ("change", "low", "high", "detectable")
    figures = "  ".join(f"{name} {step[name]:+.1%}" for name in names if step[name] is not None)
    print(
        f"{base} {head}: {said['verdict']} (exit {done.returncode})  step time {step['verdict']}  {figures}  "
        f"{wall_s:.0f} s",
        flush=True,
    )
    return Answer(verdict=said["verdict"], step_verdict=step["verdict"], change=step["change"], wall_s=wall_s)


def _tally(name: str, answers: list[Answer], what: str) -> None:
    times = [answer.wall_s for answer in answers]
    changes = [answer.change for answer in answers if answer.change is not None]
    print(f"{name}: {what}, of {len(answers)}; {median(times):.0f} s each, at most {max(times):.0f} s")
    if changes:
        print(f"{name}: step time {min(changes):+.1%} to {max(changes):+.1%}, median {median(changes):+.1%}")


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
