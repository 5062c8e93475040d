"""`regress compare BASE HEAD`."""

from __future__ import annotations

from pathlib import Path

import click

from regress.cli.answer import Files, show, with_files
from regress.cli.output import check_writable
from regress.cli.progress import progress
from regress.errors import RequestError

FAIL_ON = ("regressed", "inconclusive", "gone")
"""Verdicts that ``--fail-on`` knows; `regressed` and `broken` always fail."""


def _verdicts(_ctx: click.Context, _param: click.Parameter, value: str) -> frozenset[str]:
    words = frozenset(word.strip() for word in value.split(",") if word.strip())
    unknown = sorted(words - set(FAIL_ON))
    if unknown:
        raise RequestError(f"--fail-on: unknown verdict {unknown[0]!r:.80}; allowed: {', '.join(FAIL_ON)}")
    return words


@click.command("compare")
@click.argument("base")
@click.argument("head")
@click.option(
    "--suite",
    metavar="S",
    help="Name or path of the suite; commit, or that of two stored runs, if not given.",
)
@click.option(
    "--benchmarks-from",
    metavar="REV|WORKTREE|installed",
    help="Whose benchmark files run on both sides; HEAD's if not given.",
)
@click.option(
    "--fail-on",
    default="regressed",
    callback=_verdicts,
    metavar="VERDICTS",
    help="Verdicts that fail the build, by comma: regressed, inconclusive, gone.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Of every order in the plan; drawn and recorded if not given."
)
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@with_files
def command(
    base: str,
    head: str,
    suite: str | None,
    benchmarks_from: str | None,
    fail_on: frozenset[str],
    seed: int | None,
    quiet: bool,
    files: Files,
) -> int:
    """Measure BASE and HEAD side by side and say whether HEAD is slower.

    A side is a git revision, REV@ENVIRONMENT, @ENVIRONMENT, or a stored run (its identity or
    its folder). Two stored runs are compared without measuring.
    """
    check_writable(files.json, files.html)
    from regress.flows.compare import CompareRequest, compare
    from regress.flows.workplace import Workplace

    request = CompareRequest(
        base=base, head=head, suite=suite, benchmarks_from=benchmarks_from, fail_on=fail_on, seed=seed
    )
    workplace = Workplace.around(Path.cwd())
    with progress(quiet=quiet) as shown:
        answer = compare(workplace, request, shown)
    return show(answer, files, workplace.project.root / ".regress" / "reports")
