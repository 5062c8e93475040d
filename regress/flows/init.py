"""`regress init`: a repository's first benchmark, suite and project file, which run as they are."""

from __future__ import annotations

import contextlib
import keyword
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from regress.errors import RegressError, RequestError
from regress.flows.revisions import Repository
from regress.launch.topology import device_nodes
from regress.record.quota import read_quota

TEMPLATES = Path(__file__).parent / "templates"
"""What the files are made from."""

BENCHMARK, SUITE, PROJECT, IGNORED = (
    "benchmarks/train.py",
    "configs/commit.yaml",
    "configs/project.yaml",
    ".gitignore",
)

IGNORE_LINE = ".regress/"
"""Folder of runs and reports, for ``.gitignore``."""

NO_PACKAGES = {
    "benchmarks",
    "build",
    "configs",
    "demo",
    "dist",
    "docs",
    "examples",
    "scripts",
    "test",
    "tests",
}
"""Folders that may be importable and hold no model."""


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """What `begin` has written."""

    root: Path
    """Where."""

    in_repository: bool
    """Whether that is the root of a git repository."""

    written: tuple[str, ...]
    """The files, from ``root`` on; ``.gitignore`` among them only if a line was added."""

    world_size: int
    """Ranks that the suite asks for."""

    package: str | None
    """The one package of the user's that can be imported; ``None`` where there is none, or several."""

    neighbours: tuple[str, ...]
    """Other files of the folder of benchmarks: they are imported too."""


def begin(folder: Path) -> Beginning:
    """Write a first benchmark, a suite and a project file into a project.

    They go to the root of the repository around the folder, else into the folder itself. Either all
    of them are there afterwards, or none. Nothing that is there is overwritten.

    Raises:
        RequestError: There is no such folder, git cannot use the repository, the folder cannot be
            written, or one of the files is there already.
        RegressError: A write failed.
    """
    if not folder.is_dir():
        raise RequestError(f"{str(folder)!r:.200} is no folder; make it first, or name another")
    repository = _repository(folder.resolve())
    root = repository.root if repository else folder.resolve()
    package = _package(root)
    ranks = ranks_here()
    texts = _texts(package, min(2, ranks))
    _refuse(root, texts)
    neighbours = tuple(sorted(path.name for path in (root / "benchmarks").glob("*.py")))
    ignored = _ignoring(root / IGNORED)
    with _all_or_nothing() as writer:
        for name, text in texts.items():
            writer.create(root / name, text.encode())
        if ignored is not None:
            writer.replace(root / IGNORED, ignored)
    return Beginning(
        root=root,
        in_repository=repository is not None,
        written=(*texts, *([IGNORED] if ignored is not None else [])),
        world_size=min(2, ranks),
        package=package,
        neighbours=neighbours,
    )


def ranks_here() -> int:
    """The most ranks that a launch may have here, whether torch uses the GPUs or not; torch is not asked."""
    cores = len(os.sched_getaffinity(0))
    quota = read_quota()
    if quota is not None:
        cores = max(1, min(cores, quota.usable))
    devices = len(device_nodes(os.environ.get("CUDA_VISIBLE_DEVICES")))
    return min(cores, devices) if devices else cores


def _repository(folder: Path) -> Repository | None:
    if shutil.which("git") is None or not any(
        (parent / ".git").exists() for parent in (folder, *folder.parents)
    ):
        return None
    return Repository.around(folder)


def _package(root: Path) -> str | None:
    found = sorted(
        {
            path.parent.name
            for inner in (root, root / "src")
            for path in inner.glob("*/__init__.py")
            if path.parent.name not in NO_PACKAGES and _is_module_name(path.parent.name)
        }
    )
    return found[0] if len(found) == 1 else None


def _is_module_name(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _texts(package: str | None, world_size: int) -> dict[str, str]:
    where = f"from your package, as in `from {package} import Model`" if package else "from your own code"
    values = {
        "model_hint": f"Import it {where}. Both sides of a comparison run this file as head has it; what\n"
        "    is compared is the code that it imports from each side's revision.",
        "world_size": str(world_size),
        "ranks": "one rank" if world_size == 1 else f"{world_size} ranks",
    }
    return {
        name: Template((TEMPLATES / f"{Path(name).name}.template").read_text(encoding="utf-8")).substitute(
            values
        )
        for name in (BENCHMARK, SUITE, PROJECT)
    }


def _refuse(root: Path, texts: Mapping[str, str]) -> None:
    if not os.access(root, os.W_OK | os.X_OK):
        raise RequestError(f"{root} cannot be written; make it writable, or name another folder")
    for name in texts:
        path = root / name
        if path.parent.exists() and not path.parent.is_dir():
            raise RequestError(f"{path.parent} is no folder, and {path.name} belongs there; move it away")
        if os.path.lexists(path):
            raise RequestError(f"{path} is there already and stays as it is; move it away to begin anew")
    ignore = root / IGNORED
    if os.path.lexists(ignore) and (ignore.is_symlink() or not ignore.is_file()):
        raise RequestError(f"{ignore} is no plain file, and a line belongs into it; nothing was written")


def _ignoring(path: Path) -> bytes | None:
    """The file with our line at its end; ``None`` where it has it already.

    Raises:
        RequestError: It cannot be read.
    """
    try:
        content = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise RequestError(f"{path}: cannot be read: {error.strerror}; nothing was written") from None
    lines = {line.strip().strip(b"/") for line in content.splitlines()}
    if IGNORE_LINE.strip("/").encode() in lines:
        return None
    end = b"\n" if content and not content.endswith(b"\n") else b""
    return content + end + IGNORE_LINE.encode() + b"\n"


class _Writer:
    """Writes files aside, gives them their names, and can take all of it back."""

    def __init__(self) -> None:
        self._files: list[Path] = []
        self._folders: list[Path] = []

    def create(self, path: Path, content: bytes) -> None:
        """Write a file that is not there."""
        with _told(path):
            if not path.parent.exists():
                path.parent.mkdir()
                self._folders.append(path.parent)
            with _aside(path, content) as aside:
                os.link(aside, path)  # fails where another has just written one
        self._files.append(path)

    def replace(self, path: Path, content: bytes) -> None:
        """Write a file in place of another; to be done last, as it cannot be taken back."""
        with _told(path), _aside(path, content) as aside:
            if path.exists():
                shutil.copymode(path, aside)
            aside.replace(path)

    def take_back(self) -> None:
        """Remove what was made, newest first."""
        for file in reversed(self._files):
            with contextlib.suppress(OSError):
                file.unlink()
        for folder in reversed(self._folders):
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def _all_or_nothing() -> Iterator[_Writer]:
    writer = _Writer()
    try:
        yield writer
    except BaseException:
        writer.take_back()
        raise


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RegressError(f"{path}: cannot be written: {error.strerror}; nothing was written") from None


@contextlib.contextmanager
def _aside(path: Path, content: bytes) -> Iterator[Path]:
    aside = path.parent / f".aside-{secrets.token_hex(8)}"
    try:
        with aside.open("xb") as stream:
            stream.write(content)
        yield aside
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
