"""`regress run [SUITE]`."""

from __future__ import annotations

from pathlib import Path

import click

from regress.cli.output import STDOUT, check_writable, terminal_width, use_color, write
from regress.cli.progress import progress


@click.command("run")
@click.argument("suite", default="commit")
@click.option(
    "--side", metavar="REV[@ENV]", help="What to measure; without it the benchmarks as they lie, without git."
)
@click.option(
    "--launches",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many; as many as the suite has blocks if not given.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Of every order in the plan; drawn and recorded if not given."
)
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@click.option("--json", "json_file", metavar="FILE", help="Write the run as JSON; - is standard output.")
def command(
    suite: str, side: str | None, launches: int | None, seed: int | None, quiet: bool, json_file: str | None
) -> int:
    """Measure one side with SUITE (default: commit) and keep the run."""
    check_writable(json_file)
    from regress.flows.run import RunRequest, run
    from regress.flows.workplace import Workplace
    from regress.report import data, single

    workplace = Workplace.around(Path.cwd())
    request = RunRequest(suite=suite, side=side, launches=launches, seed=seed)
    with progress(quiet=quiet) as shown:
        measured = run(workplace, request, shown)
    if json_file is not None:
        write(json_file, data.render(measured))
    if json_file != STDOUT:
        text = single.render(measured, width=terminal_width(), color=use_color())
        write(STDOUT, f"{text}kept in {measured.folder}\n")
    return 3 if single.measured_nothing(measured) else 0
