"""`regress calibrate`, as a user types it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from regress.cli.main import INTERRUPTED, run
from regress.flows.calibrate import CalibrateRequest
from regress.flows.schema import json_schema
from regress.flows.undertaking import Means
from regress.launch.fake import Pace, failing, paced
from regress.record.calibration import Slowdown
from regress.record.outcome import Outcome
from tests.cli.conftest import Installed
from tests.flows.project import Fakes

SOUND = paced(defaultdict(Pace))
CALIBRATE = ["calibrate", "--blocks", "5", "--planted", "kernel:10%", "--quiet"]


def test_it_says_what_was_found_and_where_it_is_kept(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(SOUND))
    assert run(CALIBRATE) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0].startswith("calibrated cpu-8c-")
    assert ", resident: 5 blocks of each of 2 arms in " in lines[0]
    assert any(line.startswith("  kernel 10 %") for line in lines)
    assert lines[-1] == f"kept in {project / '.regress' / 'store' / 'calibrations'}"
    assert captured.err == ""


def test_json_has_the_published_form(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(SOUND))
    assert run([*CALIBRATE, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    Draft202012Validator(json_schema("calibration")).validate(found)
    assert (found["schema"], found["rounds"]) == ("regress.calibration/1", 5)


def test_3_where_nothing_is_known_of_a_benchmark(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [f"{arm}.{side}" for arm in ("equal", "kernel-10") for side in (1, 2)]
    crash = Outcome(kind="died", rank=1, status=-9, message="ended by SIGKILL")
    install(Fakes(failing(SOUND, crash, sides=sides, name="ddp")))
    assert run(CALIBRATE) == 3
    assert "10 blocks lost" in capsys.readouterr().out


def test_what_is_typed_is_what_is_asked_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def calibrate(_: object, request: CalibrateRequest, *__: object) -> None:
        asked.append(request)
        raise KeyboardInterrupt

    monkeypatch.setattr("regress.flows.calibrate.calibrate", calibrate)
    options = ["--budget", "30m", "--seed", "3", "--resident", "--fresh", "--launcher", "torchrun"]
    assert run(["calibrate", "smoke", "--blocks", "7", "--planted", "stall:1%", *options]) == INTERRUPTED
    assert run(["calibrate"]) == INTERRUPTED
    means = Means(launcher="torchrun", resident=True, seed=3, fresh=True, budget_s=1800.0)
    stall = (Slowdown(kind="stall", fraction=0.01),)
    assert asked == [
        CalibrateRequest(suite="smoke", blocks=7, planted=stall, means=means),
        CalibrateRequest(suite="commit"),
    ]


def test_interrupted_it_says_that_the_same_command_goes_on(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> Outcome:
        raise KeyboardInterrupt

    install(Fakes(interrupted))
    assert run(CALIBRATE) == INTERRUPTED
    said = "regress: interrupted; launches that had ended are kept, and the same command goes on\n"
    assert capsys.readouterr().err == said
