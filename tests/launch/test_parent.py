from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from regress.errors import LaunchError
from regress.launch.catalogs import read_catalogs
from regress.launch.launcher import Code
from regress.launch.local import LocalLauncher
from regress.launch.torchrun import TorchrunLauncher
from tests.launch.jobs import HEALTHY, Workshop, ends, fault

pytestmark = pytest.mark.torch

ONLY_TORCH = {
    *("torch", "torchgen", "functorch", "typing_extensions.py", "sympy", "mpmath", "networkx"),
    *("jinja2", "markupsafe", "filelock", "fsspec"),
}


def ignore(side: str, label: str, done: float) -> None:
    """Watch nothing."""


def one_line(error: LaunchError) -> str:
    (line,) = str(error).splitlines()
    return line


def launch(workshop: Workshop, code: Code, cache: Path) -> None:
    with LocalLauncher(cache=cache) as launcher:
        tuple(launcher.run(workshop.job(codes={"only": code}), ignore))


def catalog(workshop: Workshop, code: Code, cache: Path) -> None:
    read_catalogs([code], cache)


def environment(folder: Path, modules: set[str]) -> str:
    """Make a virtual environment that holds these modules of ours, and return its interpreter."""
    import torch

    installed = Path(torch.__file__).parents[1]
    (folder / "modules").mkdir(parents=True)
    for module in modules:
        (folder / "modules" / module).symlink_to(installed / module)
    venv.create(folder / "venv", with_pip=False)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (packages / "modules.pth").write_text(f"{folder / 'modules'}\n")
    return str(folder / "venv" / "bin" / "python")


def test_an_environment_with_torch_alone_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints while it starts, too."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    workshop = Workshop(tmp_path, {"only": HEALTHY})
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text(
        "print('{\"ready\": true, ', end='', flush=True); print('and more')"
    )
    threads = 2 if len(os.sched_getaffinity(0)) // 2 <= 1 else 1  # not what a rank gets by itself
    code = workshop.code(
        "only",
        python=environment(tmp_path, ONLY_TORCH),
        PYTHONPATH=str(tmp_path / "start"),
        OMP_NUM_THREADS=str(threads),
    )

    (found,) = read_catalogs([code], tmp_path / "cache")
    with LocalLauncher(cache=tmp_path / "cache", pin=False) as launcher:
        (report,) = launcher.run(workshop.job(codes={"only": code}, counted=True), ignore)

    assert [definition.name for definition in found.definitions] == ["other", "subject"]
    assert [measured.outcome.kind for measured in report.measured] == ["ok"]
    assert report.environment is not None
    assert report.environment.threads == threads
    assert report.cores == ()
    assert all(map(ends, workshop.ranks()))


@pytest.mark.parametrize("read", [launch, catalog])
def test_an_environment_without_torch_is_refused_in_one_line(
    tmp_path: Path, read: Callable[[Workshop, Code, Path], object]
) -> None:
    workshop = Workshop(tmp_path, {"only": HEALTHY})
    code = workshop.code("only", python=environment(tmp_path, set()))

    with pytest.raises(LaunchError, match="install torch there") as caught:
        read(workshop, code, tmp_path / "cache")
    assert code.python in one_line(caught.value)


@pytest.mark.parametrize("read", [launch, catalog])
def test_an_interpreter_that_does_not_exist(
    tmp_path: Path, read: Callable[[Workshop, Code, Path], object]
) -> None:
    workshop = Workshop(tmp_path, {"only": HEALTHY})
    code = workshop.code("only", python="/nowhere/python")

    with pytest.raises(LaunchError, match="cannot start /nowhere/python: No such file") as caught:
        read(workshop, code, tmp_path / "cache")
    one_line(caught.value)


def test_an_interpreter_that_ends_while_it_starts(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"only": HEALTHY})
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.exit('the site is closed')")
    code = workshop.code("only", PYTHONPATH=str(tmp_path))

    with (
        LocalLauncher(cache=tmp_path / "cache") as launcher,
        pytest.raises(LaunchError, match=r"cannot run ranks: .*the site is closed") as caught,
    ):
        tuple(launcher.run(workshop.job(codes={"only": code}), ignore))
    one_line(caught.value)


@pytest.mark.parametrize(
    ("launch_by", "name"), [(LocalLauncher, "fork server"), (TorchrunLauncher, "torchrun agent")]
)
def test_a_parent_that_dies_takes_its_ranks_along(
    tmp_path: Path, launch_by: type[LocalLauncher | TorchrunLauncher], name: str
) -> None:
    workshop = Workshop(
        tmp_path, {"base": HEALTHY, "head": fault("step", "os.kill(os.getppid(), 9); time.sleep(1000)")}
    )

    with (
        launch_by(cache=tmp_path / "cache") as launcher,
        pytest.raises(LaunchError, match=f"its {name} was ended by SIGKILL") as caught,
    ):
        tuple(launcher.run(workshop.job(), ignore))

    one_line(caught.value)
    assert len(workshop.ranks()) == 4
    assert all(map(ends, workshop.ranks()))


PARENT = """
import sys
from pathlib import Path
from regress.launch.launcher import Code
from regress.launch.local import LocalLauncher
from regress.launch.torchrun import TorchrunLauncher
from tests.launch.jobs import HEALTHY, Workshop, fault

folder = Path(sys.argv[1])
launch_by = {"local": LocalLauncher, "torchrun": TorchrunLauncher}[sys.argv[2]]
workshop = Workshop(folder, {"base": HEALTHY, "head": fault("step", "time.sleep(1000)")})
with launch_by(cache=folder / "cache") as launcher:
    tuple(launcher.run(workshop.job(step_s=1000.0), lambda *_: None))
"""


@pytest.mark.parametrize("launch_by", ["local", "torchrun"])
def test_a_launcher_that_is_killed_leaves_no_process(tmp_path: Path, launch_by: str) -> None:
    root = Path(__file__).parents[2]
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENT), str(tmp_path), launch_by],
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=tmp_path,
    )
    processes = tmp_path / "benchmarks" / "processes"
    try:
        limit = time.monotonic() + 120
        while not processes.exists() or len(processes.read_text().splitlines()) < 4:
            assert parent.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.05)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    rows = [line.split() for line in processes.read_text().splitlines()]

    assert all(ends(int(pid)) for row in rows for pid in row[1:])
