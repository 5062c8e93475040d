"""`regress init`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from regress.cli.arguments import Parser
from regress.cli.output import STDOUT, write

if TYPE_CHECKING:
    from regress.flows.init import Beginning

DESCRIPTION = """Write a first benchmark, a suite and a project file, which run as they are.

They go to the root of the repository around DIR (the current folder if not given), or into DIR
itself where there is none. Nothing that is there already is overwritten."""

WHAT = {
    "benchmarks/train.py": "a first benchmark: put your model and your training step into it",
    "configs/commit.yaml": "the suite: what every commit is measured with",
    "configs/project.yaml": "where results go",
    ".gitignore": "now names .regress/, the folder of runs and reports",
}
"""What each file is, for people."""


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument("folder", metavar="DIR", nargs="?", default=".", help="where the project lies")


def run(arguments: argparse.Namespace) -> int:
    """Write the files, and say what to type next."""
    from regress.flows.init import begin

    beginning = begin(Path(arguments.folder))
    write(STDOUT, "".join(f"{line}\n" for line in _told(beginning)))
    return 0


def _told(beginning: Beginning) -> Iterator[str]:
    from regress.report.words import clean

    root = clean(str(beginning.root), limit=1000)
    what = "the root of the repository" if beginning.in_repository else "no git repository"
    yield f"wrote into {root} ({what}):"
    for name in beginning.written:
        yield f"  {name:20}  {WHAT[name]}"
    if beginning.neighbours:
        names = ", ".join(clean(name, limit=60) for name in beginning.neighbours[:3])
        yield f"note: benchmarks/ holds other files too ({names}), and regress imports all of them"
    elsewhere = beginning.root != Path.cwd()
    yield f"next, in {root}:" if elsewhere else "next:"
    if beginning.in_repository:
        yield f"  git add {shlex.join(beginning.written)} && git commit -m 'Measure training'"
        yield "  regress run commit"
        yield "  regress compare HEAD WORKTREE"
        return
    yield "  regress run commit"
    yield "  regress list"
    yield "  git init    # `regress compare` needs a repository: it compares revisions"
