"""The project file: its defaults, its paths, and each mistake on its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from regress.errors import SpecError
from regress.spec.load import load_project
from regress.spec.project import Project

WRONG = {
    "a URL": (
        "store: s3://bucket/x\n",
        "1: store: a store at a URL is not supported yet; name a folder; got 's3://bucket/x'",
    ),
    "an empty path": ("store: ''\n", "1: store: expected a path, without control characters"),
    "a path with NUL": ('store: "a\\0b"\n', "1: store: expected a path, without control characters"),
    "a folder outside": (
        "benchmarks: ../elsewhere\n",
        "1: benchmarks: expected a folder inside the project; got '../elsewhere'",
    ),
    "an absolute import path": (
        "python_path:\n  - .\n  - /lib\n",
        "3: python_path[1]: expected a folder inside the project; got '/lib'",
    ),
    "an environment with an @": (
        "environments:\n  a@b: {}\n",
        "2: environments['a@b']: cannot name an environment; use letters, digits, '.', '_' and '-', "
        "64 at most, with a letter or digit first",
    ),
    "a variable with a space": (
        "environments:\n  x:\n    variables: {A B: '1'}\n",
        "3: environments.x.variables['A B']: cannot name a variable; use letters, digits and '_', "
        "with no digit first",
    ),
    "a number as variable": (
        "environments:\n  x:\n    variables:\n      OMP_NUM_THREADS: 4\n",
        '4: environments.x.variables.OMP_NUM_THREADS: expected a text, as in "4"; got 4',
    ),
    "a variable with NUL": (
        'environments:\n  x: {variables: {A: "\\0"}}\n',
        "2: environments.x.variables.A: expected a text without the character NUL",
    ),
    "an unknown key of an environment that is named like a key": (
        "environments:\n  python:\n    pyton: x\n",
        "3: environments.python: unknown key 'pyton'; did you mean 'python'?",
    ),
    "an unknown key": (
        "enviroments: {}\n",
        "1: unknown key 'enviroments'; did you mean 'environments'?",
    ),
    "a list": ("- 1\n", "1: expected keys with values; got [1]"),
}


@pytest.mark.parametrize(("text", "line"), WRONG.values(), ids=WRONG)
def test_each_mistake_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("configs").mkdir()
    Path("configs/project.yaml").write_text(text)
    with pytest.raises(SpecError) as refused:
        load_project(tmp_path)
    assert str(refused.value) == f"configs/project.yaml:{line}"


def test_without_a_file_or_content_the_defaults_hold(tmp_path: Path) -> None:
    assert load_project(tmp_path).project == Project()
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "project.yaml").write_text("# nothing set\n")
    loaded = load_project(tmp_path)
    assert loaded.project == Project()
    assert loaded.store == tmp_path / ".regress" / "store"
    assert loaded.benchmarks == tmp_path / "benchmarks"


def test_paths_start_at_the_root_and_links_stay_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "project.yaml").write_text(
        "store: /var/results\n"
        "environments:\n"
        "  nightly:\n"
        "    python: ~/nightly/bin/python\n"
        "    variables: {OMP_NUM_THREADS: '1'}\n"
    )
    loaded = load_project(tmp_path)
    nightly = loaded.project.environments["nightly"]
    assert loaded.store == Path("/var/results")
    assert nightly.variables == {"OMP_NUM_THREADS": "1"}
    assert nightly.python is not None
    assert loaded.path(nightly.python) == Path("/home/someone/nightly/bin/python")
    (tmp_path / "python").symlink_to("/usr/bin/env")
    assert loaded.path("python") == tmp_path / "python"
