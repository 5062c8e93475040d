"""`regress doctor`: what this machine can measure, and what on it will disturb a measurement."""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from regress.errors import LaunchError, RegressError, RequestError
from regress.flows.disturbances import fine, gpu_checks, host_checks, lock_check, unknown
from regress.flows.revisions import Repository
from regress.flows.workplace import Workplace
from regress.launch.accelerators import Accelerators, read_accelerators
from regress.launch.activity import Activity, read_activity
from regress.launch.catalogs import read_catalogs
from regress.launch.host import Host, free_bytes, read_host
from regress.launch.launcher import Code
from regress.launch.lock import measurements
from regress.record.diagnosis import Check, Diagnosis, Interpreter
from regress.spec.benchmark import Catalog
from regress.spec.load import PROJECT_FILE, load_suite, suite_files
from regress.spec.side import CodeSide
from regress.units import quantity

LEAST_TORCH = (2, 6)
"""The oldest version that ranks run with."""

LEAST_BYTES = 1 << 30
"""Room that a store or a cache should have."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where the facts come from; tests put fakes there."""

    catalogs: Callable[[Sequence[Code], Path], Sequence[Catalog]] = read_catalogs
    """Imports torch with each interpreter; the folder is the cache."""

    activity: Callable[[], Activity] = read_activity
    """Watches what others do."""

    measurements: Callable[[], Sequence[str]] = measurements
    """Says who measures here now."""

    host: Callable[[], Host] = read_host
    """Reads what the kernel tells."""

    accelerators: Callable[[], Accelerators] = read_accelerators
    """Asks the driver of the GPUs."""


THIS_MACHINE = Sources()
"""The real ones."""


def diagnose(folder: Path, sources: Sources = THIS_MACHINE) -> Diagnosis:
    """Look at the machine, and at the project around a folder; nothing is written.

    Raises:
        RegressError: There is no room for a temporary file.
    """
    activity = sources.activity()  # first: whatever comes later would be seen as load
    accelerators = sources.accelerators()
    workplace, project = _project(folder)
    probed = _probe(workplace, sources)
    interpreters = tuple(interpreter for interpreter, _ in probed)
    capable = any(interpreter.ranks for interpreter in interpreters)
    checks = [check if capable else _stopping(check) for _, check in probed]
    checks += _unused_gpus(interpreters, accelerators)
    checks += project
    if workplace is not None:
        checks += _places(workplace)
        checks += _suites(workplace)
    checks.append(lock_check(sources.measurements()))
    checks += host_checks(sources.host(), activity)
    checks += gpu_checks(accelerators)
    can_measure = not any(check.state == "stops" for check in checks)
    return Diagnosis(
        host=socket.gethostname(),
        can_measure=can_measure,
        exit_status=0 if can_measure else 3,
        interpreters=interpreters,
        checks=tuple(checks),
    )


def _project(folder: Path) -> tuple[Workplace | None, list[Check]]:
    checks = [_repository(folder)]
    try:
        workplace = Workplace.around(folder)
    except RequestError as error:
        lines = str(error).splitlines()
        more = f" (first of {len(lines)})" if len(lines) > 1 else ""
        checks.append(
            Check(name="project file", state="stops", text=f"{lines[0]}{more}", advice="correct it")
        )
        return None, checks
    loaded = workplace.project
    there = (loaded.root / "configs" / PROJECT_FILE).exists()
    checks.append(fine("project file", f"configs/{PROJECT_FILE}" if there else "none; the defaults hold"))
    if loaded.benchmarks.is_dir():
        checks.append(fine("benchmarks", str(loaded.benchmarks)))
    else:
        checks.append(fine("benchmarks", "the installed ones; `regress init` writes a first one here"))
    return workplace, checks


def _repository(folder: Path) -> Check:
    try:
        repository = Repository.around(folder)
    except RequestError as error:
        return Check(name="git", state="wrong", text=f"no revisions can be compared: {error}")
    if not repository.has("HEAD"):
        text = f"the repository {repository.root} has no commit yet"
        return Check(name="git", state="wrong", text=text, advice="commit something to compare with")
    return fine("git", str(repository.root))


def _probe(workplace: Workplace | None, sources: Sources) -> list[tuple[Interpreter, Check]]:
    """Import torch with the interpreter that runs regress and with those of the project, all at once."""
    environments = sorted(workplace.project.project.environments) if workplace else []
    try:
        with tempfile.TemporaryDirectory(prefix="regress-") as name:
            place = Path(name)
            (place / "benchmarks").mkdir()
            names = [None, *environments]
            with ThreadPoolExecutor(max_workers=len(names)) as pool:
                return list(pool.map(lambda each: _probe_one(each, workplace, place, sources), names))
    except OSError as error:
        raise RegressError(f"no temporary files can be written: {error.strerror}; set TMPDIR") from None


