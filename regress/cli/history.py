"""`regress history [BENCHMARK [METRIC]]`."""

from __future__ import annotations

import argparse
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

from regress.cli.arguments import Parser, add_json, add_measuring, means_of
from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write
from regress.cli.progress import progress
from regress.errors import RequestError

DESCRIPTION = """Show how stored runs moved: steps in level with their commits, and slow drift.

One series for each benchmark, metric, platform and way of measuring, one point for each run.
A step is suspected soon and confirmed later; --confirm measures the two commits around each
suspected step again, at once.

exit status: 0 told (whatever it is), 1 what --fail-on names, 2 wrong request, 3 nothing measured"""

FAIL_ON = ("regressed", "drifted")
"""States that ``--fail-on`` knows."""

_DAYS = re.compile(r"(\d{1,5})d")


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument(
        "benchmark",
        metavar="BENCHMARK",
        nargs="?",
        help="label, or its name before the bracket (default: all)",
    )
    parser.add_argument(
        "metric", metavar="METRIC", nargs="?", help="name (default: those that can fail a build)"
    )
    parser.add_argument("--suite", metavar="S", help="only runs of this suite, by name")
    parser.add_argument("--platform", metavar="KEY", help="only what was measured on it")
    parser.add_argument(
        "--since",
        type=moment,
        metavar="TIME",
        help="only what was measured since, as 2026-01-31, 2026-01-31T12:00 (UTC) or 30d",
    )
    parser.add_argument(
        "--anchor",
        metavar="REV",
        help="commit or tag that slow drift is told from (default: the newest tag that was measured)",
    )
    parser.add_argument(
        "--fail-on",
        type=_states,
        default=frozenset(),
        metavar="STATES",
        help="exit with 1 when a newest level is so, by comma: regressed (confirmed, or its newest "
        "run failed), drifted",
    )
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="measure the commits around each suspected step again, and say what comes of it",
    )
    add_json(parser)
    parser.add_argument("--html", metavar="FILE", help="write the page there; - is standard output")
    add_measuring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Tell the history, and return the exit status that was asked for."""
    check_writable(arguments.json, arguments.html)
    from regress.flows.history import HistoryRequest, history
    from regress.flows.undertaking import ORDINARY
    from regress.flows.workplace import Workplace
    from regress.report import data, history_html, history_terminal

    means = means_of(arguments)
    if means != ORDINARY and not arguments.confirm:
        raise RequestError("nothing is measured without --confirm; omit the options of measuring, or add it")
    request = HistoryRequest(
        benchmark=arguments.benchmark,
        metric=arguments.metric,
        suite=arguments.suite,
        platform=arguments.platform,
        since=arguments.since,
        anchor=arguments.anchor,
        fail_on=arguments.fail_on,
        confirm=arguments.confirm,
        means=means,
    )
    with progress(quiet=arguments.quiet) as shown:
        answer = history(Workplace.around(Path.cwd()), request, shown)
    if STDOUT not in (arguments.json, arguments.html):
        write(STDOUT, history_terminal.render(answer, width=terminal_width(), color=use_color()))
    if arguments.json is not None:
        write(arguments.json, data.render(answer))
    if arguments.html is not None:
        write(arguments.html, history_html.render(answer))
    return answer.exit_status


def moment(text: str) -> datetime:
    """Read a time: ISO 8601, UTC unless it says otherwise, or so many days ago."""
    try:
        if days := _DAYS.fullmatch(text):
            return datetime.now(timezone.utc) - timedelta(days=int(days[1]))
        time = datetime.fromisoformat(text)
        return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"expected a time such as 2026-01-31, 2026-01-31T12:00 or 30d; got {text!r:.80}"
        ) from None


def _states(text: str) -> frozenset[str]:
    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    unknown = sorted(words - set(FAIL_ON))
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown state {unknown[0]!r:.80}; allowed: {', '.join(FAIL_ON)}")
    return words
