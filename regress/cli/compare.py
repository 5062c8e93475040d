"""`regress compare BASE HEAD`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from regress.cli.answer import Files, show
from regress.cli.arguments import Parser, add_html, add_json, add_markdown, add_measuring, budget, means_of
from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write
from regress.cli.progress import progress
from regress.errors import RequestError

if TYPE_CHECKING:
    from regress.flows.compare import CompareRequest

DESCRIPTION = """Measure BASE and HEAD side by side and say whether HEAD is slower.

A side is a git revision, REV@ENVIRONMENT, @ENVIRONMENT, WORKTREE (with what is not
committed), baseline, or a stored run (its identity or its folder). Two stored runs are
compared without measuring. Interrupted, the same command typed again goes on."""

FAIL_ON = ("regressed", "inconclusive", "gone")
"""Verdicts that ``--fail-on`` knows; `regressed` and `broken` always fail."""


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument("base", metavar="BASE", help="what HEAD is compared with")
    parser.add_argument("head", metavar="HEAD", help="what is judged")
    parser.add_argument(
        "--suite", metavar="S", help="name or path (default: the suite commit; of two stored runs, theirs)"
    )
    parser.add_argument(
        "--benchmarks-from",
        metavar="REV|WORKTREE|installed",
        help="whose benchmark files run on both sides; HEAD's if not given",
    )
    parser.add_argument(
        "--fail-on",
        type=_verdicts,
        default=frozenset({"regressed"}),
        metavar="VERDICTS",
        help="verdicts that fail the build, by comma: regressed (always), inconclusive, gone",
    )
    parser.add_argument(
        "--resident",
        action="store_true",
        default=None,
        help="keep both sides on the GPUs together, taking turns; refused unless both fit",
    )
    parser.add_argument(
        "--budget",
        type=budget,
        default={},
        metavar="BLOCKS|TIME",
        help="most blocks in which the sides take turns, instead of the suite's number; or a time, as 30m: "
        "as many as fit by the last comparison, and none that would end after it",
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="measure nothing; say what the budget can see, by the noise of earlier comparisons",
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--stored",
        action="store_true",
        default=None,
        help="compare with a stored run or the baseline as it is, measuring the other side alone",
    )
    choice.add_argument(
        "--measure",
        action="store_false",
        dest="stored",
        default=None,
        help="measure the commits of stored runs again (default where the other side is to be measured)",
    )
    add_json(parser)
    add_html(parser)
    add_markdown(parser)
    add_measuring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare, show the answer, and return the exit status that its verdict asks for."""
    if arguments.plan:
        return _plan(arguments)
    files = Files(json=arguments.json, html=arguments.html, markdown=arguments.markdown)
    check_writable(files.json, files.html, files.markdown)
    from regress.flows.compare import compare
    from regress.flows.workplace import Workplace

    workplace = Workplace.around(Path.cwd())
    with progress(quiet=arguments.quiet) as shown:
        answer = compare(workplace, _request(arguments), shown)
    return show(answer, files, workplace.project.root / ".regress" / "reports")


def _plan(arguments: argparse.Namespace) -> int:
    """Say what could be seen; nothing can fail there."""
    if (arguments.html, arguments.markdown) != (None, None):
        raise RequestError("--plan has no page; omit --html and --markdown, or take --json")
    check_writable(arguments.json)
    from regress.flows.foresee import foresee
    from regress.flows.workplace import Workplace
    from regress.report import data, foresight

    with progress(quiet=arguments.quiet) as shown:
        answer = foresee(Workplace.around(Path.cwd()), _request(arguments), shown)
    if arguments.json != STDOUT:
        write(STDOUT, foresight.render(answer, width=terminal_width(), color=use_color()))
    if arguments.json is not None:
        write(arguments.json, data.render(answer))
    return 0


def _request(arguments: argparse.Namespace) -> CompareRequest:
    from dataclasses import replace

    from regress.flows.compare import CompareRequest

    return CompareRequest(
        base=arguments.base,
        head=arguments.head,
        suite=arguments.suite,
        stored=arguments.stored,
        benchmarks_from=arguments.benchmarks_from,
        fail_on=arguments.fail_on,
        means=replace(means_of(arguments), **arguments.budget),
    )


def _verdicts(text: str) -> frozenset[str]:
    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    unknown = sorted(words - set(FAIL_ON))
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown verdict {unknown[0]!r:.80}; allowed: {', '.join(FAIL_ON)}")
    return words
