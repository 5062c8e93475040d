"""`regress list`."""

from __future__ import annotations

from pathlib import Path

import click

from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write


@click.command("list")
@click.option("--side", metavar="REV", help="List the benchmarks of a revision, not those that lie here.")
@click.option("--json", "json_file", metavar="FILE", help="Write the list as JSON; - is standard output.")
def command(side: str | None, json_file: str | None) -> int:
    """List the benchmarks, the suites and the stored runs."""
    check_writable(json_file)
    from regress.flows.listing import listing
    from regress.flows.workplace import Workplace
    from regress.report import data, inventory

    found = listing(Workplace.around(Path.cwd()), side)
    if json_file is not None:
        write(json_file, data.render(found))
    if json_file != STDOUT:
        write(STDOUT, inventory.render(found, width=terminal_width(), color=use_color()))
    return 2 if found.failures else 0
