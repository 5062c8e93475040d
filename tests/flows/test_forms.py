from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from jsonschema import Draft202012Validator

from regress.errors import RecordError
from regress.flows.forms import record_form
from regress.record.codec import from_plain


@dataclass(frozen=True, kw_only=True)
class Inner:
    """Stands inside."""

    pair: tuple[str, int]
    """A name and a number."""


@dataclass(frozen=True, kw_only=True)
class Outer:
    """Holds ``all`` that
    records hold."""

    kind: Literal["a", "b"]
    """One of two."""

    share: float | None
    without_text: bool
    inner: tuple[Inner, ...] = ()
    """None,
    or some."""


RIGHT = {"kind": "a", "share": 0.5, "without_text": True, "inner": [{"pair": ["x", 1]}]}


def test_the_text_under_each_field_is_its_description() -> None:
    form = record_form(Outer)
    Draft202012Validator.check_schema(form)
    assert form["description"] == "Holds `all` that records hold."
    assert form["properties"]["inner"]["description"] == "None, or some."
    assert "description" not in form["properties"]["without_text"]
    assert form["$defs"]["test_forms.Inner"]["properties"]["pair"]["description"] == "A name and a number."


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({}, True),
        ({"share": None}, True),
        ({"share": 1}, True),
        ({"inner": []}, True),
        ({"inner": ...}, True),
        ({"kind": ...}, False),
        ({"kind": "c"}, False),
        ({"share": "0.5"}, False),
        ({"share": True}, False),
        ({"without_text": 1}, False),
        ({"without_text": None}, False),
        ({"inner": {}}, False),
        ({"inner": [{"pair": ["x"]}]}, False),
        ({"inner": [{"pair": ["x", 1, 2]}]}, False),
        ({"inner": [{"pair": [1, "x"]}]}, False),
        ({"inner": [{"pare": ["x", 1]}]}, False),
        ({"sahre": 0.5}, False),
    ],
    ids=str,
)
def test_the_form_allows_what_can_be_read_back_and_nothing_else(
    change: dict[str, object], right: bool
) -> None:
    value = {name: each for name, each in (RIGHT | change).items() if each is not ...}
    try:
        from_plain(Outer, value)
        read = True
    except RecordError:
        read = False
    valid = Draft202012Validator(record_form(Outer)).is_valid(value)
    assert (read, valid) == (right, right)


def test_a_type_that_no_record_has() -> None:
    @dataclass(frozen=True)
    class Wrong:
        """Holds a set."""

        values: frozenset[int]

    with pytest.raises(TypeError, match="frozenset"):
        record_form(Wrong)
