"""What the commands' arguments have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

from regress.errors import RequestError


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, by raising it."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        Raises:
            RequestError: Always.
        """
        raise RequestError(f"{message} (`{self.prog} --help` says more)")


def add_json(parser: Parser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", metavar="FILE", help="write the answer as JSON; - is standard output")


def add_html(parser: Parser) -> None:
    """Add ``--html``."""
    parser.add_argument("--html", metavar="FILE", help="write the page there, not to .regress/reports/")


def add_measuring(parser: Parser) -> None:
    """Add what commands that measure have in common: ``--seed`` and ``--quiet``."""
    parser.add_argument(
        "--seed",
        type=whole(0),
        metavar="N",
        help="of every order in the plan; drawn and recorded if not given",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def whole(least: int) -> Callable[[str], int]:
    """A reader of whole numbers from ``least`` on."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}; got {text!r:.80}")
        return int(text)

    return read
