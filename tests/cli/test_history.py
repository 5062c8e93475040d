"""`regress history`, as a user types it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from regress.cli.history import moment
from regress.cli.main import INTERRUPTED, run
from regress.flows.history import history
from regress.flows.schema import json_schema
from regress.launch.fake import Pace, paced
from tests.flows.kept import commits, keep, keep_all
from tests.flows.project import DDP, Fakes

STEPPED = [0.010] * 20 + [0.0105] * 20
SLOWER = paced({"base": Pace(), "head": Pace(step_s=0.012)})


@pytest.fixture
def stepped(project: Path) -> list[str]:
    """A project with forty commits and a step at the twentieth, of which the subjects are hostile."""
    order = commits(project, 38)
    keep_all(project, order, STEPPED, subject="\x1b[2J<script>alert(1)</script>")
    return order


def test_the_verdict_is_told_and_a_page_and_a_file_are_written(
    project: Path, stepped: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["history", "--json", "h.json", "--html", "h.html"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("▲ regressed: 1 of 1 series got worse and still are; first ddp[world=2]")
    commits_ = f"{stepped[19][:12]}..{stepped[20][:12]}"
    assert commits_ in captured.out
    assert "\x1b" not in captured.out
    assert captured.err.splitlines() == [
        "regress: reading the stored runs",
        "regress: looking for changes",
    ]
    answer = json.loads((project / "h.json").read_text())
    assert Draft202012Validator(json_schema("history")).is_valid(answer)
    assert answer["schema"] == "regress.history/1"
    (series,) = answer["series"]
    assert series["changes"][0]["commits"] == commits_
    page = (project / "h.html").read_text()
    assert page.startswith("<!doctype html>")
    assert commits_ in page
    assert "<script" not in page


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_file_can_be_standard_output_and_is_all_of_it(
    stepped: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["history", "--quiet", option, "-"]) == 0
    captured = capsys.readouterr()
    assert captured.out[0] == ("{" if option == "--json" else "<")
    assert "▲ regressed:" not in captured.out
    assert captured.err == ""


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 0),
        (["--fail-on", "regressed"], 1),
        (["--fail-on", "drifted,regressed"], 1),
        (["--fail-on", "drifted"], 0),
        (["ddp", "step_s", "--suite", "commit", "--fail-on", "regressed"], 1),
        (["--since", "2026-01-25", "--fail-on", "regressed"], 0),
        (["--since", "2126-01-25"], 3),
    ],
    ids=str,
)
def test_the_exit_status(stepped: list[str], arguments: list[str], status: int) -> None:
    assert run(["history", "--quiet", *arguments]) == status


def test_nothing_measured_is_no_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history", "--quiet", "--json", "h.json"]) == 3
    assert capsys.readouterr().out.startswith("○ unmeasured: nothing was measured")
    assert json.loads((project / "h.json").read_text())["exit_status"] == 3


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["dpd"], "no stored run has a benchmark 'dpd'; did you mean 'ddp'?"),
        ([DDP, "step"], "unknown metric 'step'; did you mean 'step_s'?"),
        (["--suite", "comit"], "no run of suite 'comit' is stored; did you mean 'commit'?"),
        (["--platform", "x"], "no stored run is of platform 'x'; known: "),
        (["--since", "soon"], "expected a time such as 2026-01-31, 2026-01-31T12:00 or 30d; got 'soon'"),
        (["--since", "9999999d"], "expected a time such as"),
        (["--fail-on", "slow"], "unknown state 'slow'; allowed: regressed, drifted"),
        (["--anchor", "nowhere"], "unknown revision 'nowhere'"),
        (["--seed", "1"], "nothing is measured without --confirm; omit the options of measuring, or add it"),
        (["--json", "nowhere/h.json"], "cannot be written: there is no writable folder"),
        (["--json", "-", "--html", "-"], "only one of the files can be standard output"),
    ],
    ids=str,
)
def test_a_wrong_request_is_one_line_and_writes_nothing(
    project: Path, stepped: list[str], arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(project.iterdir())
    options = ["--html", "h.html"] if "--html" not in arguments else []
    assert run(["history", "--quiet", *arguments, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (told,) = captured.err.splitlines()
    assert line in told
    assert sorted(project.iterdir()) == before


def test_confirming_measures_and_tells(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    order = commits(project, 38)
    keep_all(project, order, [0.010] * 36 + [0.012] * 4, alone=False)
    fakes = Fakes(SLOWER)
    place = "regress.flows.history.history"
    monkeypatch.setattr(place, partial(history, machinery=fakes.machinery))
    assert run(["history", "--fail-on", "regressed", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("? suspected")
    assert run(["history", "--fail-on", "regressed", "--confirm", "--seed", "7"]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("▲ regressed")
    assert "Measured again" in captured.out
    assert "confirmed, +" in captured.out
    assert f"1 of 1: {DDP} at {order[35][:12]} and {order[36][:12]}" in captured.err
    assert fakes.undertakings[0].plan.seed == 7


def test_a_moment_is_utc_unless_it_says_otherwise() -> None:
    assert moment("2026-01-31") == datetime(2026, 1, 31, tzinfo=timezone.utc)
    assert moment("2026-01-31T12:00+02:00") == datetime(2026, 1, 31, 10, tzinfo=timezone.utc)
    assert abs(moment("30d") - datetime.now(timezone.utc) + timedelta(days=30)) < timedelta(minutes=1)


def test_a_run_that_cannot_be_read_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = commits(project, 1)
    keep(project, order[0], [0.010], day=0)
    keep(project, order[1], [0.010], day=1)
    damaged = next((project / ".regress" / "store" / "commit").glob("20260102*")) / "plan.json"
    damaged.write_text("{")
    assert run(["history", "--quiet"]) == 0
    assert "cannot be read:" in capsys.readouterr().out
    assert run(["history", "--quiet", "--fail-on", "regressed"]) == 3


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "interrupted"),
        (["--confirm"], "interrupted; launches that had ended are kept, and the same command goes on"),
    ],
)
def test_only_what_measures_promises_to_go_on(
    project: Path,
    options: list[str],
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("regress.flows.history.history", interrupted)
    assert run(["history", *options]) == INTERRUPTED
    assert capsys.readouterr().err == f"regress: {line}\n"
