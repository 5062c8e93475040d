"""What torch's agent starts is watched, blamed and ended like what a fork server forks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from regress.errors import LaunchError
from regress.launch.launcher import Measured, Report
from regress.launch.topology import deal_here, listed
from regress.launch.torchrun import TorchrunLauncher
from regress.record.outcome import OutcomeKind
from tests.launch.jobs import HEALTHY, Workshop, fault, leave_a_child_behind, runs

pytestmark = pytest.mark.torch

AGENT_S_VARIABLES = """
import os

def fault(where, rank, step):
    if where == "build":
        assert os.environ["LOCAL_RANK"] == str(rank)
        print("run", os.environ["TORCHELASTIC_RUN_ID"], os.environ["MASTER_PORT"])
"""


def ignore(side: str, label: str, done: float) -> None:
    """Watch nothing."""


def only(report: Report) -> Measured:
    (measured,) = report.measured
    return measured


def parents(workshop: Workshop, folder: Path) -> dict[str, set[int]]:
    rows = [line.split() for line in (folder / "benchmarks" / "processes").read_text().splitlines()]
    return {side: {int(parent) for name, _, parent in rows if name == side} for side in workshop.sides}


@pytest.fixture
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TorchrunLauncher]:
    pytest.importorskip("torch")
    with TorchrunLauncher(cache=tmp_path_factory.mktemp("cache")) as launcher:
        yield launcher


def test_both_sides_take_turns_each_with_an_agent_of_its_own(
    launcher: TorchrunLauncher, tmp_path: Path
) -> None:
    workshop = Workshop(tmp_path, {"base": AGENT_S_VARIABLES, "head": AGENT_S_VARIABLES})
    job = workshop.job(counted=True)
    seen: list[tuple[str, str]] = []

    def watch(side: str, label: str, done: float) -> None:
        seen.append((side, label))

    reports = tuple(launcher.run(job, watch))

    assert [report.side for report in reports] == ["base", "head"]
    assert seen == [(side, label) for label, sides in job.turns for side in sides]
    hands = deal_here(2, "cpu", {})
    for report in reports:
        assert only(report).outcome.ok
        assert [len(rank.bursts) for rank in only(report).ranks] == [3, 3]
        assert [rank.collective_count for rank in only(report).ranks] == [1, 1]
        assert report.cores == tuple(listed(cpu for core in hand for cpu in core.cpus) for hand in hands)
        assert report.environment is not None
        assert report.environment.threads == (len(hands[0]) if hands else 1)
        assert report.foreign_cpu is None or 0 <= report.foreign_cpu <= 1
        assert "run regress-" in (job.scratch / report.side / "rank1.log").read_text()
    by_side = parents(workshop, tmp_path)
    assert len(by_side["base"]) == len(by_side["head"]) == 1
    assert by_side["base"] != by_side["head"]
    processes = [*workshop.ranks(), *by_side["base"], *by_side["head"]]
    assert len(processes) == 6
    assert not any(map(runs, processes))


FAULTS: dict[str, tuple[str, OutcomeKind, int | None, str]] = {
    "raises": (fault("step", "raise ValueError('boom')"), "raised", None, "^ValueError: boom$"),
    "exit 0": (fault("step", "os._exit(0)"), "exited", 0, "^exited with status 0 before the end$"),
    "SIGKILL": (fault("step", "os.kill(os.getpid(), 9)"), "died", -9, "^ended by SIGKILL; perhaps"),
    "SIGSTOP": (fault("step", "os.kill(os.getpid(), signal.SIGSTOP)"), "hung", None, "it gives no stack"),
    "hang in torch": (fault("step", "torch.futures.Future().wait()"), "hung", None, r"torch/futures/"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_right_rank_is_to_blame(launcher: TorchrunLauncher, tmp_path: Path, name: str) -> None:
    code, kind, status, message = FAULTS[name]
    workshop = Workshop(tmp_path, {"only": code})

    (report,) = launcher.run(workshop.job(step_s=2.0), ignore)

    outcome = only(report).outcome
    assert (outcome.kind, outcome.rank, outcome.status) == (kind, 1, status)
    assert re.search(message, outcome.message)
    assert Path(outcome.log).name == "rank1.log"
    assert Path(outcome.log).is_file()
    assert not any(map(runs, [*workshop.ranks(), *parents(workshop, tmp_path)["only"]]))


def test_an_interpreter_without_an_agent(launcher: TorchrunLauncher, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"only": HEALTHY})
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('no torch here')")
    code = workshop.code("only", PYTHONPATH=str(tmp_path))

    with pytest.raises(LaunchError, match=r"cannot run ranks: .*no torch here$"):
        tuple(launcher.run(workshop.job(codes={"only": code}), ignore))
    assert workshop.ranks() == []


def test_what_a_rank_has_started_ends_with_it(launcher: TorchrunLauncher, tmp_path: Path) -> None:
    leave_a_child_behind(launcher, tmp_path)
