"""Pieces of pictures as SVG text: an axis, lines, dots, texts, and the frame around them.

The style sheet of the page colours the classes. Texts are escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from regress.units import MINUS


@dataclass(frozen=True, kw_only=True)
class Axis:
    """Values laid out along a line of pixels."""

    low: float
    """Value at ``start``."""

    high: float
    """Value at ``end``; above ``low``."""

    start: float
    """In pixels."""

    end: float
    """In pixels; may lie before ``start``."""

    def at(self, value: float) -> float:
        """Place a value; one beyond the axis sits at its end."""
        part = (value - self.low) / (self.high - self.low)
        return self.start + min(max(part, 0.0), 1.0) * (self.end - self.start)

    def step(self, wanted: int) -> float:
        """Give the round distance at which about ``wanted`` ticks fit."""
        rough = (self.high - self.low) / wanted
        power = 10.0 ** math.floor(math.log10(rough))
        return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)

    def ticks(self, wanted: int) -> tuple[float, ...]:
        """Give about ``wanted`` round values inside the axis, rising."""
        step = self.step(wanted)
        first = math.ceil(self.low / step)
        return tuple(n * step for n in range(first, first + 2 * wanted + 2) if n * step <= self.high)


def axis_around(values: Sequence[float], *, start: float, end: float) -> Axis:
    """Lay out an axis a little wider than the values, and never narrower than 1 % of them."""
    low, high = min(values), max(values)
    least = max(abs(low), abs(high)) * 0.01 or 0.01
    room = max((high - low) * 0.08, (least - (high - low)) / 2, 1e-300)
    return Axis(low=low - room, high=high + room, start=start, end=end)


def scale_lines(axis: Axis, left: float, right: float) -> Iterator[str]:
    """Draw the horizontal lines of round values with their numbers."""
    step = axis.step(4)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    for tick in axis.ticks(4):
        y = axis.at(tick)
        plain = decimals <= 6 and abs(tick) < 1e6
        number = f"{tick:,.{decimals}f}" if plain else f"{tick:.4g}"
        yield line(left, y, right, y, "rule")
        yield text(left - 8, y + 4, number.replace("-", MINUS), "end tick")


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """A line."""
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def dot(x: float, y: float, radius: float, style: str, told: str = "") -> str:
    """A filled circle, or a ring where the style says so; ``told`` is shown to who stays on it."""
    place = f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"'
    return f"{place}><title>{escape(told)}</title></circle>" if told else f"{place}/>"


def text(x: float, y: float, words: str, style: str = "") -> str:
    """A text; it is escaped."""
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def figure(name: str, style: str, title: str, about: str, body: str, size: tuple[int, int]) -> str:
    """Wrap a drawing as an image with a name and a description for those who do not see it."""
    return (
        f'<svg class="{style}" viewBox="0 0 {size[0]} {size[1]}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(about)}</desc>{body}</svg>'
    )
