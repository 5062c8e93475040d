"""`regress schema`, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from regress.cli.main import run
from regress.cli.schema import KINDS
from regress.flows.schema import SCHEMAS, json_schema


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_named_is_what_there_is() -> None:
    assert list(KINDS) == list(SCHEMAS)


def test_without_a_name_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(KINDS)


def test_with_a_name_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "suite"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema("suite")


def test_all_of_them_are_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # those that are there are replaced
        assert run(["schema", "--write", ".regress/schemas"]) == 0
    assert sorted(path.name for path in (folder / ".regress" / "schemas").iterdir()) == sorted(
        f"{name}.schema.json" for name in KINDS
    )
    assert capsys.readouterr().out.splitlines()[0] == ".regress/schemas/suite.schema.json"
    for name in KINDS:
        schema = json.loads((folder / ".regress" / "schemas" / f"{name}.schema.json").read_text())
        Draft202012Validator.check_schema(schema)
        assert schema == json_schema(name)


def test_one_of_them_is_written(folder: Path) -> None:
    assert run(["schema", "launch", "--write", "."]) == 0
    assert [path.name for path in folder.iterdir()] == ["launch.schema.json"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["siute"], "unknown schema 'siute'; did you mean 'suite'?"),
        (["x"], f"unknown schema 'x'; known: {', '.join(sorted(KINDS))}"),
        (["\x1b[2J"], f"unknown schema '\\x1b[2J'; known: {', '.join(sorted(KINDS))}"),
        (["siute", "--write", "."], "unknown schema 'siute'; did you mean 'suite'?"),
        (["siute", "--write", "nowhere"], "unknown schema 'siute'; did you mean 'suite'?"),
        (["--write", "file"], "'file' cannot be made: File exists; name another with --write"),
        (["--write", "file/x"], "'file/x' cannot be made: Not a directory; name another with --write"),
        (["--write"], "argument --write: expected one argument (`regress schema --help` says more)"),
        (["suite", "project"], "unrecognized arguments: project (`regress schema --help` says more)"),
    ],
    ids=str,
)
def test_refusals(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str) -> None:
    (folder / "file").write_text("")
    assert run(["schema", *arguments]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"regress: {line}\n")
    assert [path.name for path in folder.iterdir()] == ["file"]
