"""`regress run [SUITE]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from regress.cli.arguments import Parser, add_json, add_measuring, means_of, whole
from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write
from regress.cli.progress import progress

DESCRIPTION = "Measure one side with SUITE and keep the run."


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument(
        "suite", metavar="SUITE", nargs="?", default="commit", help="name or path (default: commit)"
    )
    parser.add_argument(
        "--side",
        metavar="REV[@ENV]|WORKTREE",
        help="what to measure; without it the benchmarks as they lie, without git",
    )
    parser.add_argument(
        "--launches",
        type=whole(1),
        metavar="N",
        help="how many; as many as the suite has blocks if not given",
    )
    add_json(parser)
    add_measuring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure and show; 3 when a benchmark could not be measured in any launch."""
    check_writable(arguments.json)
    from regress.flows.run import RunRequest
    from regress.flows.run import run as measure
    from regress.flows.workplace import Workplace
    from regress.report import data, single

    workplace = Workplace.around(Path.cwd())
    request = RunRequest(
        suite=arguments.suite,
        side=arguments.side,
        launches=arguments.launches,
        means=means_of(arguments),
    )
    with progress(quiet=arguments.quiet) as shown:
        measured = measure(workplace, request, shown)
    if arguments.json is not None:
        write(arguments.json, data.render(measured))
    if arguments.json != STDOUT:
        text = single.render(measured, width=terminal_width(), color=use_color())
        write(STDOUT, f"{text}kept in {measured.folder}\n")
    return 3 if single.lacks_something(measured) else 0
