"""Reads the benchmarks of a folder, in the environment that will run them.

``python -m regress.worker.catalog FOLDER [PATH...]`` prints a `Catalog` as JSON; ``PATH`` are
folders put on the import path first.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import os
import sys
import traceback
import types
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

import torch

from regress.record.codec import plain
from regress.spec.benchmark import Catalog, Definition, ImportFailure
from regress.worker.cores import usable_cores
from regress.worker.failure import line_of
from regress.worker.probes import probe_platform
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
    folder = folder.absolute()
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
    cuda = torch.cuda.is_available()
    ranks = torch.cuda.device_count() if cuda else usable_cores()
    return Catalog(
        definitions=tuple(sorted(definitions, key=lambda definition: definition.name)),
        failures=tuple(failures),
        device="cuda" if cuda else "cpu",
        ranks=ranks,
        platform=probe_platform(torch.device("cuda" if cuda else "cpu"), ranks),
        torch=str(torch.__version__),
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
    return ImportFailure(file=path.name, line=lines[-1] if lines else 0, message=line_of(error))


def _trees(path: Path, folder: Path) -> dict[Path, ast.Module]:
    """Syntax trees of a file and of every file of its folder that it imports."""
    trees: dict[Path, ast.Module] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in trees:
            trees[current] = ast.parse(current.read_bytes())
            waiting += _imported(trees[current], current, folder)
    return trees


def _digest(trees: dict[Path, ast.Module], path: Path, name: str) -> str:
    """Hash a benchmark's definition.

    Comments, docstrings and layout do not count, nor do other benchmarks in its own file that it
    does not use.
    """
    parts = []
    for file, tree in sorted(trees.items()):
        body = _without_others(tree.body, name) if file == path else tree.body
        place = file.relative_to(path.parent).as_posix()
        parts.append(f"{place}:{_canonical(ast.Module(body=body, type_ignores=[]))}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _without_others(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    """What a benchmark consists of in its own file: all but the benchmarks that nothing in it names."""
    others = {node.name: node for node in body if _is_benchmark(node) and node.name != name}
    kept = [node for node in body if node not in others.values()]
    while used := others.keys() & {
        inner.id for node in kept for inner in ast.walk(node) if isinstance(inner, ast.Name)
    }:
        kept += [others.pop(other) for other in sorted(used)]
    return kept


def _torch_modules(trees: dict[Path, ast.Module]) -> tuple[str, ...]:
    names: set[str] = set()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names.add(node.module)
    return tuple(sorted(name for name in names if name.split(".")[0] == "torch"))


def _is_benchmark(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and any(
        "benchmark" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def _imported(tree: ast.Module, path: Path, folder: Path) -> list[Path]:
    """Files of the folder that a file imports relatively, packages with their ``__init__``."""
    found: list[Path] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            place = path.parents[node.level - 1]
            packages = node.module.split(".") if node.module else []
            for alias in node.names:
                module = place.joinpath(*packages, alias.name)
                steps = [module, *module.parents][: len(packages) + 1]
                found += [file for step in steps for file in (step.with_suffix(".py"), step / "__init__.py")]
    return [file for file in found if file.is_relative_to(folder) and file.is_file()]


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
    """Print the catalog of a folder as the last line; what the files print goes to standard error.

    Ends the process, so that no thread of theirs holds it.
    """
    answer = os.dup(1)
    os.dup2(2, 1)
    folder, *paths = arguments
    sys.path[:0] = paths
    catalog = read_catalog(Path(folder))
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        file.write(f"\n{json.dumps(plain(catalog))}")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
