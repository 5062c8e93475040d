"""`regress calibrate [SUITE]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from regress.cli.arguments import Parser, add_json, add_measuring, duration, means_of, whole
from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write
from regress.cli.progress import progress
from regress.spec.slowdown import read_slowdowns

DESCRIPTION = """Measure what this machine can see: SUITE with equal sides, and with planted slowdowns.

Says how noisy launches are, whether equal sides differ, how often equal sides are called
regressed and planted slowdowns found, and how many blocks suffice. The last calibration
stands in every report. Interrupted, the same command typed again goes on.

exit status: 0 it can tell, 3 nothing could be told of some benchmark"""


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument(
        "suite", metavar="SUITE", nargs="?", default="commit", help="name or path (default: commit)"
    )
    parser.add_argument(
        "--blocks",
        type=whole(2),
        metavar="N",
        help="of each arm (equal sides, each slowdown); 10, or as many as the suite has if not given",
    )
    parser.add_argument(
        "--budget",
        type=duration,
        dest="budget_s",
        metavar="TIME",
        help="begin no further round of arms that would end after it, as 90s, 30m or 2h",
    )
    parser.add_argument(
        "--planted",
        type=read_slowdowns,
        metavar="LIST",
        help="slowdowns by comma, as kernel:2%%,stall:5%%: a kind (sleep, kernel, collective, stall) and "
        "its share of the step; all: each kind at 0.5, 1, 2 and 5%%; none (default: kernel at 2%% and "
        "at what the suite must see)",
    )
    parser.add_argument(
        "--resident",
        action="store_true",
        default=None,
        help="keep both sides on the GPUs together, taking turns; refused unless both fit",
    )
    add_json(parser)
    add_measuring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Calibrate and show; 3 when nothing can be told of a benchmark."""
    check_writable(arguments.json)
    from regress.flows.calibrate import CalibrateRequest, calibrate
    from regress.flows.workplace import Workplace
    from regress.report import calibration, data

    request = CalibrateRequest(
        suite=arguments.suite,
        blocks=arguments.blocks,
        planted=arguments.planted,
        means=means_of(arguments),
    )
    with progress(quiet=arguments.quiet) as shown:
        answer = calibrate(Workplace.around(Path.cwd()), request, shown)
    if arguments.json is not None:
        write(arguments.json, data.render(answer))
    if arguments.json != STDOUT:
        text = calibration.render(answer, width=terminal_width(), color=use_color())
        write(STDOUT, f"{text}\nkept in {answer.folder}\n")
    return 3 if calibration.lacks_something(answer) else 0
