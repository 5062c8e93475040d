"""Any record survives its file; nothing else is taken for one."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regress.errors import RecordError
from regress.record.codec import decode, encode, from_plain, plain
from regress.record.comparison import SuiteComparison
from regress.record.outcome import Outcome
from regress.record.run import Launch, Manifest
from regress.record.sample import Sample
from regress.record.series import RankSeries
from regress.spec.plan import Plan
from tests.record.strategies import records

SAMPLE = Sample(metric="step_s", value=0.5, steps=(0.4, 0.5, 0.6), rank=None)


@pytest.mark.parametrize("kind", [Launch, Manifest, RankSeries, Plan, SuiteComparison])
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_any_record_survives_its_file(kind: type[Any], data: st.DataObject) -> None:
    record = data.draw(records(kind))
    content = encode("regress.test/1", record)
    assert decode("regress.test/1", kind, content) == record
    assert decode("regress.test/1", kind, content.decode("ascii")) == record
    assert content.count(b"\n") == 1
    assert content.endswith(b"\n")


@settings(max_examples=200, deadline=None)
@given(place=st.integers(min_value=0), byte=st.integers(0, 255))
def test_any_changed_byte_is_noticed(place: int, byte: int) -> None:
    content = bytearray(encode("regress.test/1", SAMPLE))
    place %= len(content) - 1  # a changed newline at the end changes nothing
    changed = content[place] != byte
    content[place] = byte
    if changed and json_value(bytes(content)) != json_value(encode("regress.test/1", SAMPLE)):
        with pytest.raises(RecordError):
            decode("regress.test/1", Sample, bytes(content))


def json_value(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None


def test_a_file_that_was_cut_is_noticed() -> None:
    content = encode("regress.test/1", SAMPLE)
    for end in range(len(content) - 1):
        with pytest.raises(RecordError):
            decode("regress.test/1", Sample, content[:end])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_not_written(value: float) -> None:
    line = "^a number is not finite; what is missing is written as null$"
    with pytest.raises(RecordError, match=line):
        encode("regress.test/1", dataclasses.replace(SAMPLE, value=value))


def document(body: object, schema: str = "regress.test/1") -> str:
    content: dict[str, object] = json.loads(encode(schema, body))
    return json.dumps(content)


BODY = {"metric": "step_s", "value": 0.5, "steps": [0.4], "rank": None}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "not a record: it lacks schema, sha256 or body"),
        ("{}", "not a record: it lacks schema, sha256 or body"),
        ("[" * 100_000, "not a record: nested too deeply"),
        (
            '{"schema": "regress.test/1", "sha256": "0", "body": {"value": NaN}}',
            "a number is not finite; what is missing is written as null",
        ),
        (
            '{"schema": "regress.test/1", "sha256": "0", "body": {}}',
            "damaged: its checksum does not match its content",
        ),
        (document(BODY, "regress.test/2"), "it is a 'regress.test/2', and 'regress.test/1' was expected"),
        (document([]), "record: [] is not an object"),
        (document({**BODY, "later": 1}), "record: unknown field 'later'"),
        (document({"value": 0.5}), "record: field 'metric' is missing"),
        (document({**BODY, "metric": 3}), "record.metric: 3 is not of type str"),
        (document({**BODY, "value": "fast"}), "record.value: 'fast' is not of type float"),
        (document({**BODY, "value": True}), "record.value: True is not of type float"),
        (document({**BODY, "rank": 1.5}), "record.rank: 1.5 is not of type int"),
        (document({**BODY, "rank": False}), "record.rank: False is not of type int"),
        (document({**BODY, "steps": 0.4}), "record.steps: 0.4 is not a list"),
        (document({**BODY, "steps": [0.4, None]}), "record.steps[1]: None is not of type float"),
    ],
)
def test_what_is_no_record_is_refused(text: str, line: str) -> None:
    with pytest.raises(RecordError) as refused:
        decode("regress.test/1", Sample, text)
    assert str(refused.value) == line


def test_unions_and_words_are_checked() -> None:
    assert [type(from_plain(str | int | float | bool, value)) for value in ("x", 1, 1.0, True)] == [
        str,
        int,
        float,
        bool,
    ]
    with pytest.raises(RecordError, match=r"^record: \[1\] is none of str, int, float, bool$"):
        from_plain(str | int | float | bool, [1])
    with pytest.raises(
        RecordError, match=r"^record.kind: 'tired' is none of ok, raised, exited, died, hung, "
    ):
        from_plain(Outcome, {"kind": "tired"})
    with pytest.raises(RecordError, match=r"^record: 1 values where 2 belong$"):
        from_plain(tuple[str, str], ["a"])


def test_a_huge_wrong_value_makes_no_huge_message() -> None:
    for wrong in (
        {"kind": "x" * 10_000},
        {"x" * 10_000: 1, "kind": "ok"},
        {"kind": "ok", "rank": "x" * 10_000},
    ):
        with pytest.raises(RecordError) as refused:
            from_plain(Outcome, wrong)
        assert len(str(refused.value)) < 250


def test_an_exact_count_stays_exact() -> None:
    count = 2**62 + 1
    sample = dataclasses.replace(SAMPLE, value=count)
    assert decode("regress.test/1", Sample, encode("regress.test/1", sample)).value == count


def test_plain_goes_all_the_way_down() -> None:
    assert plain(SAMPLE) == {"metric": "step_s", "value": 0.5, "steps": [0.4, 0.5, 0.6], "rank": None}
