"""Pictures of a comparison as SVG text, drawn for a page whose style sheet colours the classes.

Shapes tell base (ring) from head (dot), so that no picture needs its colours. Everything drawn
stays inside the ``viewBox``, whatever the values; what lies beyond an axis sits at its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from regress.record.comparison import Comparison
from regress.report import svg
from regress.report.rows import Row, block_changes, unit_of
from regress.units import MINUS, scale_of, share

_WIDTH, _HEIGHT = 400, 230
_TOP, _BOTTOM = 34, 192
_LEFT, _RIGHT = 58, 284
_GUTTER, _END = 70, _WIDTH - 24
_STRIP_WIDTH, _STRIP_HEIGHT, _STRIP_EDGE = 180, 24, 8


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
        text = svg.text(0, 14, nothing, "caption")
        return svg.figure(f"{row.anchor}-launches", "launches", title, nothing, text, (_WIDTH, 24))
    scale = scale_of(values, unit_of(c))
    axis = svg.axis_around([value / scale.size for value in values], start=_BOTTOM, end=_TOP)
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
        svg.text(0, 14, caption, "caption"),
        *svg.scale_lines(axis, _LEFT, _RIGHT),
        *(svg.text(x, _BOTTOM + 18, text, "middle tick") for x, text in places),
        svg.text(
            (_LEFT + _RIGHT) / 2, _HEIGHT - 4, "block" if c.design == "paired" else "launch", "middle tick"
        ),
        *(svg.line(_LEFT, y, _RIGHT, y, f"median {side}") for side, y in medians.items()),
        *_joined(base, head),
        *(svg.dot(x, y, 3.5, "head") for x, y in head),
        *(svg.dot(x, y, 5, "base") for x, y in base),
        *_median_labels(medians, {"base": row.base, "head": row.head}),
    ]
    about = f"{row.benchmark}: base {row.base} (rings), head {row.head} (dots), medians"
    return svg.figure(f"{row.anchor}-launches", "launches", title, about, "".join(parts), (_WIDTH, _HEIGHT))


def change(row: Row, *, min_change: float) -> str:
    """Draw the change: of each block, the estimate with its interval, and what could be found.

    The shaded band is ±``min_change``; counts have none, since any change of theirs counts.
    """
    c = row.comparison
    blocks = list(block_changes(c).values()) if c.design == "paired" else []
    shown = [v for v in (c.change, c.low, c.high, c.detectable, *blocks) if v is not None]
    band = min_change if c.design != "exact" else 0.0
    axis = svg.axis_around([0.0, band, -band, *shown], start=_GUTTER, end=_END)
    zero = axis.at(0.0)
    value = f"{row.change} ({row.interval})" if row.interval else row.change
    parts = [svg.text(0, 14, value if c.change is not None else "no change can be given", "value")]
    if band:
        parts.append(_band(axis, band, _TOP, _BOTTOM))
        parts.append(svg.text(_WIDTH, 14, f"shaded: within ±{share(band)}", "end tick"))
    parts += [svg.line(zero, _TOP, zero, _BOTTOM, "zero"), svg.line(_GUTTER, _BOTTOM, _END, _BOTTOM, "rule")]
    parts += [svg.text(axis.at(t), _BOTTOM + 18, _signed(t), "middle tick") for t in axis.ticks(4)]
    parts.append(svg.text((_GUTTER + _END) / 2, _HEIGHT - 4, "change, + is worse", "middle tick"))
    if blocks:
        parts.append(svg.text(0, 64, "blocks", "tick"))
        parts += [svg.dot(axis.at(value), 60, 3.5, "block") for value in blocks]
    parts += [svg.text(0, 117, "change", "tick"), *_interval(axis, c, 113)]
    if c.detectable:
        at = axis.at(c.detectable)
        parts += [svg.text(0, 170, "finds", "tick"), svg.line(at, 160, at, 172, "finds")]
        parts.append(svg.line(at, 166, _END, 166, "finds"))
    title = f"change of {row.metric}"
    about = f"{row.benchmark}: change {row.change} {row.interval}, detectable {row.detectable or 'not known'}"
    name = f"{row.anchor}-change"
    return svg.figure(
        name, f"change v-{row.verdict or 'shown'}", title, about, "".join(parts), (_WIDTH, _HEIGHT)
    )


def strip(row: Row, *, limit: float, min_change: float) -> str:
    """Draw the change and its interval for one line of a table; an arrow means beyond ``limit``."""
    c = row.comparison
    axis = _strip_axis(limit)
    middle = _STRIP_HEIGHT / 2
    parts = [_band(axis, min_change, 0, _STRIP_HEIGHT)] if c.design != "exact" else []
    parts.append(svg.line(axis.at(0.0), 0, axis.at(0.0), _STRIP_HEIGHT, "zero"))
    parts += _interval(axis, c, middle)
    about = f"change {row.change} {row.interval}"
    return svg.figure(
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
    body = "".join(svg.text(axis.at(value), 14, _signed(value), style) for value, style in ends)
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
            yield svg.line(x, y, x, heads[x], "pair")


def _strip_axis(limit: float) -> svg.Axis:
    return svg.Axis(low=-limit, high=limit, start=_STRIP_EDGE, end=_STRIP_WIDTH - _STRIP_EDGE)


def _median_labels(heights: dict[str, float], texts: dict[str, str]) -> Iterator[str]:
    """Write each side's median beside its line, two lines of text apart from the other's."""
    order = sorted(heights, key=lambda side: heights[side])
    places = [heights[side] for side in order]
    if len(places) == 2 and places[1] - places[0] < 34:
        middle = min(max(sum(places) / 2, _TOP + 17), _BOTTOM - 17)
        places = [middle - 17, middle + 17]
    for side, y in zip(order, places, strict=True):
        yield svg.dot(_RIGHT + 12, y - 5, 4, side)
        yield svg.text(_RIGHT + 22, y - 1, side, "tick")
        yield svg.text(_RIGHT + 8, y + 14, texts[side], "value")


def _interval(axis: svg.Axis, c: Comparison, y: float) -> Iterator[str]:
    """Draw the estimate as a dot on its interval; an arrow where it lies beyond the axis."""
    if c.design != "exact" and c.low is not None and c.high is not None:
        yield svg.line(axis.at(c.low), y, axis.at(c.high), y, "interval")
        ends = [end for end in (c.low, c.high) if axis.low <= end <= axis.high]  # what is cut off has no cap
        yield from (svg.line(axis.at(end), y - 4, axis.at(end), y + 4, "cap") for end in ends)
    if c.change is None:
        return
    x = axis.at(c.change)
    if axis.low <= c.change <= axis.high:
        yield svg.dot(x, y, 4.5, "estimate")
    else:
        back = x - 8 if c.change > axis.high else x + 8
        yield f'<path class="estimate" d="M{back:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}L{back:.1f} {y + 6:.1f}Z"/>'


def _band(axis: svg.Axis, half: float, top: float, bottom: float) -> str:
    left, right = axis.at(-half), axis.at(half)
    size = f'width="{right - left:.1f}" height="{bottom - top:g}"'
    return f'<rect class="band" x="{left:.1f}" y="{top:g}" {size}/>'


def _signed(fraction: float) -> str:
    if abs(fraction) < 1e-12:
        return "0"
    return f"{MINUS if fraction < 0 else '+'}{share(fraction)}"
