"""What the commands' arguments have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from regress.errors import RequestError

if TYPE_CHECKING:
    from regress.flows.undertaking import Means

LAUNCHERS = ("local", "torchrun")
"""What can start ranks; `regress.flows.machinery` has them."""

UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0}
"""Units of a time, in seconds."""


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


def add_markdown(parser: Parser) -> None:
    """Add ``--markdown``."""
    parser.add_argument(
        "--markdown", metavar="FILE", help="write the answer for a pull request; - is standard output"
    )


def add_measuring(parser: Parser) -> None:
    """Add what commands that measure have in common: ``--seed`` and ``--quiet``."""
    parser.add_argument(
        "--seed",
        type=whole(0),
        metavar="N",
        help="all orders are drawn from it (default: a random one, which is recorded)",
    )
    parser.add_argument(
        "--launcher",
        choices=LAUNCHERS,
        help="what starts ranks: local (default) forks them from a warm server, torchrun is torch's agent",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        default=None,
        help="begin anew where an interrupted measurement could go on",
    )
    parser.add_argument(
        "--wait",
        type=duration,
        dest="wait_s",
        metavar="TIME",
        help="longest time to wait for another measurement on this host, as 90s, 30m or 2h; 2h if not given",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def means_of(arguments: argparse.Namespace) -> Means:
    """What was asked for, of all that may be; `Means` has the defaults."""
    from dataclasses import fields

    from regress.flows.undertaking import Means

    given = vars(arguments)
    names = [field.name for field in fields(Means) if given.get(field.name) is not None]
    return Means(**{name: given[name] for name in names})


def duration(text: str) -> float:
    """Read a time such as ``90s``, ``30m`` or ``2h``; in seconds."""
    number, unit = text[:-1], text[-1:]
    if not (number.isdecimal() and number.isascii() and len(number) < 7 and unit in UNITS_S):
        raise argparse.ArgumentTypeError(f"expected a time such as 90s, 30m or 2h; got {text!r:.80}")
    return float(number) * UNITS_S[unit]


def budget(text: str) -> dict[str, float]:
    """Read a number of blocks such as ``12``, or a time such as ``30m``; as `Means` calls it."""
    try:
        if text.isdecimal() and text.isascii():
            return {"most_blocks": whole(1)(text)}
        time_s = duration(text)
    except argparse.ArgumentTypeError:
        time_s = 0.0
    if time_s <= 0:
        raise argparse.ArgumentTypeError(
            f"expected a number of blocks, at least 1, or a time such as 90s, 30m or 2h; got {text!r:.80}"
        )
    return {"budget_s": time_s}


def whole(least: int) -> Callable[[str], int]:
    """A reader of whole numbers from ``least`` on."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}; got {text!r:.80}")
        return int(text)

    return read
