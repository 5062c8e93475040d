"""The schemas describe the files that are really written and read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from regress.flows.compare import CompareRequest
from regress.flows.foresee import foresee
from regress.flows.history import HistoryRequest, history
from regress.flows.progress import Silence
from regress.flows.schema import SCHEMAS, json_schema
from regress.flows.workplace import Workplace
from regress.launch.fake import failing
from regress.record.baseline import bless, encode_baseline
from regress.record.outcome import Outcome
from regress.report import data
from regress.spec.source import read_source
from regress.store.runs import list_runs
from tests.flows.project import EQUAL, Fakes, measured, stored_runs
from tests.flows.test_calibrate import calibrated
from tests.installation import ROOT

Document = dict[str, Any]


def right(name: str, document: object) -> bool:
    return Draft202012Validator(json_schema(name)).is_valid(document)


def yaml(path: Path) -> Document:
    document: Document = read_source(path).data
    return document


@pytest.fixture
def documents(project: Path) -> dict[str, Document]:
    """One real document of each kind that a measurement leaves."""
    crash = Outcome(kind="died", rank=1, status=-9, message="boom")
    fakes = Fakes(failing(EQUAL, crash, sides=["head"], name="fsdp", blocks=[3]))
    answer = measured(project, fakes)
    again = Workplace.around(project), CompareRequest(base="HEAD~1", head="HEAD"), Silence()
    base = stored_runs(project)[0]
    assert base.manifest.platform is not None
    blessed = bless(base, base.manifest.platform, blessed="2026-01-01T00:00:00+00:00")
    folder = list_runs(project / ".regress" / "store")[0]
    return {
        "comparison": json.loads(data.render(answer)),
        "launch": json.loads((folder / "launch-3-w2-0.json").read_bytes()),
        "manifest": json.loads((folder / "plan.json").read_bytes()),
        "baseline": json.loads(encode_baseline(blessed)),
        "calibration": json.loads(data.render(calibrated(project))),
        "foresight": json.loads(data.render(foresee(*again, fakes.machinery))),
        "history": json.loads(data.render(history(Workplace.around(project), HistoryRequest(), Silence()))),
        "suite": yaml(project / "configs" / "commit.yaml"),
    }


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_a_schema_that_names_its_dialect_and_its_form(name: str) -> None:
    schema = json_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"].startswith("regress")


@pytest.mark.parametrize(
    "name", ["suite", "project", "comparison", "foresight", "history", "calibration", "launch", "manifest"]
)
def test_fields_are_described(name: str) -> None:
    schema = json_schema(name)
    parts = [schema, schema["properties"].get("body", {}), *schema["$defs"].values()]
    fields = [(key, field) for part in parts for key, field in part.get("properties", {}).items()]
    assert [
        key for key, field in fields if not field.keys() & {"description", "$ref"} and key != "body"
    ] == []
    assert not any("``" in text or "\n" in text for text in texts(schema))


def texts(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (text for key, text in schema.items() if key == "description" and isinstance(text, str))
        for each in schema.values():
            yield from texts(each)


@pytest.mark.parametrize("file", sorted(ROOT.glob("configs/*.yaml")), ids=lambda path: path.stem)
def test_what_we_ship_is_right(file: Path) -> None:
    name = "project" if file.stem == "project" else "suite"
    assert right(name, yaml(file))
    assert not right(name, yaml(file) | {"benchmark": []})


def test_what_is_stored_and_answered_is_right(documents: dict[str, Document]) -> None:
    for name, document in documents.items():
        Draft202012Validator(json_schema(name)).validate(document)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("comparison", ("verdcit",), "unchanged"),
        ("comparison", ("verdict",), "slower"),
        ("comparison", ("schema",), "regress.comparison/2"),
        ("comparison", ("comparisons", 0, "p"), "0.01"),
        ("comparison", ("comparisons", 0, "base", "launches"), None),
        ("comparison", ("notes",), ...),
        ("calibration", ("benchmarks", 0, "noise", "df"), None),
        ("calibration", ("mode",), "together"),
        ("foresight", ("outlooks", 0, "fewest"), "5"),
        ("foresight", ("outlooks", 0, "prospects", 0, "claims"), ...),
        ("launch", ("bdoy",), {}),
        ("launch", ("sha256",), "0"),
        ("launch", ("schema",), "regress.manifest/1"),
        ("launch", ("body", "blcok"), 1),
        ("launch", ("body", "block"), "1"),
        ("launch", ("body", "block"), ...),
        ("launch", ("body", "measurements", 0, "outcome", "kind"), "fine"),
        ("manifest", ("body", "sutie"), "commit"),
        ("manifest", ("body", "platform", "cores"), 1.5),
        ("baseline", ("body", "benchmarks", 0, "metrics", 0, "values"), ["x"]),
        ("suite", ("benchmarks", 0, "wrold_size"), [2]),
        ("suite", ("benchmarks", 0, "world_size"), 2),
        ("suite", ("benchmarks",), []),
        ("suite", ("blocks", "count"), 0),
        ("suite", ("policy", "min_change"), "5 %"),
    ],
    ids=str,
)
def test_a_misspelt_key_and_a_wrong_value_are_not(
    documents: dict[str, Document], name: str, path: tuple[str | int, ...], value: object
) -> None:
    document = documents[name]
    assert right(name, document)
    place: Any = document
    for part in path[:-1]:
        place = place[part]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    assert not right(name, document)


@pytest.mark.parametrize(
    "wrong", [{"stroe": "x"}, {"store": 1}, {"environments": {"a": {"pyhton": "x"}}}, {"python_path": "src"}]
)
def test_a_wrong_project_file_is_not(project: Path, wrong: Document) -> None:
    assert right("project", {"environments": {"a": {"python": "x", "variables": {"A": "1"}}}})
    assert not right("project", wrong)
    defaults = Workplace.around(project).project.project.model_dump()
    assert right("project", defaults)


def test_every_record_of_an_answer_lists_all_of_its_fields() -> None:
    """`--json` leaves none out, so that programs need not ask."""
    schema = json_schema("comparison")
    for part in (schema, *schema["$defs"].values()):
        assert part["required"] == list(part["properties"])
