"""Imports run downwards only, start-up stays light, and a side's environment needs nothing but torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import regress
from regress.launch.harness import PARTS

PACKAGE = Path(regress.__file__).parent

MAY_IMPORT = {
    "errors": set(),
    "units": set(),
    "stats": {"errors"},
    "record": {"errors", "units"},
    "spec": {"errors", "units", "record"},
    "store": {"errors", "units", "record"},
    "formats": {"errors", "units", "record"},
    "launch": {"errors", "record", "spec"},
    "worker": {"errors", "units", "record", "spec.plan", "spec.benchmark"},
    "simulate": {"errors", "units", "record", "spec.plan", "spec.benchmark", "worker"},
    "attribution": {"errors", "units", "record", "stats"},
    "verdict": {"errors", "units", "record", "spec", "stats"},
    "report": {"errors", "units", "record", "stats", "attribution", "verdict"},
    "deliver": {"errors"},
    "flows": {
        "errors", "units", "stats", "record", "spec", "store", "formats", "launch", "attribution",
        "verdict", "report", "deliver",
    },
    "cli": {"errors", "spec", "report", "flows"},
}  # fmt: skip
"""The table of the architecture: each layer, lowest first, and what of ours it may import beside itself."""

ORDER = list(MAY_IMPORT)

SIDE_PARTS = {
    "__init__.py", "errors.py", "units.py", "record", "spec/__init__.py", "spec/plan.py",
    "spec/benchmark.py", "worker",
}  # fmt: skip
"""What runs inside a side's environment."""

HEAVY = {"numpy", "pandas", "scipy", "torch"}


@dataclass(frozen=True, kw_only=True)
class Import:
    """One import of a module, wherever in it: at its top or inside a function."""

    place: str
    module: str
    """What is imported, in full: ``regress.spec.plan``."""
    for_types: bool
    """Whether it stands under ``TYPE_CHECKING``, and never runs."""


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "suite" not in path.relative_to(PACKAGE).parts)


def imports(path: Path) -> Iterator[Import]:
    yield from _imports(path, ast.parse(path.read_text()), for_types=False)


def _imports(path: Path, node: ast.AST, *, for_types: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        place = f"{path.relative_to(PACKAGE)}:{getattr(child, 'lineno', 0)}"
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for guarded in child.body:
                yield from _imports(path, ast.Module(body=[guarded], type_ignores=[]), for_types=True)
            for other in child.orelse:
                yield from _imports(path, ast.Module(body=[other], type_ignores=[]), for_types=for_types)
        elif isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(place=place, module=alias.name, for_types=for_types)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"{place}: imports are absolute"
            for module in _imported(child):
                yield Import(place=place, module=module, for_types=for_types)
        else:
            yield from _imports(path, child, for_types=for_types)


def _imported(statement: ast.ImportFrom) -> Iterator[str]:
    """``from regress.report import html`` imports a module, ``from regress.units import share`` a name."""
    assert statement.module is not None
    for alias in statement.names:
        inner = PACKAGE.parent / statement.module.replace(".", "/") / alias.name
        is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
        yield f"{statement.module}.{alias.name}" if is_module else statement.module


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def allowed(importer: str, module: str, *, for_types: bool) -> bool:
    """Whether a layer may import a module of ours."""
    if module in ("regress", "regress.__version__"):
        return True
    name = module.removeprefix("regress.")
    imported = name.split(".")[0]
    if for_types:
        return ORDER.index(imported) <= ORDER.index(importer)
    return imported == importer or any(
        name == may or name.startswith(f"{may}.") for may in MAY_IMPORT[importer]
    )


def is_ours(module: str) -> bool:
    return module.split(".")[0] == "regress"


def on_side(path: Path) -> bool:
    return any(path == PACKAGE / part or (PACKAGE / part) in path.parents for part in PARTS)


def loaded(code: str, *arguments: str) -> set[str]:
    """The top-level packages that a program has imported at its end."""
    tail = "\nimport sys; print('\\n'.join(sys.modules), file=sys.__stdout__)"
    done = subprocess.run(
        [sys.executable, "-c", code + tail, *arguments],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in done.stdout.split()}


def test_the_table_has_every_layer_and_only_looks_down() -> None:
    assert {layer(path) for path in modules()} <= {*MAY_IMPORT, "__init__"}
    for importer, may in MAY_IMPORT.items():
        for name in may:
            assert ORDER.index(name.split(".")[0]) < ORDER.index(importer)


@pytest.mark.parametrize("name", [name for name in ORDER if any(layer(path) == name for path in modules())])
def test_imports_run_downwards(name: str) -> None:
    wrong = [
        f"{each.place} imports {each.module}"
        for path in modules()
        if layer(path) == name
        for each in imports(path)
        if is_ours(each.module) and not allowed(name, each.module, for_types=each.for_types)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("importer", "module", "for_types", "may"),
    [
        ("stats", "regress.record.sample", False, False),
        ("worker", "regress.spec.suite", False, False),
        ("worker", "regress.spec.plan", False, True),
        ("flows", "regress.worker.rank", False, False),
        ("cli", "regress.record.codec", False, False),
        ("cli", "regress.record.codec", True, True),
        ("record", "regress.spec.plan", True, False),
        ("launch", "regress", False, True),
    ],
)
def test_the_rule_itself(importer: str, module: str, for_types: bool, may: bool) -> None:
    assert allowed(importer, module, for_types=for_types) is may


def test_imports_are_found_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    file = tmp_path / "x.py"
    file.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from a import b\nelse:\n    import c\n"
        "def f():\n    import d.e\n    if f:\n        from g import h\n"
    )
    assert [(each.module, each.for_types) for each in imports(file)] == [
        ("typing", False), ("a", True), ("c", False), ("d.e", False), ("g", False),
    ]  # fmt: skip


