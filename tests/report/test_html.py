from __future__ import annotations

import base64
import hashlib
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from regress.report.html import render
from regress.report.rows import anchor
from regress.report.tables import tables
from tests.report.factories import HOSTILE, SUITES, broken_suite, mixed_suite, regressed_suite

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """A page taken apart; what is not nested properly fails."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self, name: str) -> list[str]:
        return [value for _, attribute, value in self.attributes if attribute == name]


@pytest.fixture(params=SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_the_page_is_well_formed_and_its_ids_are_unique(suite: str) -> None:
    page = Page(render(SUITES[suite]()))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    targets = [href[1:] for href in page.values("href") if href.startswith("#")]
    assert set(targets) <= set(ids)
    labels = [name for value in page.values("aria-labelledby") for name in value.split()]
    assert set(labels) <= set(ids)


def test_the_page_asks_for_nothing_from_outside(suite: str) -> None:
    page = Page(render(SUITES[suite]()))
    assert not {"script", "link", "iframe", "object", "embed", "form", "base", "img"} & set(page.tags)
    assert not page.values("src")
    assert not page.values("style")
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert all(href.startswith("#") for href in page.values("href"))


def test_the_policy_allows_the_style_sheet_of_the_page_and_nothing_else() -> None:
    text = render(regressed_suite())
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [v for v in Page(text).values("content") if v.startswith("default-src")]
    assert policy == (f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
    assert "url(" not in style
    assert "@import" not in style


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    text = render(SUITES["hostile"]())
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert HOSTILE not in text
    text.encode()


def test_the_verdict_comes_before_everything_else(suite: str) -> None:
    text = render(SUITES[suite]())
    body = text[text.index("<body>") :]
    before, heading, _ = body.partition("</h1>")
    assert heading
    assert re.search(rf"<h1><span [^>]*><span [^>]*>.</span>{tables(SUITES[suite]()).verdict}</span>", before)
    assert not [later for later in ("<details", "<table", "<h2", "<svg", "<p") if later in before]


def test_every_comparison_has_a_picture_and_a_place_to_link_to(suite: str) -> None:
    ids = set(Page(render(SUITES[suite]())).values("id"))
    for c in SUITES[suite]().comparisons:
        name = anchor(c.benchmark, c.metric)
        assert name in ids
        assert f"{name}-strip-title" in ids
        if c.role == "gate":
            assert f"{name}-launches-title" in ids
            assert (f"{name}-change-title" in ids) == (c.change is not None)


def test_only_the_first_alarm_is_open_and_the_unchanged_are_folded() -> None:
    text = render(mixed_suite())
    assert text.count(" open>") == 1
    assert text.index('<details class="fold">') < text.index('<details class="gate v-unchanged">')


def test_a_log_can_be_opened_where_its_place_is_certain() -> None:
    suite = broken_suite()
    assert "file:" not in render(suite)
    object.__setattr__(suite.head, "folder", "/srv/runs/a b")
    assert 'href="file:///srv/runs/a%20b/logs/block2/rank0.log"' in render(suite)
    object.__setattr__(suite.head, "folder", "/srv/../etc")
    assert "file:" not in render(suite)


def test_the_page_opens_from_disk_without_a_complaint(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium on this machine")
    file = tmp_path / "report.html"
    file.write_text(render(mixed_suite()), encoding="utf-8")
    target = [row.anchor for row in tables(mixed_suite()).unchanged][-1]
    complaints: list[str] = []
    requests: list[str] = []
    flags = [
        "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-quic",
    ]  # fmt: skip
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=browser, args=flags)
        page = chromium.new_page(viewport={"width": 390, "height": 800})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{file.as_uri()}#{target}")
        styled = page.evaluate("getComputedStyle(document.querySelector('.gate > summary')).display")
        width = page.evaluate("document.documentElement.scrollWidth")
        opened = page.evaluate(
            "[...document.querySelectorAll('details:has(:target)')].map(fold => fold.open)"
        )
        chromium.close()
    assert complaints == []
    assert [url.partition("#")[0] for url in requests] == [file.as_uri()]
    assert styled == "grid", "the policy let the style sheet in"
    assert width == 390, "nothing is wider than a phone"
    assert opened == [True, True], "a link to a folded comparison opens it"
