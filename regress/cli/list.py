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
    import json

    from regress.flows.listing import listing
    from regress.flows.workplace import Workplace
    from regress.record.codec import plain
    from regress.report import inventory

    found = listing(Workplace.around(Path.cwd()), side)
    if json_file is not None:
        write(json_file, json.dumps(plain(found), ensure_ascii=False, indent=1) + "\n")
    if json_file != STDOUT:
        click.echo(inventory.render(found, width=terminal_width(), color=use_color()), nl=False)
    return 2 if found.failures else 0
