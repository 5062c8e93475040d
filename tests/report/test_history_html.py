"""A history as a page."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from pathlib import Path

import pytest

from regress.report.history import tables
from regress.report.history_html import render
from tests.report.factories import HOSTILE
from tests.report.histories import HISTORIES, history, mixed_history, regressed, series, steady
from tests.report.test_html import Page

NUMBER = r"-?\d+(?:\.\d+)?"


@pytest.fixture(params=HISTORIES)
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def test_the_page_is_well_formed_and_asks_for_nothing_from_outside(name: str) -> None:
    page = Page(render(HISTORIES[name]()))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in page.values("href")} <= set(ids)
    labels = [label for value in page.values("aria-labelledby") for label in value.split()]
    assert set(labels) <= set(ids)
    assert not {"script", "link", "iframe", "object", "embed", "form", "base", "img"} & set(page.tags)
    assert not page.values("src")
    assert not page.values("style")
    assert not [attribute for _, attribute, _ in page.attributes if attribute.startswith("on")]


def test_the_policy_allows_the_style_sheets_of_the_page_and_nothing_else() -> None:
    text = render(mixed_history())
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [value for value in Page(text).values("content") if value.startswith("default-src")]
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert ".one > summary" in style
    assert "url(" not in style


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    text = render(HISTORIES["hostile"]())
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert HOSTILE not in text
    text.encode()


def test_the_verdict_comes_before_everything_else(name: str) -> None:
    text = render(HISTORIES[name]())
    before, heading, _ = text[text.index("<body>") :].partition("</h1>")
    assert heading
    assert tables(HISTORIES[name]()).verdict in before
    assert not [later for later in ("<details", "<table", "<h2", "<svg", "<p") if later in before]


def test_every_series_has_a_picture_and_a_place_to_link_to(name: str) -> None:
    table = tables(HISTORIES[name]())
    ids = set(Page(render(HISTORIES[name]())).values("id"))
    for row in (*table.rows, *table.quiet, *table.ended):
        assert {row.anchor, f"{row.anchor}-chart-title"} <= ids


def test_most_alarming_first_and_the_rest_folded() -> None:
    text = render(mixed_history())
    states = re.findall(r'<details class="one h-(\w+)"( open)?>', text)
    assert states[0] == ("broken", " open")
    assert [opened for _, opened in states[1:]] == [""] * (len(states) - 1)
    assert text.index('<details class="fold">') < text.index('<details class="one h-short">')


def test_pictures_stay_inside_their_frame(name: str) -> None:
    for width, height, body in re.findall(
        r'<svg class="series[^"]*" viewBox="0 0 (\d+) (\d+)"(.*?)</svg>', render(HISTORIES[name]()), re.DOTALL
    ):
        xs = re.findall(rf' (?:x|x1|x2|cx)="({NUMBER})"', body) + re.findall(rf"[ML]({NUMBER}) ", body)
        ys = re.findall(rf' (?:y|y1|y2|cy)="({NUMBER})"', body) + re.findall(
            rf"[ML]{NUMBER} ({NUMBER})", body
        )
        assert xs
        assert all(0 <= float(x) <= float(width) for x in xs)
        assert all(0 <= float(y) <= float(height) for y in ys)


def test_a_picture_has_a_mark_for_each_change_break_gap_and_level() -> None:
    text = render(mixed_history())
    assert text.count('<path class="sign suspected worse"') == 1
    assert text.count('<path class="sign refuted worse"') == 1
    assert text.count('<line class="struck"') == 1
    assert text.count('<line class="break"') == 1
    assert text.count(">✕</text>") == 2
    one = render(history(regressed()))
    assert one.count('<line class="level"') == 2
    assert one.count('<circle class="point"') == 40


def test_the_line_is_not_drawn_across_a_gap() -> None:
    text = render(history(series("steady", [1.0, 2.0, None, 2.0, 1.0])))
    (path,) = re.findall(r'<path class="points" d="([^"]*)"', text)
    assert re.findall("[ML]", path) == ["M", "L", "M", "L"]


def test_a_long_history_is_thinned_and_keeps_its_extremes() -> None:
    values = [1.0] * 20_000
    values[12_345] = 2.0
    text = render(history(series("steady", values)))
    (path,) = re.findall(r'<path class="points" d="([^"]*)"', text)
    heights = [float(height) for height in re.findall(rf"[ML]{NUMBER} ({NUMBER})", path)]
    assert len(heights) <= 2100
    assert min(heights) < max(heights)
    assert "<circle" not in text
    assert len(text) < 200_000


def test_only_series_that_need_a_look_tell_of_each_point() -> None:
    values = [1.0, 2.0] * 20
    loud, quiet = (render(history(series(state, values))) for state in ("regressed", "steady"))
    assert (loud.count("<circle"), quiet.count("<circle")) == (40, 0)
    assert render(history(series("steady", values[:20]))).count("<circle") == 20
    assert render(history(series("regressed", values * 11))).count("<circle") == 0


def test_a_narrow_page_does_not_scroll_sideways(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium on this machine")
    file = tmp_path / "page.html"
    text = render(history(regressed(), steady()))
    file.write_text(text.replace("<details", "<details open"), encoding="utf-8")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 390, "height": 800})
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.locator("svg.series").count() == 2
        chromium.close()
    assert problems == []
