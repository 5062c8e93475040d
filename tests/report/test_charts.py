from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regress.record.comparison import Comparison, Design
from regress.report import charts
from regress.report.rows import row_of
from regress.report.svg import Axis
from tests.report.factories import DDP, HOSTILE, exact, timed, values, whole

numbers = st.one_of(st.floats(-1e300, 1e300), st.floats(1e-6, 1e3), st.just(0.0), st.just(5e-324))
fractions = st.one_of(st.none(), st.floats(-1e12, 1e12), st.floats(-0.5, 0.5), st.just(0.0))
sides = st.lists(numbers, max_size=14)


def assert_inside(svg: str) -> None:
    """Every point that is drawn lies within the picture."""
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own text
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for element in root.iter():
        at = {name: float(text) for name, text in element.attrib.items() if name in COORDINATES}
        radius = at.pop("r", 0.0)
        for name, value in at.items():
            limit = height if "y" in name or name == "height" else width
            assert radius <= value <= limit - radius, (name, value)
        if element.tag == "rect":
            assert at["x"] + at["width"] <= width
            assert at["y"] + at["height"] <= height


COORDINATES = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height")


def drawn(svg: str, style: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own text
    return [element for element in root.iter() if element.get("class") == style]


@given(
    base=sides,
    head=sides,
    design=st.sampled_from(("paired", "unpaired", "exact")),
    unit=st.sampled_from("sB1"),
)
def test_launches_of_any_size_stay_in_the_picture(
    base: list[float], head: list[float], design: Design, unit: str
) -> None:
    c = timed(DDP, "step_s", 1.0, 0.0, base=values(*base), head=values(*head), design=design, unit=unit)
    svg = charts.launches(row_of(c))
    assert_inside(svg)
    dots = [float(e.attrib["r"]) for e in drawn(svg, "base") + drawn(svg, "head") if e.tag == "circle"]
    assert len([r for r in dots if r != 4]) == len(base) + len(head)


@given(fractions, fractions, fractions, fractions, st.floats(1e-6, 0.9))
def test_changes_of_any_size_stay_in_the_picture(
    change: float | None, low: float | None, high: float | None, detectable: float | None, min_change: float
) -> None:
    c = timed(DDP, "step_s", 1.0, 0.1, low=low, high=high, detectable=detectable)
    c = replace(c, change=change)
    assert_inside(charts.change(row_of(c), min_change=min_change))
    limit = charts.strip_limit([c], min_change=min_change)
    assert_inside(charts.strip(row_of(c), limit=limit, min_change=min_change))


def test_a_block_is_joined_and_its_change_is_drawn() -> None:
    c = timed(DDP, "step_s", 0.04, 0.2, blocks=5)
    assert len(drawn(charts.launches(row_of(c)), "pair")) == 5
    assert len(drawn(charts.change(row_of(c), min_change=0.05), "block")) == 5


def test_unpaired_launches_are_not_joined() -> None:
    c = timed(DDP, "step_s", 0.04, 0.2, design="unpaired")
    assert not drawn(charts.launches(row_of(c)), "pair")
    assert not drawn(charts.change(row_of(c), min_change=0.05), "block")


def test_the_worse_side_is_drawn_where_its_values_lie() -> None:
    c = timed(DDP, "step_s", 0.04, 0.2)
    svg = charts.launches(row_of(c))
    base, head = (
        [float(e.attrib["cy"]) for e in drawn(svg, side) if e.tag == "circle"] for side in ("base", "head")
    )
    assert max(head) < min(base)


def test_counts_have_no_band_because_any_change_of_theirs_counts() -> None:
    assert not drawn(charts.change(row_of(exact(DDP, "flops", 8, 9)), min_change=0.05), "band")
    assert drawn(charts.change(row_of(timed(DDP, "step_s", 0.04, 0.0)), min_change=0.05), "band")


def test_what_lies_beyond_a_strip_is_an_arrow() -> None:
    giant = row_of(timed(DDP, "step_s", 0.04, 9.0))
    (mark,) = drawn(charts.strip(giant, limit=0.4, min_change=0.05), "estimate")
    assert mark.tag == "path"


def test_one_giant_does_not_flatten_the_other_strips() -> None:
    giant = timed(DDP, "step_s", 0.04, 9.0)
    assert charts.strip_limit([giant], min_change=0.05) == pytest.approx(0.4)
    assert charts.strip_limit([], min_change=0.05) == pytest.approx(0.2)


def test_medians_that_are_close_do_not_write_over_each_other() -> None:
    svg = charts.launches(row_of(timed(DDP, "step_s", 0.04, 0.0)))
    labels = sorted(float(e.attrib["y"]) for e in drawn(svg, "value"))
    assert labels[1] - labels[0] >= 28


@pytest.mark.parametrize("c", [timed(HOSTILE, "step_s", 0.04, 0.1, unit=HOSTILE), whole(HOSTILE, "new", "")])
def test_a_picture_has_a_name_and_a_description_and_no_hostile_element(c: Comparison) -> None:
    for svg in (
        charts.launches(row_of(c)),
        charts.change(row_of(c), min_change=0.05),
        charts.strip(row_of(c), limit=0.2, min_change=0.05),
    ):
        root = ElementTree.fromstring(svg)  # noqa: S314 - our own text
        assert root.attrib["role"] == "img"
        title, about = root[0], root[1]
        assert (title.tag, about.tag) == ("title", "desc")
        assert root.attrib["aria-labelledby"].split() == [title.attrib["id"], about.attrib["id"]]
        assert {e.tag for e in root.iter()} <= {
            "svg",
            "title",
            "desc",
            "line",
            "rect",
            "circle",
            "text",
            "path",
        }


def test_ticks_are_round_and_inside() -> None:
    axis = Axis(low=-0.037, high=0.22, start=0, end=100)
    assert axis.ticks(5) == pytest.approx((0.0, 0.1, 0.2))
    assert replace(axis, low=39.1, high=51.2).ticks(4) == pytest.approx((40, 45, 50))
