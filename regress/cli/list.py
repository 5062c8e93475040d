"""`regress list`."""

from __future__ import annotations

import argparse
from pathlib import Path

from regress.cli.arguments import Parser, add_json
from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write

DESCRIPTION = "List the benchmarks, the suites and the stored runs."


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument(
        "--side", metavar="REV", help="list the benchmarks of a revision, not those that lie here"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """List; a benchmark file that cannot be imported is a wrong request."""
    check_writable(arguments.json)
    from regress.flows.listing import listing
    from regress.flows.workplace import Workplace
    from regress.report import data, inventory

    found = listing(Workplace.around(Path.cwd()), arguments.side)
    if arguments.json is not None:
        write(arguments.json, data.render(found))
    if arguments.json != STDOUT:
        write(STDOUT, inventory.render(found, width=terminal_width(), color=use_color()))
    return 2 if found.failures else 0