def _probe_one(
    name: str | None, workplace: Workplace | None, place: Path, sources: Sources
) -> tuple[Interpreter, Check]:
    what = "torch" if name is None else f"environment {name}"
    benchmarks, python = place / "benchmarks", sys.executable
    code = Code(python=python, variables=(), path=(), benchmarks=str(benchmarks))
    try:
        if workplace is not None and name is not None:
            side = CodeSide(rev=None, environment=name)
            code = workplace.prepare("only", name, side, benchmarks).code
        python = code.python
        (catalog,) = sources.catalogs([code], place)
    except RequestError as error:
        return _nothing(name, python), Check(name=what, state="wrong", text=str(error))
    except LaunchError as error:
        return _nothing(name, python), _without_torch(what, python, str(error), benchmarks)
    if _is_old(catalog.torch):
        text = f"{catalog.torch} in {python} is older than {'.'.join(map(str, LEAST_TORCH))}"
        check = Check(name=what, state="wrong", text=text, advice=_install(python))
        return replace(_nothing(name, python), torch=catalog.torch), check
    interpreter = Interpreter(
        environment=name,
        python=python,
        torch=catalog.torch,
        device=catalog.device,
        backend="nccl" if catalog.device == "cuda" else "gloo",
        ranks=catalog.ranks,
        devices=catalog.platform.devices,
    )
    return interpreter, fine(what, f"{catalog.torch} in {python}")


def _nothing(name: str | None, python: str) -> Interpreter:
    return Interpreter(environment=name, python=python, torch=None, device=None, backend=None, ranks=None)


def _without_torch(what: str, python: str, message: str, benchmarks: Path) -> Check:
    if "No module named 'torch'" in message:
        return Check(name=what, state="wrong", text=f"torch is not in {python}", advice=_install(python))
    text = message.replace(f"read {benchmarks}", "import torch")
    return Check(name=what, state="wrong", text=text, advice=f"`{python} -c 'import torch'` says more")


def _install(python: str) -> str:
    return f"`{python} -m pip install 'torch>={'.'.join(map(str, LEAST_TORCH))}'`"


def _is_old(version: str) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < LEAST_TORCH


def _stopping(check: Check) -> Check:
    return replace(check, state="stops") if check.state == "wrong" else check


def _unused_gpus(interpreters: Sequence[Interpreter], accelerators: Accelerators) -> Iterator[Check]:
    """GPUs that the driver knows and torch does not use, and the other way round."""
    for interpreter in interpreters:
        if interpreter.device == "cpu" and accelerators.gpus:
            where = (
                f"environment {interpreter.environment}" if interpreter.environment else interpreter.python
            )
            number = len(accelerators.gpus)
            text = (
                f"torch {interpreter.torch} in {where} uses none of the {number} GPUs here: ranks run on CPU"
            )
            advice = "install a build of torch for CUDA; see that CUDA_VISIBLE_DEVICES hides none"
            yield Check(name="torch and GPUs", state="wrong", text=text, advice=advice)
    if any(interpreter.device == "cuda" for interpreter in interpreters) and accelerators == Accelerators():
        yield unknown("state of the GPUs")


def _places(workplace: Workplace) -> Iterator[Check]:
    """Folders that a measurement writes to."""
    yield _place("store", workplace.project.store, "set another 'store' in configs/project.yaml")
    yield _place("cache", workplace.cache, "set REGRESS_CACHE to another folder")


def _place(name: str, folder: Path, otherwise: str, least_bytes: int = LEAST_BYTES) -> Check:
    there = next(parent for parent in (folder, *folder.parents) if os.path.lexists(parent))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        advice = f"make it writable, or {otherwise}"
        return Check(name=name, state="stops", text=f"{there} cannot be written", advice=advice)
    room = free_bytes(there)
    if room is not None and room < least_bytes:
        text = f"only {quantity(room, 'B')} free in {there}"
        return Check(name=name, state="wrong", text=text, advice=f"make room, or {otherwise}")
    return fine(name, str(folder) if room is None else f"{folder}, {quantity(room, 'B')} free")


def _suites(workplace: Workplace) -> Iterator[Check]:
    names = []
    for name, file in sorted(suite_files(workplace.project.root).items()):
        try:
            load_suite(file)
        except RequestError as error:
            text = str(error).splitlines()[0]
            yield Check(name=f"suite {name}", state="wrong", text=text, advice="correct it")
        else:
            names.append(name)
    yield fine("suites", ", ".join(names))
