"""Pictures of a comparison as SVG text, drawn for a page whose style sheet colours the classes.

Shapes tell base (ring) from head (dot), so that no picture needs its colours. Everything drawn
stays inside the ``viewBox``, whatever the values; what lies beyond an axis sits at its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from regress.record.comparison import Comparison
from regress.report.rows import Row, block_changes, unit_of
from regress.units import MINUS, scale_of, share

_WIDTH, _HEIGHT = 400, 230
_TOP, _BOTTOM = 34, 192
_LEFT, _RIGHT = 58, 284
_GUTTER, _END = 70, _WIDTH - 24
_STRIP_WIDTH, _STRIP_HEIGHT, _STRIP_EDGE = 180, 24, 8


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


def launches(row: Row) -> str:
    """Draw the launches of both sides with their medians.

    Paired: one place per block, its two values joined. Otherwise base stands left of head, each
    in the order of its launches.
    """
    c = row.comparison
    title = f"{row.metric} of each launch"
    values = [*c.base.values, *c.head.values]
    if not values:
        nothing = "no launch was measured"
        text = _text(0, 14, nothing, "caption")
        return _figure(f"{row.anchor}-launches", "launches", title, nothing, text, (_WIDTH, 24))
    scale = scale_of(values, unit_of(c))
    axis = _axis_around([value / scale.size for value in values], start=_BOTTOM, end=_TOP)
    base_x, head_x, places = _places(c)
    base = [(x, axis.at(v / scale.size)) for x, v in zip(base_x, c.base.values, strict=True)]
    head = [(x, axis.at(v / scale.size)) for x, v in zip(head_x, c.head.values, strict=True)]
    medians = {
        side: axis.at(level / scale.size)
        for side, level in (("base", c.base.median), ("head", c.head.median))
        if level is not None
    }
    caption = f"{row.metric}, {scale.symbol}" if scale.symbol else row.metric
    parts = [
        _text(0, 14, caption, "caption"),
        *_levels(axis),
        *(_text(x, _BOTTOM + 18, text, "middle tick") for x, text in places),
        _text(
            (_LEFT + _RIGHT) / 2, _HEIGHT - 4, "block" if c.design == "paired" else "launch", "middle tick"
        ),
        *(_line(_LEFT, y, _RIGHT, y, f"median {side}") for side, y in medians.items()),
        *_joined(base, head),
        *(_dot(x, y, 3.5, "head") for x, y in head),
        *(_dot(x, y, 5, "base") for x, y in base),
        *_median_labels(medians, {"base": row.base, "head": row.head}),
    ]
    about = f"{row.benchmark}: base {row.base} (rings), head {row.head} (dots), medians"
    return _figure(f"{row.anchor}-launches", "launches", title, about, "".join(parts))


def change(row: Row, *, min_change: float) -> str:
    """Draw the change: of each block, the estimate with its interval, and what could be found.

    The shaded band is ±``min_change``; counts have none, since any change of theirs counts.
    """
    c = row.comparison
    blocks = list(block_changes(c).values()) if c.design == "paired" else []
    shown = [v for v in (c.change, c.low, c.high, c.detectable, *blocks) if v is not None]
    band = min_change if c.design != "exact" else 0.0
    axis = _axis_around([0.0, band, -band, *shown], start=_GUTTER, end=_END)
    zero = axis.at(0.0)
    value = f"{row.change} ({row.interval})" if row.interval else row.change
    parts = [_text(0, 14, value if c.change is not None else "no change can be given", "value")]
    if band:
        parts.append(_band(axis, band, _TOP, _BOTTOM))
        parts.append(_text(_WIDTH, 14, f"shaded: within ±{share(band)}", "end tick"))
    parts += [_line(zero, _TOP, zero, _BOTTOM, "zero"), _line(_GUTTER, _BOTTOM, _END, _BOTTOM, "rule")]
    parts += [_text(axis.at(t), _BOTTOM + 18, _signed(t), "middle tick") for t in axis.ticks(4)]
    parts.append(_text((_GUTTER + _END) / 2, _HEIGHT - 4, "change, + is worse", "middle tick"))
    if blocks:
        parts.append(_text(0, 64, "blocks", "tick"))
        parts += [_dot(axis.at(value), 60, 3.5, "block") for value in blocks]
    parts += [_text(0, 117, "change", "tick"), *_interval(axis, c, 113)]
    if c.detectable:
        at = axis.at(c.detectable)
        parts += [_text(0, 170, "finds", "tick"), _line(at, 160, at, 172, "finds")]
        parts.append(_line(at, 166, _END, 166, "finds"))
    title = f"change of {row.metric}"
    about = f"{row.benchmark}: change {row.change} {row.interval}, detectable {row.detectable or 'not known'}"
    name = f"{row.anchor}-change"
    return _figure(name, f"change v-{row.verdict or 'shown'}", title, about, "".join(parts))


def strip(row: Row, *, limit: float, min_change: float) -> str:
    """Draw the change and its interval for one line of a table; an arrow means beyond ``limit``."""
    c = row.comparison
    axis = _strip_axis(limit)
    middle = _STRIP_HEIGHT / 2
    parts = [_band(axis, min_change, 0, _STRIP_HEIGHT)] if c.design != "exact" else []
    parts.append(_line(axis.at(0.0), 0, axis.at(0.0), _STRIP_HEIGHT, "zero"))
    parts += _interval(axis, c, middle)
    about = f"change {row.change} {row.interval}"
    return _figure(
        f"{row.anchor}-strip",
        f"strip v-{row.verdict or 'shown'}",
        f"change of {row.metric}",
        about,
        "".join(parts),
        (_STRIP_WIDTH, _STRIP_HEIGHT),
    )


def strip_scale(limit: float) -> str:
    """Draw the axis that stands above strips of that limit; hidden from readers of the text."""
    axis = _strip_axis(limit)
    half = limit / 2
    ends = ((-half, "middle tick"), (0.0, "middle tick"), (half, "middle tick"))
    body = "".join(_text(axis.at(value), 14, _signed(value), style) for value, style in ends)
    return f'<svg class="strip" viewBox="0 0 {_STRIP_WIDTH} 18" aria-hidden="true">{body}</svg>'


def strip_limit(comparisons: Iterable[Comparison], *, min_change: float) -> float:
    """Choose one round limit for all strips of a page.

    It holds every interval, but no more than eight times ``min_change``: beyond, a single
    giant would make all others look alike.
    """
    ends = [abs(v) for c in comparisons for v in (c.change, c.low, c.high) if v is not None]
    least = max(min_change, 0.005)
    wanted = min(max([2 * least, *ends]) * 1.1, 8 * least)
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(power * factor for factor in (1, 2, 3, 4, 6, 8, 10) if power * factor >= wanted * 0.999)


def _places(c: Comparison) -> tuple[list[float], list[float], list[tuple[float, str]]]:
    """Where each launch of base and of head stands, and what is written below."""
    if c.design == "paired":
        blocks = sorted({*c.base.blocks, *c.head.blocks})
        x = dict(zip(blocks, _spread(len(blocks), _LEFT + 14, _RIGHT - 14), strict=True))
        every = math.ceil(len(blocks) / 12)
        labels = [(x[block], str(block)) for block in blocks[::every]]
        return [x[b] for b in c.base.blocks], [x[b] for b in c.head.blocks], labels
    middle = (_LEFT + _RIGHT) / 2
    base = _spread(len(c.base.values), _LEFT + 14, middle - 14)
    head = _spread(len(c.head.values), middle + 14, _RIGHT - 14)
    return base, head, [((_LEFT + middle) / 2, "base"), ((_RIGHT + middle) / 2, "head")]


def _spread(number: int, start: float, end: float) -> list[float]:
    return [start + (end - start) * (i + 0.5) / number for i in range(number)]


def _joined(base: Sequence[tuple[float, float]], head: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Join the values of a block: those that stand in one place."""
    heads = dict(head)
    for x, y in base:
        if x in heads:
            yield _line(x, y, x, heads[x], "pair")


