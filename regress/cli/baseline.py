"""`regress baseline bless RUN` and `regress baseline show [SUITE]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from regress.cli.arguments import Parser, add_json
from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write
from regress.errors import RequestError

DESCRIPTION = """Say which run others are compared with, or show those that were blessed.

regress baseline bless RUN     makes a stored run the baseline of its suite and platform
regress baseline show [SUITE]  shows the baselines

A baseline is a file below baselines/, to be committed; `regress compare baseline HEAD`
compares with it."""


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument("action", metavar="bless|show", choices=("bless", "show"), help="what to do")
    parser.add_argument("name", metavar="RUN|SUITE", nargs="?", help="the run to bless, or the suite to show")
    parser.add_argument("--reason", metavar="TEXT", help="why this run is blessed; kept with it")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Bless, or show; 3 when there is no baseline to show."""
    check_writable(arguments.json)
    return _bless(arguments) if arguments.action == "bless" else _show(arguments)


def _bless(arguments: argparse.Namespace) -> int:
    if arguments.name is None:
        raise RequestError("bless which run? `regress list` names them (`regress baseline --help` says more)")
    from regress.flows.baseline import bless
    from regress.flows.workplace import Workplace
    from regress.report import baseline, data

    blessing = bless(Workplace.around(Path.cwd()), arguments.name, arguments.reason or "")
    if arguments.json is not None:
        write(arguments.json, data.render(blessing))
    if arguments.json != STDOUT:
        write(STDOUT, baseline.render_blessing(blessing, width=terminal_width(), color=use_color()))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    if arguments.reason is not None:
        raise RequestError("--reason belongs to `regress baseline bless RUN`")
    from datetime import datetime, timezone

    from regress.flows.baseline import baselines
    from regress.flows.workplace import Workplace
    from regress.report import baseline, data

    found = baselines(Workplace.around(Path.cwd()), arguments.name)
    if arguments.json is not None:
        write(arguments.json, data.render({"schema": "regress.baselines/1", "baselines": found}))
    if arguments.json != STDOUT:
        now = datetime.now(timezone.utc)
        write(STDOUT, baseline.render(found, now, width=terminal_width(), color=use_color()))
    return 0
