"""Every block stands between two looks at the canary."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from regress.flows.machinery import launcher_of
from regress.launch.canary import Cage
from regress.launch.fake import LOOK
from tests.flows.project import EQUAL, Fakes, measured, stored_runs


def test_the_launches_of_a_block_keep_what_it_said(project: Path) -> None:
    fakes = Fakes(EQUAL)
    measured(project, fakes)
    runs = stored_runs(project)
    (launcher,) = fakes.launchers
    jobs = len(launcher.jobs)
    assert launcher.looks == [look for job in range(jobs) for look in ((job, 2), (job + 1, 2))]
    for run in runs:
        for launch in run.launches:
            assert launch.canary is not None
            assert launch.canary.before == LOOK.reading
            assert launch.canary.environment == LOOK.environment
    last = [{launch.block: launch.canary for launch in run.launches} for run in runs]
    for block in last[0]:
        afters = [canaries[block].after for canaries in last if canaries[block] is not None]  # type: ignore[union-attr]
        assert LOOK.reading in afters  # of two sides alone, the last one's
        assert block == 0 or afters == [LOOK.reading] * 2


@pytest.mark.parametrize(("setting", "on"), [("", True), ("canary: false\n", False)])
def test_a_project_may_turn_it_off(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, on: bool
) -> None:
    (project / "configs" / "project.yaml").write_text(setting)
    fakes = Fakes(EQUAL)
    measured(project, fakes)
    asked: list[list[str]] = []
    monkeypatch.setattr(Cage, "look", lambda cage, _: asked.append(cage._pythons))
    with launcher_of(fakes.undertakings[0], tmp_path) as launcher:
        launcher.canary(2)
    assert asked == [[sys.executable] if on else []]


def test_it_runs_in_the_harness_s_interpreter_else_in_the_first_side_s(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes = Fakes(EQUAL)
    measured(project, fakes)
    base, head = fakes.undertakings[0].sides
    sides = tuple(
        replace(side, code=replace(side.code, python=f"/{side.role}/python")) for side in (base, head)
    )
    asked: list[list[str]] = []
    monkeypatch.setattr(Cage, "look", lambda cage, _: asked.append(cage._pythons))
    with launcher_of(replace(fakes.undertakings[0], sides=sides), tmp_path) as launcher:
        launcher.canary(2)
    assert asked == [[sys.executable, "/base/python"]]


def test_what_was_measured_without_it_does_not_go_on_with_it(project: Path) -> None:
    fakes = Fakes(EQUAL)
    measured(project, fakes)
    one = fakes.undertakings[0]
    assert replace(one, canary=False).digest() != one.digest()