def _axis_around(values: Sequence[float], *, start: float, end: float) -> Axis:
    """Lay out an axis a little wider than the values, and never narrower than 1 % of them."""
    low, high = min(values), max(values)
    least = max(abs(low), abs(high)) * 0.01 or 0.01
    room = max((high - low) * 0.08, (least - (high - low)) / 2, 1e-300)
    return Axis(low=low - room, high=high + room, start=start, end=end)


def _strip_axis(limit: float) -> Axis:
    return Axis(low=-limit, high=limit, start=_STRIP_EDGE, end=_STRIP_WIDTH - _STRIP_EDGE)


def _levels(axis: Axis) -> Iterator[str]:
    """Draw the horizontal lines of round values with their numbers."""
    step = axis.step(4)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    for tick in axis.ticks(4):
        y = axis.at(tick)
        plain = decimals <= 6 and abs(tick) < 1e6
        text = f"{tick:,.{decimals}f}" if plain else f"{tick:.4g}"
        yield _line(_LEFT, y, _RIGHT, y, "rule")
        yield _text(_LEFT - 8, y + 4, text.replace("-", MINUS), "end tick")


def _median_labels(heights: dict[str, float], texts: dict[str, str]) -> Iterator[str]:
    """Write each side's median beside its line, two lines of text apart from the other's."""
    order = sorted(heights, key=lambda side: heights[side])
    places = [heights[side] for side in order]
    if len(places) == 2 and places[1] - places[0] < 34:
        middle = min(max(sum(places) / 2, _TOP + 17), _BOTTOM - 17)
        places = [middle - 17, middle + 17]
    for side, y in zip(order, places, strict=True):
        yield _dot(_RIGHT + 12, y - 5, 4, side)
        yield _text(_RIGHT + 22, y - 1, side, "tick")
        yield _text(_RIGHT + 8, y + 14, texts[side], "value")


