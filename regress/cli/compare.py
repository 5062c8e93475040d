"""`regress compare BASE HEAD`."""

from __future__ import annotations

import argparse
from pathlib import Path

from regress.cli.answer import Files, show
from regress.cli.arguments import Parser, add_html, add_json, add_measuring
from regress.cli.output import check_writable
from regress.cli.progress import progress

DESCRIPTION = """Measure BASE and HEAD side by side and say whether HEAD is slower.

A side is a git revision, REV@ENVIRONMENT, @ENVIRONMENT, or a stored run (its identity or
its folder). Two stored runs are compared without measuring."""

FAIL_ON = ("regressed", "inconclusive", "gone")
"""Verdicts that ``--fail-on`` knows; `regressed` and `broken` always fail."""


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument("base", metavar="BASE", help="what HEAD is compared with")
    parser.add_argument("head", metavar="HEAD", help="what is judged")
    parser.add_argument(
        "--suite", metavar="S", help="name or path; commit, or that of two stored runs, if not given"
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
    add_json(parser)
    add_html(parser)
    add_measuring(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare, show the answer, and return the exit status that its verdict asks for."""
    files = Files(json=arguments.json, html=arguments.html)
    check_writable(files.json, files.html)
    from regress.flows.compare import CompareRequest, compare
    from regress.flows.workplace import Workplace

    request = CompareRequest(
        base=arguments.base,
        head=arguments.head,
        suite=arguments.suite,
        benchmarks_from=arguments.benchmarks_from,
        fail_on=arguments.fail_on,
        seed=arguments.seed,
    )
    workplace = Workplace.around(Path.cwd())
    with progress(quiet=arguments.quiet) as shown:
        answer = compare(workplace, request, shown)
    return show(answer, files, workplace.project.root / ".regress" / "reports")


def _verdicts(text: str) -> frozenset[str]:
    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    unknown = sorted(words - set(FAIL_ON))
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown verdict {unknown[0]!r:.80}; allowed: {', '.join(FAIL_ON)}")
    return words