def test_a_sides_environment_gets_what_the_architecture_says() -> None:
    assert set(PARTS) == SIDE_PARTS


def test_inside_a_sides_environment_only_the_standard_library_and_torch() -> None:
    wrong = []
    for path in filter(on_side, modules()):
        for each in imports(path):
            if each.for_types:
                continue
            package = each.module.split(".")[0]
            known = package in sys.stdlib_module_names or (package == "torch" and layer(path) == "worker")
            file = PACKAGE.parent / each.module.replace(".", "/")
            ours = package == "regress" and (
                on_side(file.with_suffix(".py")) or on_side(file / "__init__.py")
            )
            if not (known or ours):
                wrong.append(f"{each.place} imports {each.module}")
    assert wrong == []


def test_only_the_plan_looks_up_for_its_types() -> None:
    """The rest of what runs inside a side's environment can be checked by what is there."""
    found = {
        each.place.split(":")[0]
        for path in filter(on_side, modules())
        if path != PACKAGE / "__init__.py"
        for each in imports(path)
        if is_ours(each.module) and not on_side(PACKAGE.parent / f"{each.module.replace('.', '/')}.py")
    }
    assert found == {"spec/plan.py"}


def test_a_sides_code_is_python_3_10() -> None:
    for path in filter(on_side, modules()):
        ast.parse(path.read_text(), filename=str(path), feature_version=(3, 10))


def test_torch_is_imported_where_steps_run_and_nowhere_else() -> None:
    found = {
        layer(path) for path in modules() for each in imports(path) if each.module.split(".")[0] == "torch"
    }
    assert found <= {"worker", "simulate"}


RUN = "import io, sys\nfrom regress.cli.main import run\nsys.stdout = sys.stderr = io.StringIO()\n"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["compare", "--help"], 0),
        (["comapre"], 2),
        (["compare", "HEAD"], 2),
        (["compare", "HEAD", "HEAD", "--fail-on", "slow"], 2),
        (["compare", "HEAD", "HEAD", "--json", "nowhere/x.json"], 2),
        (["run", "--launches", "0"], 2),
        (["history", "--help"], 0),
        (["history", "--since", "soon"], 2),
    ],
    ids=str,
)
def test_help_and_a_bad_argument_answer_without_heavy_packages(arguments: list[str], status: int) -> None:
    assert not loaded(f"{RUN}assert run({arguments}) == {status}") & (HEAVY | {"pydantic", "rich"})


def test_what_measures_and_compares_never_imports_torch() -> None:
    names = [
        path.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".")
        for path in modules()
        if layer(path) in ("launch", "flows", "cli", "verdict", "report", "store", "stats", "spec", "record")
    ]
    assert not loaded(f"import importlib\nfor name in {names}: importlib.import_module(name)") & {
        "torch",
        "pandas",
    }
