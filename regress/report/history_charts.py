"""A series as a picture: points, levels, changes, changes of conditions.

Points stand at equal distances, in the order of the series. A change is a line from top to bottom with
its sign above: filled where it is confirmed, hollow where it is suspected, struck out where it was
refuted. Everything stays inside the ``viewBox``, whatever the values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from regress.record.history import Change, Series
from regress.report import svg
from regress.report.history_rows import SeriesRow
from regress.report.words import clean
from regress.units import quantity, scale_of

_WIDTH, _HEIGHT = 960, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, _WIDTH - 14, 46, 210

_DOTS, _QUIET_DOTS = 400, 30
"""Most points that are drawn as dots with a text each, in a series that needs a look and in others: a dot
takes ten times the room of a point of a line, and a page may hold hundreds of series."""

_MOST = 2000
"""Most points of a line; of more, the least and the largest of each stretch are drawn."""


def series(row: SeriesRow) -> str:
    """Draw a series."""
    each = row.series
    values = [point.value for point in each.points]
    known = [value for value in values if value is not None]
    name = f"{row.anchor}-chart"
    if not known:
        return svg.figure(
            name, "series", row.metric, "no value", svg.text(0, 14, "no value", "caption"), (_WIDTH, 24)
        )
    scale = scale_of(known, each.unit)
    y = svg.axis_around([value / scale.size for value in known], start=_BOTTOM, end=_TOP)
    x = svg.Axis(low=-0.5, high=len(values) - 0.5, start=_LEFT + 6, end=_RIGHT)
    places = [None if value is None else y.at(value / scale.size) for value in values]
    caption = f"{row.metric}, {scale.symbol}" if scale.symbol else row.metric
    parts = [
        svg.text(0, 14, caption, "caption"),
        *svg.scale_lines(y, _LEFT, _RIGHT),
        *_breaks(each, x),
        *_line(each, x, places),
        *(_levels(each, x, y, scale.size)),
        *_gaps(each, x),
        *(_dots(each, x, places) if len(values) <= (_DOTS if row.is_loud else _QUIET_DOTS) else ()),
        *_anchor(each, x),
        *(part for change in each.changes for part in _change(change, x)),
        *_dates(each, x),
    ]
    about = (
        f"{row.benchmark}: {len(known)} points, {len(each.changes)} changes, "
        f"newest level {row.now}; {row.state}"
    )
    return svg.figure(
        name, f"series h-{row.state}", f"history of {row.metric}", about, "".join(parts), (_WIDTH, _HEIGHT)
    )


def _line(each: Series, x: svg.Axis, places: Sequence[float | None]) -> Iterator[str]:
    """Join the points; never across a gap or other conditions."""
    starts = {one.index for one in each.breaks}
    shown = _thinned(places)
    path, pen = [], "M"
    for index in shown:
        place = places[index]
        if index in starts or place is None:
            pen = "M"
        if place is not None:
            path.append(f"{pen}{x.at(index):.1f} {place:.1f}")
            pen = "L"
    yield f'<path class="points" d="{"".join(path)}"/>'


def _thinned(places: Sequence[float | None]) -> list[int]:
    """Indices that are drawn: all, or the extremes of each of many short stretches."""
    if len(places) <= _MOST:
        return list(range(len(places)))
    size = -(-len(places) * 2 // _MOST)
    shown = []
    for start in range(0, len(places), size):
        stretch = [
            (place, start + i) for i, place in enumerate(places[start : start + size]) if place is not None
        ]
        shown += sorted({min(stretch)[1], max(stretch)[1]}) if stretch else [start]
    return shown


def _dots(each: Series, x: svg.Axis, places: Sequence[float | None]) -> Iterator[str]:
    """A dot for each point, which tells commit, day and value to who stays on it."""
    for index, (point, place) in enumerate(zip(each.points, places, strict=True)):
        if place is None:
            continue
        commit = (point.commit or "no revision")[:12]
        told = f"{commit}, {clean(point.started)[:10]}, {quantity(point.value, each.unit)}: {point.subject}"
        yield svg.dot(x.at(index), place, 2.6, "point", clean(told))


def _levels(each: Series, x: svg.Axis, y: svg.Axis, size: float) -> Iterator[str]:
    for level in each.levels:
        if level.median is not None:
            height = y.at(level.median / size)
            yield svg.line(x.at(level.start - 0.5), height, x.at(level.end - 0.5), height, "level")


def _gaps(each: Series, x: svg.Axis) -> Iterator[str]:
    """A cross below for each run that gave no value."""
    for index, point in enumerate(each.points):
        if point.value is None:
            yield svg.text(x.at(index), _BOTTOM - 3, "✕", "middle gap")


def _change(change: Change, x: svg.Axis) -> Iterator[str]:
    at = x.at(change.index - 0.5)
    tone = f"{change.state} {'worse' if change.worse else 'better'}"
    yield svg.line(at, _TOP - 8, at, _BOTTOM, f"step {tone}")
    up, down = _TOP - 22, _TOP - 10
    tip, foot = (up, down) if change.worse else (down, up)
    yield f'<path class="sign {tone}" d="M{at - 7:.1f} {foot}L{at + 7:.1f} {foot}L{at:.1f} {tip}Z"/>'
    if change.state == "refuted":
        yield svg.line(at - 9, down + 1, at + 9, up - 1, "struck")


def _breaks(each: Series, x: svg.Axis) -> Iterator[str]:
    for one in each.breaks:
        at = x.at(one.index - 0.5)
        yield svg.line(at, _TOP - 8, at, _BOTTOM, "break")
        side = "end tick" if at > _WIDTH / 2 else "tick"
        names = [clean(difference.field, limit=20) for difference in one.differences[:2]]
        more = " …" if len(one.differences) > 2 else ""
        yield svg.text(
            at - 5 if side == "end tick" else at + 5, _BOTTOM - 6, f"{', '.join(names)}{more}", side
        )


def _anchor(each: Series, x: svg.Axis) -> Iterator[str]:
    if each.anchor is not None:
        at = x.at(each.anchor)
        yield svg.line(at, _BOTTOM, at, _BOTTOM + 6, "anchor")
        yield svg.text(at, _BOTTOM + 36, "anchor", "middle tick")


def _dates(each: Series, x: svg.Axis) -> Iterator[str]:
    """The days of about six points, and a rule below all."""
    yield svg.line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "rule")
    count = len(each.points)
    wanted = min(count, 6)
    shown = sorted({round(i * (count - 1) / max(wanted - 1, 1)) for i in range(wanted)})
    for index in shown:
        at = x.at(index)
        style = "tick" if index == 0 and count > 1 else "end tick" if index == count - 1 else "middle tick"
        yield svg.text(
            _LEFT if index == 0 and count > 1 else at,
            _BOTTOM + 20,
            clean(each.points[index].started)[:10],
            style,
        )
