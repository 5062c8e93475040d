"""Suites and project files from YAML: every wrong value at once, each with its line.

This package is the only reader of YAML: `source` turns text into data, `suite` and
`project` say what is allowed, `refusal` says what is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

import regress
from regress.errors import RequestError, SpecError
from regress.record.run import SUITE_NAME
from regress.spec.benchmark import alternatives
from regress.spec.project import LoadedProject, Project
from regress.spec.refusal import refusals, shown
from regress.spec.source import Source, read_source
from regress.spec.suite import LoadedSuite, Suite

M = TypeVar("M", bound=BaseModel)

PROJECT_FILE = "project.yaml"
"""In the folder ``configs``, beside the suites."""


def load_suite(path: Path) -> LoadedSuite:
    """Read a suite.

    Raises:
        RequestError: There is no such file, it says nothing, or its name cannot name a suite.
        SpecError: All that is wrong in it, in the order of its lines.
    """
    source = read_source(path)
    if not SUITE_NAME.fullmatch(path.stem):
        raise RequestError(
            f"{source.file}: {shown(path.stem)} cannot name a suite; "
            "use letters, digits, '.', '_' and '-', 64 at most, with a letter or digit first"
        )
    if source.data is None:
        raise RequestError(
            f"{source.file}: empty suite; say what to measure, as in 'benchmarks: [{{name: ddp}}]'"
        )
    suite = _validated(source, Suite)
    return LoadedSuite(name=path.stem, file=path, suite=suite, where=source.where)


def load_project(root: Path) -> LoadedProject:
    """Read ``configs/project.yaml`` below a folder; without that file the defaults hold.

    Raises:
        RequestError: The file cannot be read.
        SpecError: All that is wrong in it, in the order of its lines.
    """
    path = root / "configs" / PROJECT_FILE
    if not path.exists():
        return LoadedProject(root=root, project=Project())
    source = read_source(path)
    project = Project() if source.data is None else _validated(source, Project)
    return LoadedProject(root=root, project=project)


def find_suite(name_or_path: str, project_root: Path | None) -> Path:
    """Find the file of a suite.

    Args:
        name_or_path: The path of a YAML file, or the name of a suite of the project or, where
            that has none of the name, of a shipped one.
        project_root: The folder that holds the project's ``configs``; ``None`` without a project.

    Raises:
        RequestError: There is no such file or suite.
    """
    if name_or_path.endswith((".yaml", ".yml")):
        path = Path(name_or_path)
        if not path.is_file():
            raise RequestError(f"no suite file {shown(name_or_path)}")
        return path
    suites = suite_files(project_root)
    if name_or_path not in suites:
        raise RequestError(f"unknown suite {shown(name_or_path)}{alternatives(name_or_path, suites)}")
    return suites[name_or_path]


def suite_files(project_root: Path | None) -> dict[str, Path]:
    """The suites that can be named: a project's, and the shipped ones whose names it does not use."""
    roots = [root for root in (project_root, shipped()) if root is not None]
    suites = {path.stem: path for root in reversed(roots) for path in (root / "configs").glob("*.yaml")}
    suites.pop(Path(PROJECT_FILE).stem, None)
    return suites


def shipped() -> Path:
    """The folder with our own ``configs`` and ``benchmarks``: of the wheel, or of the checkout.

    Raises:
        RequestError: Neither is there.
    """
    package = Path(regress.__file__).parent
    for folder in (package / "suite", package.parent):
        if (folder / "configs").is_dir() and (folder / "benchmarks").is_dir():
            return folder
    raise RequestError("the shipped suites are missing; install regress again")


def _validated(source: Source, model: type[M]) -> M:
    problems = dict(source.problems)
    try:
        found = model.model_validate(source.data)
    except ValidationError as error:
        problems = refusals(error, model, source) | problems
    if problems:
        raise SpecError(sorted(problems.values(), key=lambda problem: int(problem.where.rpartition(":")[2])))
    return found
