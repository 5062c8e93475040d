"""`regress doctor`."""

from __future__ import annotations

import argparse
from pathlib import Path

from regress.cli.arguments import Parser, add_json
from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write

DESCRIPTION = """Say what this machine can measure, and what on it will disturb a measurement.

exit status: 0 it can measure, perhaps disturbed; 3 it cannot measure anything"""


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look, and say what was found."""
    check_writable(arguments.json)
    from regress.flows.doctor import diagnose
    from regress.report import data, diagnosis

    found = diagnose(Path.cwd())
    if arguments.json is not None:
        write(arguments.json, data.render(found))
    if arguments.json != STDOUT:
        write(STDOUT, diagnosis.render(found, width=terminal_width(), color=use_color()))
    return found.exit_status
