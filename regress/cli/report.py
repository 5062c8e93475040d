"""`regress report RUN` and `regress report BASE HEAD`."""

from __future__ import annotations

from pathlib import Path

import click

from regress.cli.answer import Files, show, with_files
from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write
from regress.errors import RequestError


@click.command("report")
@click.argument("base", metavar="RUN|BASE")
@click.argument("head", metavar="[HEAD]", required=False)
@with_files
def command(base: str, head: str | None, files: Files) -> int:
    """Show a stored run, or compare two stored runs. Nothing is measured.

    A run is named by its identity (8 hexadecimal digits) or its folder; `regress list` names
    those there are.
    """
    check_writable(files.json, files.html)
    from regress.flows.compare import report, stored_run
    from regress.flows.workplace import Workplace
    from regress.report import data, single

    workplace = Workplace.around(Path.cwd())
    if head is not None:
        return show(report(workplace, base, head), files, workplace.project.root / ".regress" / "reports")
    if files.html is not None:
        raise RequestError("one run has no page of its own; name BASE and HEAD, or omit --html")
    run = stored_run(workplace, base)
    if files.json is not None:
        write(files.json, data.render(run))
    if files.json != STDOUT:
        write(STDOUT, single.render(run, width=terminal_width(), color=use_color()))
    return 0
