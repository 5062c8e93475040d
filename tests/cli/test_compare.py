"""`regress compare --budget` and `--plan`, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from regress.cli.main import run
from regress.flows.schema import json_schema
from tests.cli.conftest import Installed
from tests.flows.project import EQUAL, Fakes, git, stored_runs

COMPARE = ["compare", "HEAD~1", "HEAD", "--quiet"]


@pytest.fixture(autouse=True)
def fakes(install: Installed) -> Fakes:
    return install(Fakes(EQUAL))


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    return line.removeprefix("regress: ")


def test_a_number_is_of_blocks_and_anything_with_a_unit_a_time(project: Path, fakes: Fakes) -> None:
    for text, blocks, time_s in (("12", 12, None), ("30m", None, 1800.0), ("90s", None, 90.0)):
        assert run([*COMPARE, "--budget", text]) in (0, 3)
        means = fakes.undertakings[-1].means
        assert (means.most_blocks, means.budget_s) == (blocks, time_s)
    assert run(COMPARE) == 0
    assert (fakes.undertakings[-1].means.most_blocks, fakes.undertakings[-1].means.budget_s) == (None, None)


@pytest.mark.parametrize("text", ["0", "-1", "0s", "1.5", "12 blocks", "", "m", "³", "1d", "\x1b[2J"])
def test_a_budget_of_nothing_and_nonsense_are_refused(
    project: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert refusal([*COMPARE, f"--budget={text}"], capsys) == (
        "argument --budget: expected a number of blocks, at least 1, or a time such as 90s, 30m or 2h; "
        f"got {text!r} (`regress compare --help` says more)"
    )
    assert not (project / ".regress").exists()


@pytest.mark.parametrize("text", ["3", "30m"])
def test_what_is_not_measured_has_no_budget(
    project: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert run(COMPARE) == 0
    base, head = (each.manifest.run for each in stored_runs(project))
    assert refusal(["compare", base, head, "--quiet", "--budget", text], capsys).startswith(
        "two stored runs are not measured again; omit the options of measuring"
    )
    assert refusal(["compare", base, "HEAD", "--stored", "--quiet", "--budget", text], capsys) == (
        "--budget is for sides that are measured together; omit it, or --stored"
    )


def test_a_plan_says_what_can_be_seen_and_ends_well(
    project: Path, fakes: Fakes, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*COMPARE, "--plan"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(
        "plan: at most 6 blocks, which take an unknown time: never measured here\n"
    )
    assert captured.out.count("noise unknown: 5 blocks at least") == 2
    assert captured.err == ""
    assert fakes.launchers == []
    assert not (project / ".regress").exists()
    assert git(project, "status", "--porcelain") == ""


def test_a_plan_takes_the_budget(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMPARE, "--plan", "--budget", "12"]) == 0
    assert capsys.readouterr().out.startswith("plan: at most 12 blocks")


def test_a_plan_as_json_has_the_published_form(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    form = Draft202012Validator(json_schema("foresight"))
    assert run([*COMPARE, "--plan", "--json", "-"]) == 0
    unknown = json.loads(capsys.readouterr().out)
    form.validate(unknown)
    assert unknown["schema"] == "regress.foresight/1"
    assert run(COMPARE) == 0
    assert run([*COMPARE, "--plan", "--json", "plan.json"]) == 0
    assert "plan: at most 6 blocks, about " in capsys.readouterr().out
    known = json.loads((project / "plan.json").read_text())
    form.validate(known)
    assert known["outlooks"][0]["prospects"][0]["blocks"] == 6
    assert not form.is_valid(known | {"lokos": []})


@pytest.mark.parametrize("option", ["--html", "--markdown"])
def test_a_plan_has_no_page(project: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    line = refusal([*COMPARE, "--plan", option, "x"], capsys)
    assert line == "--plan has no page; omit --html and --markdown, or take --json"


def test_a_plan_of_what_is_stored_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMPARE) == 0
    base, head = (each.manifest.run for each in stored_runs(project))
    line = "--plan is for sides that are measured together; omit it, or add --measure to measure again"
    assert refusal(["compare", base, head, "--plan", "--quiet"], capsys) == line
    assert refusal(["compare", base, "HEAD", "--stored", "--plan", "--quiet"], capsys) == line
    assert run(["compare", base, head, "--plan", "--measure", "--quiet"]) == 0


def test_a_plan_of_an_unknown_side_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(["compare", "mian", "HEAD", "--plan", "--quiet"], capsys).startswith("'mian' is no git")
