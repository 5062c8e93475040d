"""What there is can be listed although something of it cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from regress.errors import LaunchError
from regress.flows.listing import listing
from regress.flows.machinery import Machinery
from regress.flows.workplace import Workplace
from tests.flows.project import EQUAL, Fakes, measured


def test_without_torch_suites_and_runs_are_listed(project: Path) -> None:
    answer = measured(project, Fakes(EQUAL))

    def catalogs(*_: object) -> list[object]:
        raise LaunchError("python cannot read benchmarks: No module named 'torch'; install torch there")

    found = listing(Workplace.around(project), None, Machinery(catalogs=catalogs))  # type: ignore[arg-type]
    assert found.failures == ("python cannot read benchmarks: No module named 'torch'; install torch there",)
    assert {run.run for run in found.runs} == {answer.base.run, answer.head.run}
    assert "commit" in {suite.name for suite in found.suites}
    assert found.benchmarks == ()


def test_a_large_file_beside_the_code_does_not_matter(project: Path) -> None:
    with (project / "model.pt").open("wb") as file:
        file.truncate(300 << 20)
    assert listing(Workplace.around(project), None, Fakes(EQUAL).machinery).benchmarks


@pytest.mark.parametrize("name", ["broken", "x" * 65])
def test_a_suite_that_cannot_be_read_is_named(project: Path, name: str) -> None:
    (project / "configs" / f"{name}.yaml").write_text("benchmarks: 3\n")
    found = listing(Workplace.around(project), None, Fakes(EQUAL).machinery)
    assert any(name[:20] in line for line in found.unreadable)
    assert name not in {suite.name for suite in found.suites}
