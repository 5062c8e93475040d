"""An interrupted measurement, typed again, goes on: nothing is measured twice, nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from regress.errors import LaunchError, RegressError, StoreError
from regress.flows.compare import CompareRequest, compare
from regress.flows.progress import Silence
from regress.flows.run import RunRequest, run
from regress.flows.undertaking import Means
from regress.flows.workplace import Workplace
from regress.launch.fake import failing
from regress.launch.launcher import Job
from regress.record.comparison import SuiteComparison
from regress.record.outcome import Outcome
from regress.record.run import Run
from regress.record.series import RankSeries
from regress.spec.benchmark import Benchmark
from regress.spec.plan import read_plan
from regress.store import files
from tests.flows.project import BLOCKS, CATALOG, DDP, EQUAL, SLOWER, Fakes, git, measured, stored_runs

CRASH = Outcome(kind="died", rank=1, status=-9, message="ended by SIGKILL")
FLAKY = failing(SLOWER, CRASH, sides=["head"], name="ddp", blocks=[2])
"""A slower head that fails once, so that a block takes more than one launch."""

BOTH_FAIL = failing(EQUAL, CRASH, name="ddp", blocks=[0])
"""Sides that both need a second launch of a block in which each is alone."""

Asked = tuple[int, str, str]
"""Block, side and benchmark that a launcher was asked for."""


class Interrupting:
    """Follows a script up to the n-th measurement, and then raises."""

    def __init__(self, script: Callable[..., object], after: int, error: BaseException) -> None:
        self._script, self._after, self._error = script, after, error
        self.asked: list[Asked] = []

    def __call__(self, job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        if len(self.asked) == self._after:
            raise self._error
        self.asked.append((job.block, side, benchmark.label))
        return self._script(job, side, benchmark)  # type: ignore[return-value]


def recorded(script: Callable[..., object]) -> Interrupting:
    """Follows a script to its end, and remembers what it was asked."""
    return Interrupting(script, 10**9, RuntimeError())


def kept(project: Path) -> list[Asked]:
    return [
        (launch.block, run.manifest.role, measurement.benchmark)
        for run in stored_runs(project)
        for launch in run.launches
        for measurement in launch.measurements
    ]


def essence(answer: SuiteComparison) -> SuiteComparison:
    """What does not depend on when a measurement was begun and what its runs are called."""
    sides = (replace(side, run="", folder="") for side in (answer.base, answer.head))
    base, head = sides
    return replace(answer, base=base, head=head, started="")


def launches(run: Run) -> list[object]:
    return [replace(launch, run="") for launch in run.launches]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), LaunchError("the server has ended")], ids=repr)
@pytest.mark.parametrize(
    ("script", "moments"),
    [(EQUAL, range(0, 28, 3)), (FLAKY, range(1, 28, 3)), (BOTH_FAIL, range(10))],
    ids=["sound", "failing once", "failing alone on both sides"],
)
def test_interrupted_anywhere_it_goes_on_to_the_same_answer(
    project: Path, tmp_path: Path, error: BaseException, script: Callable[..., object], moments: range
) -> None:
    whole = recorded(script)
    expected = essence(measured(project, Fakes(whole)))
    unbroken = {each.manifest.role: launches(each) for each in stored_runs(project)}
    (project / ".regress").rename(tmp_path / "uninterrupted")
    for after in moments:
        broken = Interrupting(script, after, error)
        with pytest.raises(type(error)):
            measured(project, Fakes(broken))
        before = kept(project)
        rest = recorded(script)
        answer = measured(project, Fakes(rest))
        assert essence(answer) == expected
        assert Counter(before) + Counter(rest.asked) == Counter(whole.asked), after
        assert {each.manifest.role: launches(each) for each in stored_runs(project)} == unbroken
        (project / ".regress").rename(tmp_path / f"after-{after}")


def test_killed_at_random_moments_it_goes_on_to_the_same_answer(project: Path, tmp_path: Path) -> None:
    """The command is killed with SIGKILL, twenty times at a moment drawn from all that it takes."""

    def slowly(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        time.sleep(0.02)  # so that measuring is what most of the time goes into
        return FLAKY(job, side, benchmark)

    start_s = time.monotonic()
    assert child(lambda: measured(project, Fakes(slowly)), None) == 0
    takes_s = time.monotonic() - start_s
    whole, unbroken = Counter(kept(project)), [launches(each) for each in stored_runs(project)]
    (project / ".regress").rename(tmp_path / "uninterrupted")
    draw = random.Random(20)
    reached = set()
    for number in range(20):
        child(lambda: measured(project, Fakes(slowly)), draw.uniform(0.05, 0.95) * takes_s)
        complete = [each.complete for each in stored_runs(project)]
        before = Counter(kept(project))
        rest = recorded(FLAKY)
        measured(project, Fakes(rest))
        if complete != [True, True]:  # the kill came before the end
            reached.add(before.total())
            assert not before & Counter(rest.asked)  # nothing is measured twice
            assert Counter(kept(project)) == whole
            assert [launches(each) for each in stored_runs(project)] == unbroken
        assert all(each.complete for each in stored_runs(project))
        (project / ".regress").rename(tmp_path / f"killed-{number}")
    assert len(reached) > 5, "the moments were not spread over the comparison"


def child(deed: Callable[[], object], kill_after_s: float | None) -> int:
    """Do something in a process of its own, killed after a time; returns how it ended."""
    pid = os.fork()
    if pid == 0:
        try:
            deed()
            os._exit(0)
        except BaseException:
            os._exit(1)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def interrupted(project: Path, after: int = 8) -> None:
    with pytest.raises(LaunchError):
        measured(project, Fakes(Interrupting(EQUAL, after, LaunchError("ended"))))


@pytest.mark.parametrize(
    "change",
    ["commit", "suite", "torch", "platform", "definition", "fresh", "seed"],
)
def test_what_is_not_the_same_begins_anew(project: Path, change: str) -> None:
    interrupted(project)
    head, means = "HEAD", Means(seed=1)
    catalog = CATALOG
    if change == "commit":
        git(project, "commit", "--quiet", "--allow-empty", "--message", "Next")
    elif change == "suite":
        suite = project / "configs" / "commit.yaml"
        suite.write_text(suite.read_text().replace("burst: 3", "burst: 4"))
    elif change == "torch":
        catalog = replace(CATALOG, torch="2.14.0+cpu")
    elif change == "platform":
        catalog = replace(CATALOG, platform=replace(CATALOG.platform, host="another"))
    elif change == "definition":
        changed = tuple(replace(each, digest="other") for each in CATALOG.definitions)
        catalog = replace(CATALOG, definitions=changed)
    else:
        means = Means(seed=2) if change == "seed" else Means(seed=1, fresh=True)
    whole = recorded(EQUAL)
    request = CompareRequest(base="HEAD~1", head=head, means=means)
    compare(Workplace.around(project), request, Silence(), Fakes(whole, base=catalog, head=catalog).machinery)
    assert len(whole.asked) == 2 * 2 * BLOCKS
    assert len(stored_runs(project)) == 4


def test_another_name_of_the_same_commit_goes_on(project: Path) -> None:
    interrupted(project)
    commit = git(project, "rev-parse", "HEAD")
    rest = recorded(EQUAL)
    request = CompareRequest(base="main~1", head=commit, means=Means(seed=1))
    compare(Workplace.around(project), request, Silence(), Fakes(rest).machinery)
    assert 0 < len(rest.asked) < 2 * 2 * BLOCKS
    assert len(stored_runs(project)) == 2


def test_without_a_seed_the_one_that_was_drawn_goes_on(project: Path) -> None:
    request = CompareRequest(base="HEAD~1", head="HEAD")
    place = Workplace.around(project)
    with pytest.raises(LaunchError):
        compare(place, request, Silence(), Fakes(Interrupting(EQUAL, 9, LaunchError("ended"))).machinery)
    plan = stored_runs(project)[0].manifest.plan
    rest, whole = Fakes(EQUAL), Fakes(EQUAL)
    compare(place, request, Silence(), rest.machinery)
    assert {each.manifest.plan for each in stored_runs(project)} == {plan}
    same = replace(request, means=Means(seed=read_plan(plan).seed, fresh=True))
    compare(place, same, Silence(), whole.machinery)
    orders = [[(job.block, job.turns) for job in each.launchers[0].jobs] for each in (rest, whole)]
    assert 0 < len(orders[0]) < len(orders[1])
    assert orders[0] == orders[1][-len(orders[0]) :]


def test_what_is_complete_is_measured_anew(project: Path) -> None:
    measured(project, Fakes(EQUAL))
    whole = recorded(EQUAL)
    measured(project, Fakes(whole))
    assert len(whole.asked) == 2 * 2 * BLOCKS


def test_changed_files_are_not_measured_into_the_run_of_others(project: Path) -> None:
    place = Workplace.around(project)
    request = RunRequest(suite="commit")
    with pytest.raises(LaunchError):
        run(place, request, Silence(), Fakes(Interrupting(EQUAL, 3, LaunchError("ended"))).machinery)
    (project / "model.py").write_text("WIDTH = 5\n")
    whole = recorded(EQUAL)
    run(Workplace.around(project), request, Silence(), Fakes(whole).machinery)
    assert len(whole.asked) == 2 * 6
    (project / "model.py").write_text("WIDTH = 2\n")
    rest = recorded(EQUAL)
    run(Workplace.around(project), request, Silence(), Fakes(rest).machinery)
    assert len(rest.asked) < 2 * 6


def test_what_a_full_store_had_no_room_for_is_not_measured_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = 8

    def full(path: Path, content: bytes) -> None:
        nonlocal room
        if ".regress" in path.parts:
            room -= 1
            if room < 0:
                raise StoreError(f"{path}: cannot be written: No space left on device; make room")
        files.publish(path, content)

    broken = recorded(EQUAL)
    with monkeypatch.context() as patched:
        patched.setattr("regress.store.runset.publish", full)
        patched.setattr("regress.store.writer.publish", full)
        with pytest.raises(RegressError, match=r"No space left on device.* type the same command again"):
            measured(project, Fakes(broken))
    rest = recorded(EQUAL)
    measured(project, Fakes(rest))
    assert Counter(broken.asked) + Counter(rest.asked) == Counter(
        (block, side, label)
        for block in range(BLOCKS)
        for side in ("base", "head")
        for label in (DDP, "fsdp[world=2]")
    )
