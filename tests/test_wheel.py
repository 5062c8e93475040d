"""After `pip install` of the built wheel alone, everything is there."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest

import regress
from tests.installation import ROOT, Installation

pytestmark = pytest.mark.slow


def carried(installation: Installation) -> set[str]:
    with ZipFile(installation.wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_has_one_package_and_its_description(installation: Installation) -> None:
    tops = {name.split("/")[0] for name in carried(installation)}
    (description,) = (top for top in tops if top.endswith(".dist-info"))
    assert tops == {"regress", description}


def test_the_wheel_carries_the_suite(installation: Installation) -> None:
    """All benchmarks and suites, and not the measurements of our own speed."""
    names = carried(installation)
    for folder, ending in (("benchmarks", ".py"), ("configs", ".yaml")):
        there = {
            name for name in names if name.startswith(f"regress/suite/{folder}/") and name.endswith(ending)
        }
        assert there == {
            f"regress/suite/{path.relative_to(ROOT)}" for path in (ROOT / folder).glob(f"*{ending}")
        }
    assert "regress/suite/benchmarks/ddp.py" in names
    assert "regress/suite/configs/smoke.yaml" in names
    assert not any("harness/" in name and "suite" in name for name in names)


def test_the_wheel_carries_every_file_of_the_package(installation: Installation) -> None:
    """Templates, style sheets, `py.typed`: whatever lies in the package."""
    ours = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "regress").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "regress/py.typed" in ours
    assert ours <= carried(installation)


def test_the_installed_package_is_what_is_imported(installation: Installation, tmp_path: Path) -> None:
    code = "import regress, torch, numpy; print(regress.__file__)"
    done = installation.python("-c", code, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(installation.environment)


def test_no_other_package_of_the_name_has_taken_our_place() -> None:
    """PyPI has one, and some tools need it: an installation of theirs removes ours."""
    assert metadata.version("regress") == regress.__version__


@pytest.mark.torch
def test_smoke_runs_in_an_empty_folder(installation: Installation, tmp_path: Path) -> None:
    done = installation.regress("run", "smoke", "--json", "answer.json", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "answer.json").read_text())
    assert len(list(tmp_path.glob(".regress/store/smoke/*/done.json"))) == 1
    listed = installation.regress("list", folder=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert "smoke" in listed.stdout
