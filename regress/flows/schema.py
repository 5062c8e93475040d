"""`regress schema`: what our files look like, for editors and for programs that read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from regress.flows.forms import DIALECT, Schema, in_envelope, plain_text, record_form
from regress.record import baseline, calibration, comparison, diagnosis, foresight, history
from regress.record.run import Launch, Manifest
from regress.store.runs import LAUNCH, MANIFEST

if TYPE_CHECKING:
    from pydantic import BaseModel


def json_schema(name: str) -> Schema:
    """The JSON Schema (draft 2020-12) of a kind of file.

    Args:
        name: A key of `SCHEMAS`.
    """
    return SCHEMAS[name]()


def _suite() -> Schema:
    from regress.spec.suite import Suite

    return _model_form(Suite, "regress suite")


def _project() -> Schema:
    from regress.spec.project import Project

    return _model_form(Project, "regress project")


def _answer(schema: str, kind: type) -> Schema:
    """What ``--json`` writes: the record itself, every field of it, with the name of its form inside."""
    form = record_form(kind)
    for record in (form, *form["$defs"].values()):
        record["required"] = list(record["properties"])
    text = form["properties"]["schema"]["description"]
    form["properties"]["schema"] = {"const": schema, "description": text}
    return form | {"title": schema}


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "suite": _suite,
    "project": _project,
    "comparison": lambda: _answer(comparison.SCHEMA, comparison.SuiteComparison),
    "foresight": lambda: _answer(foresight.SCHEMA, foresight.Foresight),
    "history": lambda: _answer(history.SCHEMA, history.History),
    "calibration": lambda: _answer(calibration.SCHEMA, calibration.Calibration),
    "diagnosis": lambda: _answer(diagnosis.SCHEMA, diagnosis.Diagnosis),
    "launch": lambda: in_envelope(LAUNCH, record_form(Launch)),
    "manifest": lambda: in_envelope(MANIFEST, record_form(Manifest)),
    "baseline": lambda: in_envelope(baseline.SCHEMA, record_form(baseline.Baseline)),
}
"""What makes each schema, by its name."""


def _model_form(model: type[BaseModel], title: str) -> Schema:
    form = model.model_json_schema()
    for part in (form, *form.get("$defs", {}).values()):
        for described in (part, *part.get("properties", {}).values()):
            described.pop("title", None)  # it repeats the name
            if "description" in described:
                described["description"] = plain_text(described["description"])
    return {"$schema": DIALECT, "title": title, **form}
