"""Slowdowns as a user writes them: ``kernel:2%,stall:0.5%``."""

from __future__ import annotations

from regress.errors import RequestError
from regress.record.calibration import KINDS, Slowdown
from regress.spec.benchmark import alternatives

SIZES = ("0.5%", "1%", "2%", "5%")
"""What ``all`` plants of each kind."""


def read_slowdowns(text: str) -> tuple[Slowdown, ...]:
    """Read a list of slowdowns: kind and share of the step, by comma; ``all``, or ``none``.

    Raises:
        RequestError: It is no such list, or names one twice.
    """
    words = [word.strip() for word in text.split(",")]
    if words == ["none"]:
        return ()
    if words == ["all"]:
        words = [f"{kind}:{size}" for kind in KINDS for size in SIZES]
    found = tuple(_slowdown(word) for word in words)
    twice = next((each for each in found if found.count(each) > 1), None)
    if twice is not None:
        raise RequestError(f"--planted: {twice} stands there twice; leave one out")
    return found


def _slowdown(word: str) -> Slowdown:
    name, _, size = word.partition(":")
    kind = next((kind for kind in KINDS if kind == name), None)
    if kind is None:
        raise RequestError(f"--planted: unknown slowdown {name!r:.80}{alternatives(name, KINDS)}")
    return Slowdown(kind=kind, fraction=_fraction(word, size))


def _fraction(word: str, text: str) -> float:
    """A share of the step, more than 0 and not more than 100 %."""
    number = text.removesuffix("%")
    digits = number.replace(".", "", 1)
    usable = text.endswith("%") and digits.isdecimal() and digits.isascii() and len(digits) < 9
    if not usable or not 0 < float(number) <= 100:
        raise RequestError(f"--planted: expected a share of the step, as in kernel:2%; got {word!r:.80}")
    return float(number) / 100
