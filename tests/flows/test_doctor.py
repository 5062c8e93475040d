from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from regress.errors import LaunchError
from regress.flows.doctor import Sources, diagnose
from regress.launch.accelerators import Accelerators, Gpu
from regress.launch.activity import Activity
from regress.launch.host import Host, read_host
from regress.launch.launcher import Code
from regress.record.diagnosis import Check, Diagnosis
from regress.spec.benchmark import Catalog
from tests.flows.project import CATALOG, git
from tests.launch.machine import H100, make_machine

Answer = Callable[[Code], Catalog]
EMPTY = replace(CATALOG, definitions=())
CUDA = replace(
    EMPTY,
    device="cuda",
    ranks=2,
    torch="2.13.0+cu130",
    platform=replace(CATALOG.platform, devices=(H100, H100)),
)
GPUS = Accelerators(gpus=(Gpu(index=0, uuid="a", name=H100), Gpu(index=1, uuid="b", name=H100)))
NO_GPUS = Accelerators()
NOTHING = Activity(cores=4, busy=0.0, stolen=0.0, processes=(), waiting=0.0, load=0.0)


@dataclass
class Machine:
    """Whatever a test wants it to be; nothing is started."""

    host: Host
    answer: Answer = lambda _: EMPTY
    accelerators: Accelerators = NO_GPUS
    activity: Activity = NOTHING
    measurements: tuple[str, ...] = ()

    @property
    def sources(self) -> Sources:
        return Sources(
            catalogs=self._catalogs,
            activity=lambda: self.activity,
            measurements=lambda: self.measurements,
            host=lambda: self.host,
            accelerators=lambda: self.accelerators,
        )

    def _catalogs(self, codes: Sequence[Code], cache: Path) -> Sequence[Catalog]:
        (code,) = codes
        assert list(Path(code.benchmarks).iterdir()) == []
        assert cache.is_dir()
        return [self.answer(code)]

    def diagnosis(self, folder: Path) -> Diagnosis:
        return diagnose(folder, self.sources)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    root = make_machine(tmp_path / "machine")
    return Machine(host=replace(read_host(root, range(4)), shared_memory_bytes=1 << 30))


def check(diagnosis: Diagnosis, name: str) -> Check:
    (found,) = (each for each in diagnosis.checks if each.name == name)
    return found


def problems(diagnosis: Diagnosis) -> list[str]:
    return [each.name for each in diagnosis.checks if each.state not in ("fine", "unknown")]


def configure(project: Path, text: str) -> None:
    (project / "configs" / "project.yaml").write_text(text)


def no_torch(code: Code) -> Catalog:
    raise LaunchError(
        f"{code.python} cannot read {code.benchmarks}: No module named 'torch'; install torch there"
    )


def test_a_machine_that_can_measure(project: Path, machine: Machine) -> None:
    diagnosis = machine.diagnosis(project)
    assert (diagnosis.can_measure, diagnosis.exit_status) == (True, 0)
    assert problems(diagnosis) == []
    (interpreter,) = diagnosis.interpreters
    assert (interpreter.environment, interpreter.python) == (None, sys.executable)
    assert (interpreter.torch, interpreter.device, interpreter.backend, interpreter.ranks) == (
        "2.13.0+cpu", "cpu", "gloo", 4,
    )  # fmt: skip
    assert check(diagnosis, "suites").text == "commit, gpu, smoke"


def test_nothing_is_written(project: Path, machine: Machine, tmp_path: Path) -> None:
    machine.diagnosis(project)
    assert git(project, "status", "--porcelain", "--ignored") == ""
    assert not (tmp_path / "cache").exists()


def test_every_environment_is_asked(project: Path, machine: Machine) -> None:
    configure(
        project, f"environments:\n  b: {{python: {sys.executable}, variables: {{A: '1'}}}}\n  a: {{}}\n"
    )
    codes: list[Code] = []

    def answer(code: Code) -> Catalog:
        codes.append(code)
        return EMPTY

    machine.answer = answer
    diagnosis = machine.diagnosis(project)
    assert [each.environment for each in diagnosis.interpreters] == [None, "a", "b"]
    assert sorted(code.variables for code in codes) == [(), (), (("A", "1"),)]


@pytest.mark.parametrize(
    ("error", "text", "advice"),
    [
        ("No module named 'torch'; install torch there", "torch is not in {python}",
         "`{python} -m pip install 'torch>=2.6'`"),
        ("OSError: libcudart.so.13: cannot open", "{python} cannot import torch: OSError: libcudart.so.13: "
         "cannot open", "`{python} -c 'import torch'` says more"),
    ],
)  # fmt: skip
def test_without_torch_nothing_can_be_measured(
    project: Path, machine: Machine, error: str, text: str, advice: str
) -> None:
    def answer(code: Code) -> Catalog:
        raise LaunchError(f"{code.python} cannot read {code.benchmarks}: {error}")

    machine.answer = answer
    diagnosis = machine.diagnosis(project)
    assert (diagnosis.can_measure, diagnosis.exit_status) == (False, 3)
    found = check(diagnosis, "torch")
    assert (found.state, found.text, found.advice) == (
        "stops", text.replace("{python}", sys.executable), advice.replace("{python}", sys.executable),
    )  # fmt: skip
    assert diagnosis.interpreters[0].ranks is None


