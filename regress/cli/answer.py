"""How an answer is shown: standard output, ``--json``, ``--html``, ``--markdown``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regress.cli.output import STDOUT, discard_output, make_private_folder, terminal_width, use_color, write

if TYPE_CHECKING:
    from regress.record.comparison import SuiteComparison


@dataclass(frozen=True, kw_only=True)
class Files:
    """Files that the user asked for; ``-`` is standard output."""

    json: str | None
    """The answer for programs."""

    html: str | None
    """The page; ``None`` gives it a name of its own."""

    markdown: str | None = None
    """The answer for a pull request or a job's summary."""


def show(answer: SuiteComparison, files: Files, reports: Path) -> int:
    """Write the page and the JSON, print verdict and table, and return the exit status.

    Args:
        answer: What is shown.
        files: What the user asked for.
        reports: Folder of the pages that got no name.

    Raises:
        RegressError: A file cannot be written.
    """
    from regress.report import data, html, markdown, terminal

    page = files.html or str(reports / _page_name(answer))
    told = STDOUT not in (files.json, files.html, files.markdown)
    if told:  # first: whatever becomes of the files, the verdict is out
        _tell(terminal.render(answer, width=terminal_width(), color=use_color()))
    if files.json is not None:
        write(files.json, data.render(answer))
    if files.markdown is not None:
        write(files.markdown, markdown.render(answer))
    if files.html is None:
        make_private_folder(reports)
    write(page, html.render(answer))
    if told:
        _tell(f"\nreport: {page}\n")
    return answer.exit_status


def _tell(text: str) -> None:
    """Print; a reader that has seen enough, as `head` has, changes neither files nor status."""
    try:
        write(STDOUT, text)
    except BrokenPipeError:
        discard_output()


def _page_name(answer: SuiteComparison) -> str:
    names = ((side.commit or side.run)[:12] for side in (answer.head, answer.base))
    return f"{answer.suite}-{'-vs-'.join(names)}-{answer.head.run}.html"
