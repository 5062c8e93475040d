"""`regress doctor`, as a user types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from regress.cli.main import run
from regress.flows.doctor import diagnose
from regress.flows.schema import json_schema
from tests.flows.project import git
from tests.flows.test_doctor import Machine, machine, no_torch

__all__ = ["machine"]

Typed = Callable[..., int]


@pytest.fixture
def typed(project: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Types the command on a machine that exists as files alone."""

    def doctor(*arguments: str) -> int:
        monkeypatch.setattr("regress.flows.doctor.diagnose", lambda folder: diagnose(folder, machine.sources))
        return run(["doctor", *arguments])

    return doctor


def test_the_verdict_stands_first(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "this machine can measure 4 ranks on CPU with gloo; nothing known will disturb it"
    assert lines[2] == "fine"


def test_3_when_it_cannot_measure(typed: Typed, machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.answer = no_torch
    assert typed() == 3
    captured = capsys.readouterr()
    assert captured.out.startswith("this machine cannot measure anything: 1 thing to put right\n")
    assert captured.err == ""


@pytest.mark.parametrize("can_measure", [True, False])
def test_json_has_the_published_form(
    typed: Typed, machine: Machine, capsys: pytest.CaptureFixture[str], can_measure: bool
) -> None:
    if not can_measure:
        machine.answer = no_torch
    assert typed("--json", "-") == (0 if can_measure else 3)
    found = json.loads(capsys.readouterr().out)
    Draft202012Validator(json_schema("diagnosis")).validate(found)
    assert (found["schema"], found["can_measure"]) == ("regress.diagnosis/1", can_measure)


def test_a_file_gets_it_too(typed: Typed, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("--json", str(tmp_path / "x.json")) == 0
    assert json.loads((tmp_path / "x.json").read_text())["exit_status"] == 0
    assert capsys.readouterr().out.startswith("this machine can measure ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["now"], "unrecognized arguments: now (`regress doctor --help` says more)"),
        (["--fix"], "unrecognized arguments: --fix (`regress doctor --help` says more)"),
        (["--json"], "argument --json: expected one argument (`regress doctor --help` says more)"),
        (["--json", "configs"], "configs is a folder; name a file"),
        (["--json", "nowhere/x"], "nowhere/x cannot be written: there is no writable folder nowhere"),
    ],
    ids=str,
)
def test_refusals(
    project: Path, typed: Typed, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    assert typed(*arguments) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"regress: {line}\n")
    assert git(project, "status", "--porcelain", "--ignored") == ""


@pytest.mark.torch
def test_this_machine_has_torch(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    Draft202012Validator(json_schema("diagnosis")).validate(found)
    assert found["interpreters"][0]["ranks"] >= 1
    assert git(project, "status", "--porcelain", "--ignored") == ""
