"""The answer as Markdown: as agreed, never too long, and whatever comes from outside stays text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from regress.record.comparison import Difference, Failure, Side, SuiteComparison
from regress.record.outcome import Outcome
from regress.report.markdown import MOST_CHARACTERS, code, prose, render
from regress.report.tables import tables
from regress.report.words import clean
from tests.report.factories import (
    SUITES,
    answer,
    benchmark,
    exact,
    mixed_suite,
    regressed_suite,
    timed,
    whole,
)

OURS = {"<details>", "</details>", "<br>"}
"""All the HTML that we write ourselves, but for the summary."""

DANGER = re.compile(r"[@#$`*_~<>\[\]\\&|]|://|www\.|:\w+:|\b[0-9a-f]{7,}\b|\b[A-Za-z]+-\d")
"""What GitHub might act on, even in text that Markdown has escaped."""

ATTACKS = (
    "@somebody", "org/repo#12", "#123", "GH-12", "[x](javascript:alert(1))", "![x](https://x.org/x.png)",
    "<script>alert(1)</script>", "<!-- -->", "</details>", "`", "``", "`a", "a`", "|", "\\|", "\\\\|", "\\",
    "| a | b |", "---", "# x", "- x", "1. x", "> x", "```", "~~~", "$x$", "$`x`$", ":tada:", "www.evil.org",
    "https://evil.org", "a@b.org", "&lt;b&gt;", "&#64;x", "**x**", "__x__", "~x~", "[^1]", "[x]: /url",
    "\n\n", "\r", "\x1b[31m", "\u202e", "\u200b", "\ud800", "deadbeef", "4f1c0e9a7b2d", "/close",
    "::error::x", "\t", "\x00",
    "{{x}}", "word", "20 %", "a, b: c", "x" * 400,
)  # fmt: skip

HOSTILE = st.lists(st.sampled_from(ATTACKS) | st.text(max_size=6), max_size=6).map(" ".join) | st.lists(
    st.sampled_from(ATTACKS), max_size=4
).map("".join)


def parsed(markdown: str) -> Iterator[Token]:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for token in parser.parse(markdown):
        yield token
        yield from token.children or ()


def suite_with(text: str) -> SuiteComparison:
    """Every field from outside holds the text."""
    side = Side(name=text, commit=text, subject=text, run=text, folder=text)
    return answer(
        base=side,
        head=side,
        suite=text,
        platform=text,
        verdict="regressed",
        exit_status=1,
        comparisons=(
            timed(f"d{text}", "step_s", 0.03, 0.2, verdict="regressed", reason=text, notes=(text,)),
            exact(f"d{text}", "peak_allocated_bytes", 0, 5, unit=text),
            timed(f"e{text}", "step_s", 0.03, 0.0, notes=(text,)),
            timed(text, "cpu_s", 0.03, 0.0),
            replace(timed(text, "cpu_s", 0.03, 0.0), metric=text),
        ),
        outcomes=(
            Failure(
                side="head",
                benchmark=text,
                block=0,
                alone=True,
                outcome=Outcome(kind="raised", rank=1, message=text, log=text),
            ),
        ),
        platform_diff=(Difference(field=text, base=text, head=""),),
        environment_diff=(Difference(field=text, base="", head=text),),
        started=text,
        command=text,
        notes=(text,),
    )


@pytest.mark.parametrize("suite", SUITES)
def test_the_markdown_reads_as_agreed(suite: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{suite}.markdown.md", render(SUITES[suite]()))


@settings(max_examples=100, deadline=None)
@given(text=HOSTILE)
def test_what_comes_from_outside_stays_text(text: str) -> None:
    markdown = render(suite_with(text))
    shape = [
        token.type for token in parsed(markdown) if token.type not in ("text", "code_inline", "softbreak")
    ]
    harmless = clean(text)
    expected = [token.type for token in parsed(render(suite_with("word" if harmless else " " * bool(text))))]
    assert set(shape) == set(expected) - {"text", "code_inline", "softbreak"}
    for kind in ("tr_open", "td_open", "list_item_open"):
        assert shape.count(kind) == expected.count(kind)
    for token in parsed(markdown):
        if token.type == "text":
            assert not DANGER.search(token.content), token.content
        elif token.type in ("html_inline", "html_block"):
            left = re.sub(r"<summary>[^<>]*</summary>", "", token.content).split()
            assert set(left) <= OURS


@settings(max_examples=100, deadline=None)
@given(text=HOSTILE)
def test_code_shows_the_text_itself(text: str) -> None:
    (inline,) = (t for t in parsed(f"x {code(text)}") if t.type == "inline")
    shown = [child.content for child in inline.children or () if child.type == "code_inline"]
    assert shown == ([clean(text, limit=2000)] if clean(text) else [])


@settings(max_examples=100, deadline=None)
@given(text=HOSTILE)
@example(text="# x ::error::x")
def test_prose_loses_no_word(text: str) -> None:
    (inline,) = (t for t in parsed(f"x {prose(text)}") if t.type == "inline")
    shown = "".join(child.content for child in inline.children or ())
    assert shown.split()[1:] == clean(text, limit=2000).split()


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("", ""),
        ("nothing regressed; 1.5 % or 1,536", "nothing regressed; 1.5 % or 1,536"),
        ("worst ddp[world=2]: rank 3", "worst `ddp[world=2]`: rank 3"),
        ("by @you, now", "by `@you`, now"),
        ("fixes #1", "fixes `#1`"),
        ("see deadbeef", "see `deadbeef`"),
        ("a ``x", "a ``` ``x ```"),
    ],
)
def test_only_risky_words_stand_as_code(text: str, markdown: str) -> None:
    assert prose(text) == markdown


def cells(markdown: str) -> list[str]:
    return [t.content for t in parsed(markdown) if t.type == "code_inline"]


def test_a_pipe_stays_in_its_cell() -> None:
    answered = answer(environment_diff=(Difference(field="a|b", base="\\|", head="|"),))
    assert "| software | `a\\|b` | `\\\\\\|` | `\\|` |" in render(answered)
    assert "a|b" in cells(render(answered))


def test_rows_stand_in_the_order_of_the_tables_and_nothing_is_lost() -> None:
    table, markdown = tables(mixed_suite()), render(mixed_suite())
    places = [markdown.index(f"| {row.mark} {row.verdict} | `{row.benchmark}` |") for row in table.rows]
    assert places == sorted(places)
    assert markdown.startswith(f"### ▲ {table.verdict}: ")
    assert markdown.count("\n| `") == len(table.unchanged)
    assert "left out" not in markdown


def test_what_has_no_room_is_counted() -> None:
    many = tuple(c for i in range(400) for c in benchmark(f"ddp[world={i}]", 0.04, 0.0))
    failed = tuple(whole(f"fsdp[world={i}]", "broken", "head died") for i in range(2000))
    markdown = render(answer(verdict="broken", exit_status=1, comparisons=(*many, *failed)))
    assert len(markdown) <= MOST_CHARACTERS
    left = re.findall(r"^(\d+) of (\d+) left out: there is no room for more$", markdown, re.MULTILINE)
    assert [total for _, total in left] == ["2000", "2000"]
    kept = len(re.findall(r"^\| ✕ broken \| ", markdown, re.MULTILINE))
    assert kept + int(left[0][0]) == 2000
    assert kept > 100


@pytest.mark.parametrize("text", ["`" * 400, "`|" * 200, "\\|" * 200, "@x " * 200, "\U0001f600" * 400])
def test_never_too_long(text: str) -> None:
    suite = suite_with(text)
    many = replace(
        suite,
        comparisons=tuple(
            timed(f"{i}{text}", "step_s", 0.03, 0.2, verdict="regressed", reason=text, notes=(text,) * 50)
            for i in range(100)
        ),
        outcomes=suite.outcomes * 500,
        environment_diff=suite.environment_diff * 500,
        notes=(text,) * 500,
    )
    assert len(render(many)) <= MOST_CHARACTERS


def test_the_command_can_be_copied() -> None:
    (block,) = (t for t in parsed(render(regressed_suite())) if t.type == "fence")
    assert block.content.strip() == regressed_suite().command
