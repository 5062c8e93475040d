"""The part of `regress` that runs inside a side's environment, as a copy on its path.

Such an environment may hold nothing but torch, so the copy needs the standard library alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import regress
from regress.errors import LaunchError
from regress.launch.launcher import Code

PARTS = (
    "__init__.py",
    "errors.py",
    "units.py",
    "record",
    "spec/__init__.py",
    "spec/plan.py",
    "spec/benchmark.py",
    "worker",
)
"""Files and folders of the package that the copy consists of."""

PADDING = "REGRESS_PADDING"
"""Variable that makes the environments of all sides equally large."""

STACK_BYTES = 1 << 15
"""Size that they are padded to, or to a multiple of it."""

POINTER_BYTES = 8
"""What the list of variables takes for each."""


def harness(cache: Path) -> Path:
    """Return a folder that holds the copy, made on first use and named by its content.

    Raises:
        LaunchError: The cache cannot be written.
    """
    target = cache / f"harness-{harness_digest()}"
    if not target.exists():
        try:
            _copy(Path(regress.__file__).parent, _files(), target)
        except OSError as error:
            raise LaunchError(
                f"cannot write the cache {cache}: {error.strerror}; set REGRESS_CACHE to another folder"
            ) from None
    return target


def harness_digest() -> str:
    """Name of its content: measurements by two of them are not continued in one another."""
    source = Path(regress.__file__).parent
    digest = hashlib.sha256()
    for file in _files():
        digest.update(f"{file.relative_to(source)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def side_environment(code: Code, harness: Path) -> dict[str, str]:
    """Variables of a process inside a side's environment: this one's, the side's, the copy's path.

    They are padded to a common size with the interpreter's path: all of it lies on the stack of a process,
    and moves what comes after it, which alone can make a program some percent faster or slower.
    """
    variables = {**os.environ, **dict(code.variables)}
    path = os.pathsep.join(filter(None, [str(harness), variables.get("PYTHONPATH")]))
    variables |= {"PYTHONPATH": path, PADDING: ""}
    return {**variables, PADDING: "x" * (-stack_bytes(code, variables) % STACK_BYTES)}


def stack_bytes(code: Code, variables: Mapping[str, str]) -> int:
    """What variables and the interpreter's path take of a new process's stack.

    The path stands there twice: as what was executed, and as the first argument.
    """
    texts = [*(f"{name}={value}" for name, value in variables.items()), code.python, code.python]
    return sum(len(os.fsencode(text)) + 1 for text in texts) + POINTER_BYTES * len(variables)


def cannot_run(python: str, what: str, status: int, errors: str) -> LaunchError:
    """Say in one line why a process inside a side's environment ended, from what it wrote."""
    lines = errors.strip().splitlines() or [f"it ended with status {status}"]
    hint = "; install torch there" if "No module named 'torch'" in lines[-1] else ""
    return LaunchError(f"{python} cannot {what}: {lines[-1].strip()[:300]}{hint}")


def _files() -> list[Path]:
    source = Path(regress.__file__).parent
    return sorted(file for part in PARTS for file in _python_files(source / part))


def _python_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _copy(source: Path, files: list[Path], target: Path) -> None:
    """Copy aside and rename; whoever comes second finds the same content and leaves it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".harness-", dir=target.parent))
    try:
        for file in files:
            copy = aside / "regress" / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        aside.chmod(0o755)
        aside.rename(target)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        if not target.exists():
            raise
