"""Reads the benchmarks of a folder, in the environment that will run them.

``python -m regress.worker.catalog FOLDER [PATH...]`` prints a `Catalog` as JSON; ``PATH`` are
folders put on the import path first.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import json
import os
import sys
import traceback
import types
from collections.abc import Sequence
from pathlib import Path

import torch

from regress.record.codec import plain
from regress.spec.benchmark import Catalog, Definition, ImportFailure
from regress.worker.workload import Declaration

PACKAGE = "_regress_benchmarks"
"""Private name under which a folder is imported, so that it never hides a package of that name."""


def mount(folder: Path) -> None:
    """Make the folder importable as `PACKAGE`; its files may import each other relatively."""
    package = types.ModuleType(PACKAGE)
    package.__path__ = [str(folder)]
    sys.modules[PACKAGE] = package


def load(name: str, file: str) -> Declaration:
    """Import one file of the mounted folder and return the benchmark declared in it."""
    module = importlib.import_module(f"{PACKAGE}.{Path(file).stem}")
    declaration: Declaration = getattr(module, name).__regress__
    return declaration


def read_catalog(folder: Path) -> Catalog:
    """Import every file of a folder and list what it declares.

    Files whose name starts with ``_`` and folders below are left out.
    """
    mount(folder)
    definitions: list[Definition] = []
    failures: list[ImportFailure] = []
    for path in sorted(folder.glob("[!_]*.py")):
        try:
            module = importlib.import_module(f"{PACKAGE}.{path.stem}")
        except (Exception, SystemExit) as error:
            failures.append(_failure(path, error))
        else:
            definitions += _declared(module, path, folder)
    return Catalog(
        definitions=tuple(sorted(definitions, key=lambda definition: definition.name)),
        failures=tuple(failures),
        device="cuda" if torch.cuda.is_available() else "cpu",
        ranks=torch.cuda.device_count() if torch.cuda.is_available() else len(os.sched_getaffinity(0)),
    )


def _declared(module: types.ModuleType, path: Path, folder: Path) -> list[Definition]:
    found = []
    trees = _trees(path, folder)
    for name, value in vars(module).items():
        declaration = getattr(value, "__regress__", None)
        if isinstance(declaration, Declaration) and declaration.build.__module__ == module.__name__:
            doc = (declaration.build.__doc__ or "").strip().splitlines()
            found.append(
                Definition(
                    name=name,
                    world_sizes=declaration.world_sizes,
                    params=declaration.params,
                    doc=doc[0] if doc else "",
                    file=path.name,
                    line=declaration.build.__code__.co_firstlineno,
                    digest=_digest(trees, path, name),
                    torch_modules=_torch_modules(trees),
                )
            )
    return found


def _failure(path: Path, error: BaseException) -> ImportFailure:
    lines = [
        frame.lineno or 0
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno or 0)
    message = traceback.format_exception_only(error)[-1].strip()
    return ImportFailure(file=path.name, line=lines[-1] if lines else 0, message=message)


def _trees(path: Path, folder: Path) -> dict[Path, ast.Module]:
    """Syntax trees of a file and of every file of its folder that it imports."""
    trees: dict[Path, ast.Module] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in trees:
            trees[current] = ast.parse(current.read_bytes())
            waiting += _siblings(trees[current], folder)
    return trees


def _digest(trees: dict[Path, ast.Module], path: Path, name: str) -> str:
    """Hash a benchmark's definition.

    Comments, docstrings and layout do not count, nor do other benchmarks in its own file.
    """
    parts = []
    for file, tree in sorted(trees.items()):
        body = [node for node in tree.body if file != path or not _other_benchmark(node, name)]
        parts.append(f"{file.name}:{_canonical(ast.Module(body=body, type_ignores=[]))}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _torch_modules(trees: dict[Path, ast.Module]) -> tuple[str, ...]:
    names: set[str] = set()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names.add(node.module)
    return tuple(sorted(name for name in names if name.split(".")[0] == "torch"))


def _other_benchmark(node: ast.stmt, name: str) -> bool:
    if not isinstance(node, ast.FunctionDef) or node.name == name:
        return False
    return any("benchmark" in ast.unparse(decorator) for decorator in node.decorator_list)


def _siblings(tree: ast.Module, folder: Path) -> list[Path]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names += [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
    return [path for name in names if (path := folder / f"{name}.py").is_file()]


def _canonical(node: object) -> str:
    """Write a syntax tree without positions, docstrings and empty fields.

    Fields that a newer Python adds are empty for old code, so versions agree.
    """
    if isinstance(node, ast.AST):
        fields = dict(ast.iter_fields(node))
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            fields["body"] = fields["body"][1:]
        inner = ",".join(
            f"{key}={_canonical(value)}"
            for key, value in fields.items()
            if value not in (None, []) and key not in ("ctx", "type_comment", "kind")
        )
        return f"{type(node).__name__}({inner})"
    if isinstance(node, list):
        return f"[{','.join(map(_canonical, node))}]"
    return repr(node)


_DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def main(arguments: Sequence[str]) -> None:
    """Print the catalog of a folder; what the files print goes to standard error."""
    folder, *paths = arguments
    sys.path[:0] = paths
    with contextlib.redirect_stdout(sys.stderr):
        catalog = read_catalog(Path(folder))
    print(json.dumps(plain(catalog)))


if __name__ == "__main__":
    main(sys.argv[1:])