def _interval(axis: Axis, c: Comparison, y: float) -> Iterator[str]:
    """Draw the estimate as a dot on its interval; an arrow where it lies beyond the axis."""
    if c.design != "exact" and c.low is not None and c.high is not None:
        yield _line(axis.at(c.low), y, axis.at(c.high), y, "interval")
        ends = [end for end in (c.low, c.high) if axis.low <= end <= axis.high]  # what is cut off has no cap
        yield from (_line(axis.at(end), y - 4, axis.at(end), y + 4, "cap") for end in ends)
    if c.change is None:
        return
    x = axis.at(c.change)
    if axis.low <= c.change <= axis.high:
        yield _dot(x, y, 4.5, "estimate")
    else:
        back = x - 8 if c.change > axis.high else x + 8
        yield f'<path class="estimate" d="M{back:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}L{back:.1f} {y + 6:.1f}Z"/>'


def _band(axis: Axis, half: float, top: float, bottom: float) -> str:
    left, right = axis.at(-half), axis.at(half)
    size = f'width="{right - left:.1f}" height="{bottom - top:g}"'
    return f'<rect class="band" x="{left:.1f}" y="{top:g}" {size}/>'


def _signed(fraction: float) -> str:
    if abs(fraction) < 1e-12:
        return "0"
    return f"{MINUS if fraction < 0 else '+'}{share(fraction)}"


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _dot(x: float, y: float, radius: float, style: str) -> str:
    return f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _figure(
    name: str, style: str, title: str, about: str, body: str, size: tuple[int, int] = (_WIDTH, _HEIGHT)
) -> str:
    """Wrap a drawing as an image with a name and a description for those who do not see it."""
    return (
        f'<svg class="{style}" viewBox="0 0 {size[0]} {size[1]}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(about)}</desc>{body}</svg>'
    )
