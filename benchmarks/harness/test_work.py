"""Planning, judging, reporting and storing a large suite: 500 comparisons, 100 launches."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.harness.conftest import Take
from regress.launch.fake import Pace, paced
from regress.launch.launcher import Job
from regress.record.comparison import SuiteComparison
from regress.record.outcome import Outcome
from regress.record.run import Run
from regress.record.series import RankSeries
from regress.report import data, html, terminal
from regress.spec.benchmark import Benchmark, Catalog
from regress.spec.load import load_suite
from regress.spec.plan import make_plan
from regress.store.runs import read_run
from regress.store.writer import create_run
from regress.verdict.judge import judge
from tests.flows.project import CATALOG, Fakes, definition, git, make_repository, measured, stored_runs

BENCHMARKS = 50
"""Of the suite, each with 10 metrics."""

COMPARISONS = 500
"""What two runs of them come to."""

LAUNCHES = 100
"""Of the run that is written and read."""

PACE = paced({"base": Pace(), "head": Pace(step_s=0.0102)}, noise=0.01, seed=1)


def script(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
    """Ten metrics of each benchmark: those of the pace, and two more that are counted."""
    answer = PACE(job, side, benchmark)
    if isinstance(answer, Outcome):
        return answer
    workload = replace(answer[0].workload, model_flops=1 << 30)
    count = (1 << 20) if job.counted else None
    return tuple(replace(series, workload=workload, collective_bytes=count) for series in answer)


def catalog(benchmarks: int) -> Catalog:
    """As many benchmarks on two ranks."""
    return replace(CATALOG, definitions=tuple(definition(f"train{i:03}") for i in range(benchmarks)))


def write_suite(path: Path, benchmarks: int) -> Path:
    """A suite of all of them."""
    choices = "".join(f"  - name: train{i:03}\n" for i in range(benchmarks))
    path.write_text(
        f"benchmarks:\n{choices}steps: {{warmup: 2, burst: 3, turns: 3}}\nblocks: {{count: 8, alone: 1}}\n"
    )
    return path


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder for all tests here: a repository with two measured revisions."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGRESS_CACHE", f"{name}/cache")
        patch.setenv("REGRESS_LOCKS", f"{name}/locks")
        root = make_repository(Path(name) / "project")
        write_suite(root / "configs" / "commit.yaml", BENCHMARKS)
        git(root, "commit", "--quiet", "--all", "--message", "A large suite")
        there = catalog(BENCHMARKS)
        measured(root, Fakes(script, base=there, head=there))
        yield root


@pytest.fixture(scope="module")
def runs(folder: Path) -> tuple[Run, Run]:
    """Base and head."""
    base, head = stored_runs(folder)
    return base, head


@pytest.fixture(scope="module")
def answer(folder: Path, runs: tuple[Run, Run]) -> SuiteComparison:
    """The answer to 500 comparisons."""
    answer = judge(*runs, load_suite(folder / "configs" / "commit.yaml").suite.policy, command="")
    assert len(answer.comparisons) == COMPARISONS  # noqa: S101 - what the figures below are called
    return answer


def test_plan(take: Take, tmp_path: Path) -> None:
    """Lay out a suite of 500 benchmarks."""
    loaded = load_suite(write_suite(tmp_path / "large.yaml", COMPARISONS))
    there = catalog(COMPARISONS)
    take(
        "plan 500 comparisons",
        lambda: make_plan(loaded, there, sides=("base", "head"), seed=1),
        rounds=20,
    )


def test_judge(take: Take, folder: Path, runs: tuple[Run, Run], answer: SuiteComparison) -> None:
    """Two runs to an answer."""
    policy = load_suite(folder / "configs" / "commit.yaml").suite.policy
    take(f"judge {len(answer.comparisons)} comparisons", lambda: judge(*runs, policy, command=""), rounds=10)


def test_terminal(take: Take, answer: SuiteComparison) -> None:
    """The answer for a terminal."""
    take(
        "terminal, 500 comparisons",
        lambda: terminal.render(answer, width=100, color=True),
        rounds=10,
    )


def test_json(take: Take, answer: SuiteComparison) -> None:
    """The answer for programs."""
    take("JSON, 500 comparisons", lambda: data.render(answer), rounds=10)


def test_html(take: Take, answer: SuiteComparison) -> None:
    """The page."""
    take("page, 500 comparisons", lambda: html.render(answer), rounds=10)


@pytest.fixture(scope="module")
def large(runs: tuple[Run, Run]) -> Run:
    """A run of 100 launches, of five benchmarks each."""
    few = [
        replace(launch, block=block, attempt=0, measurements=launch.measurements[:5])
        for block, launch in zip(range(LAUNCHES), itertools.cycle(runs[0].launches), strict=False)
    ]
    return replace(runs[0], launches=tuple(few))


def write(run: Run, store: Path) -> Path:
    """Store a run launch by launch and close it."""
    writer = create_run(store, run.manifest)
    for launch in run.launches:
        writer.add(launch)
    writer.close()
    return writer.folder


def test_write(take: Take, large: Run, tmp_path: Path) -> None:
    """Keep a run."""
    stores = itertools.count()
    take(
        "write a run of 100 launches",
        lambda store: write(large, store),
        setup=lambda: tmp_path / str(next(stores)),
        rounds=5,
    )


def test_read(take: Take, large: Run, tmp_path: Path) -> None:
    """Read it back, every byte checked."""
    stored = write(large, tmp_path)
    take("read a run of 100 launches", lambda: read_run(stored), rounds=5)
