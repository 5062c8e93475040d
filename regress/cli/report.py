"""`regress report RUN` and `regress report BASE HEAD`."""

from __future__ import annotations

import argparse
from pathlib import Path

from regress.cli.answer import Files, show
from regress.cli.arguments import Parser, add_html, add_json, add_markdown
from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write
from regress.errors import RequestError

DESCRIPTION = """Show a stored run, or compare two stored runs. Nothing is measured.

A run is named by its identity (8 hexadecimal digits) or its folder; `regress list` names
those there are."""


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument("base", metavar="RUN|BASE", help="the run to show, or what HEAD is compared with")
    parser.add_argument("head", metavar="HEAD", nargs="?", help="what is judged")
    add_json(parser)
    add_html(parser)
    add_markdown(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show one run, or compare two and return the exit status that the verdict asks for."""
    files = Files(json=arguments.json, html=arguments.html, markdown=arguments.markdown)
    check_writable(files.json, files.html, files.markdown)
    from regress.flows.compare import report
    from regress.flows.stored import stored_run
    from regress.flows.workplace import Workplace
    from regress.report import data, single

    workplace = Workplace.around(Path.cwd())
    if arguments.head is not None:
        answer = report(workplace, arguments.base, arguments.head)
        return show(answer, files, workplace.project.root / ".regress" / "reports")
    if files.html is not None:
        raise RequestError("one run has no page of its own; name BASE and HEAD, or omit --html")
    if files.markdown is not None:
        raise RequestError("--markdown writes the answer of a comparison; name BASE and HEAD, or omit it")
    stored = stored_run(workplace, arguments.base)
    if files.json is not None:
        write(files.json, data.render(stored))
    if files.json != STDOUT:
        write(STDOUT, single.render(stored, width=terminal_width(), color=use_color()))
    return 0