@pytest.mark.parametrize(
    ("version", "old"), [("2.5.1+cpu", True), ("1.13.0", True), ("2.6.0a0", False), ("2.13.0+cpu", False)]
)
def test_an_old_torch_does_not_count(project: Path, machine: Machine, version: str, old: bool) -> None:
    machine.answer = lambda _: replace(EMPTY, torch=version)
    diagnosis = machine.diagnosis(project)
    assert diagnosis.can_measure is not old
    assert diagnosis.interpreters[0].torch == version
    assert ("is older than 2.6" in check(diagnosis, "torch").text) is old


def test_one_environment_with_torch_is_enough(project: Path, machine: Machine) -> None:
    configure(project, "environments: {good: {variables: {GOOD: '1'}}}\n")
    machine.answer = lambda code: EMPTY if code.variables else no_torch(code)
    diagnosis = machine.diagnosis(project)
    assert diagnosis.can_measure
    assert check(diagnosis, "torch").state == "wrong"
    assert check(diagnosis, "environment good").state == "fine"


def test_an_environment_without_an_interpreter(project: Path, machine: Machine) -> None:
    configure(project, "environments: {gone: {python: nowhere/python}}\n")
    diagnosis = machine.diagnosis(project)
    assert diagnosis.can_measure
    found = check(diagnosis, "environment gone")
    assert found.state == "wrong"
    assert "no interpreter at" in found.text


def test_a_wrong_project_file_stops_all(project: Path, machine: Machine) -> None:
    configure(project, "stroe: x\nbenchmarks: ../x\n")
    diagnosis = machine.diagnosis(project)
    assert diagnosis.exit_status == 3
    found = check(diagnosis, "project file")
    assert found.state == "stops"
    assert found.text.startswith("configs/project.yaml:1: ")
    assert found.text.endswith(" (first of 2)")


def test_a_wrong_suite_is_told_with_its_line(project: Path, machine: Machine) -> None:
    (project / "configs" / "commit.yaml").write_text("benchmarks: [{nme: x}]\nblocks: 3\n")
    diagnosis = machine.diagnosis(project)
    assert diagnosis.can_measure
    found = check(diagnosis, "suite commit")
    assert found.state == "wrong"
    assert found.text.startswith("configs/commit.yaml:1: ")
    assert check(diagnosis, "suites").text == "gpu, smoke"


@pytest.mark.parametrize("name", ["store", "cache"])
def test_a_folder_that_cannot_be_written_stops_all(
    project: Path, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "file").write_text("")
    configure(project, f"store: {tmp_path if name == 'cache' else tmp_path / 'file' / 'inner'}\n")
    if name == "cache":
        monkeypatch.setenv("REGRESS_CACHE", str(tmp_path / "file" / "inner"))
    diagnosis = machine.diagnosis(project)
    assert diagnosis.exit_status == 3
    assert problems(diagnosis) == [name]
    assert check(diagnosis, name).text == f"{tmp_path / 'file'} cannot be written"


def test_little_room_is_told(project: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regress.flows.doctor.free_bytes", lambda _: 200 << 20)
    diagnosis = machine.diagnosis(project)
    assert diagnosis.can_measure
    assert check(diagnosis, "store").text.startswith("only 200.0 MiB free in ")
    assert problems(diagnosis) == ["store", "cache"]


def test_outside_of_git_no_revisions_can_be_compared(tmp_path: Path, machine: Machine) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    diagnosis = machine.diagnosis(folder)
    assert diagnosis.can_measure
    assert problems(diagnosis) == ["git"]
    assert check(diagnosis, "git").text.startswith("no revisions can be compared: ")
    assert "`regress init`" in check(diagnosis, "benchmarks").text


def test_without_a_program_git(tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    diagnosis = machine.diagnosis(tmp_path)
    assert diagnosis.can_measure
    assert "git is not installed" in check(diagnosis, "git").text


def test_a_repository_without_a_commit(tmp_path: Path, machine: Machine) -> None:
    git(tmp_path, "init", "--quiet")
    assert "has no commit yet" in check(machine.diagnosis(tmp_path), "git").text


def test_another_measurement_is_told(project: Path, machine: Machine) -> None:
    machine.measurements = ("process 7 (regress run commit) of a, measures on this host",)
    diagnosis = machine.diagnosis(project)
    assert diagnosis.can_measure
    assert problems(diagnosis) == ["measurements"]
    assert check(diagnosis, "measurements").text == machine.measurements[0]


def test_gpus_that_torch_uses(project: Path, machine: Machine) -> None:
    machine.answer, machine.accelerators = lambda _: CUDA, GPUS
    diagnosis = machine.diagnosis(project)
    assert problems(diagnosis) == []
    (interpreter,) = diagnosis.interpreters
    assert (interpreter.backend, interpreter.ranks, interpreter.devices) == ("nccl", 2, (H100, H100))


def test_gpus_that_torch_does_not_use(project: Path, machine: Machine) -> None:
    machine.accelerators = GPUS
    diagnosis = machine.diagnosis(project)
    assert diagnosis.can_measure
    found = check(diagnosis, "torch and GPUs")
    assert found.state == "wrong"
    assert "uses none of the 2 GPUs here: ranks run on CPU" in found.text


def test_gpus_of_which_only_torch_knows(project: Path, machine: Machine) -> None:
    machine.answer = lambda _: CUDA
    assert check(machine.diagnosis(project), "state of the GPUs").state == "unknown"
