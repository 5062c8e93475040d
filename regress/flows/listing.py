"""`regress list`: what there is to measure and what was measured."""

from __future__ import annotations

from pathlib import Path

from regress.errors import LaunchError, RegressError, RequestError
from regress.flows.machinery import THIS_HOST, Machinery
from regress.flows.workplace import INSTALLED, Workplace
from regress.launch.launcher import Code
from regress.record.inventory import Inventory, ListedBenchmark, ListedRun, ListedSuite
from regress.spec.benchmark import Definition, scalar_text
from regress.spec.load import load_suite, suite_files
from regress.spec.side import CodeSide
from regress.store.runs import list_runs, read_run


def listing(workplace: Workplace, rev: str | None, machinery: Machinery = THIS_HOST) -> Inventory:
    """List the benchmarks of a revision, else of the working tree, else the installed ones.

    Raises:
        RequestError: There is no such revision, or it has no benchmarks.
    """
    code = _code(workplace, rev)
    benchmarks, failures = _benchmarks(code, workplace, machinery)
    suites, unreadable_suites = _suites(workplace)
    runs, unreadable_runs = _runs(workplace)
    return Inventory(
        folder=code.benchmarks,
        benchmarks=benchmarks,
        failures=failures,
        suites=suites,
        runs=runs,
        unreadable=(*unreadable_suites, *unreadable_runs),
    )


def _code(workplace: Workplace, rev: str | None) -> Code:
    if rev is None and workplace.project.benchmarks.is_dir():
        return workplace.code_here()
    source = rev or INSTALLED
    side = CodeSide(rev=rev, environment=None)
    return workplace.prepare("only", source, side, workplace.benchmarks(source)).code


def _benchmarks(
    code: Code, workplace: Workplace, machinery: Machinery
) -> tuple[tuple[ListedBenchmark, ...], tuple[str, ...]]:
    """Benchmarks, and why others are missing: suites and runs can be listed without torch."""
    folder = Path(code.benchmarks)
    try:
        (catalog,) = machinery.catalogs([code], workplace.cache)
    except LaunchError as error:
        return (), (str(error),)
    failures = (f"{folder / each.file}:{each.line}: {each.message}" for each in catalog.failures)
    return tuple(_listed(folder, definition) for definition in catalog.definitions), tuple(failures)


def _listed(folder: Path, definition: Definition) -> ListedBenchmark:
    return ListedBenchmark(
        name=definition.name,
        world_sizes=definition.world_sizes,
        params=tuple((name, tuple(map(scalar_text, values))) for name, values in definition.params),
        doc=definition.doc,
        place=f"{folder / definition.file}:{definition.line}",
    )


def _suites(workplace: Workplace) -> tuple[tuple[ListedSuite, ...], tuple[str, ...]]:
    suites, unreadable = [], []
    for name, file in sorted(suite_files(workplace.project.root).items()):
        try:
            description = load_suite(file).suite.description
        except RequestError as error:
            unreadable.append(str(error).splitlines()[0])
        else:
            suites.append(ListedSuite(name=name, description=description, file=str(file)))
    return tuple(suites), tuple(unreadable)


def _runs(workplace: Workplace) -> tuple[tuple[ListedRun, ...], tuple[str, ...]]:
    runs, unreadable = [], []
    for folder in reversed(list_runs(workplace.project.store)):
        try:
            run = read_run(folder)
        except RegressError as error:
            unreadable.append(str(error))
            continue
        runs.append(
            ListedRun(
                run=run.manifest.run,
                suite=run.manifest.suite,
                side=run.manifest.side,
                commit=run.manifest.commit,
                started=run.manifest.started,
                launches=len(run.launches),
                complete=run.complete,
            )
        )
    return tuple(runs), tuple(unreadable)
