"""Whole comparisons with launches that follow a script: from two revisions to an exit status."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regress.errors import LaunchError, RequestError, SpecError
from regress.flows.compare import CompareRequest, compare, report
from regress.flows.machinery import Machinery
from regress.flows.progress import Silence
from regress.flows.run import RunRequest, run
from regress.flows.stored import stored_run
from regress.flows.undertaking import Means
from regress.flows.workplace import Workplace
from regress.launch.fake import Pace, failing, paced
from regress.launch.launcher import Job
from regress.record.outcome import Outcome
from regress.record.series import RankSeries
from regress.spec.benchmark import Benchmark, Catalog, ImportFailure
from tests.flows.project import (
    BLOCKS,
    CATALOG,
    DDP,
    EQUAL,
    FSDP,
    ONLY_DDP,
    SLOWER,
    Fakes,
    git,
    measured,
    step_of,
    stored_runs,
    without_command,
)

CRASH = Outcome(kind="died", rank=1, status=-9, message="ended by SIGKILL")


def no_catalogs(*_: object) -> list[Catalog]:
    raise AssertionError("nothing is measured, so no benchmark is read")


NOTHING = Machinery(catalogs=no_catalogs)
"""For what must not be measured."""


def test_planted_slowdown_is_regressed(project: Path) -> None:
    answer = measured(project, Fakes(SLOWER))
    found = step_of(answer, DDP)
    assert (answer.verdict, answer.exit_status) == ("regressed", 1)
    assert (found.verdict, found.design) == ("regressed", "paired")
    assert found.change == pytest.approx(0.2, abs=0.01)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.2 < found.high


def test_equal_sides_are_unchanged(project: Path) -> None:
    answer = measured(project, Fakes(EQUAL))
    assert (answer.verdict, answer.exit_status) == ("unchanged", 0)
    assert {each.verdict for each in answer.comparisons if each.role == "gate"} == {"unchanged"}
    assert answer.outcomes == ()


def test_a_byte_more_is_regressed_although_it_is_as_fast(project: Path) -> None:
    script = paced({"base": Pace(), "head": Pace(peak_allocated_bytes=(1 << 20) + 1)})
    answer = measured(project, Fakes(script))
    assert step_of(answer, DDP).verdict == "unchanged"
    assert (answer.verdict, answer.exit_status) == ("regressed", 1)


def test_runs_are_kept_complete_and_paired(project: Path) -> None:
    fakes = Fakes(EQUAL)
    answer = measured(project, fakes)
    base, head = stored_runs(project)
    assert base.complete
    assert head.complete
    assert base.manifest.comparison == head.manifest.comparison
    assert (base.manifest.side, head.manifest.side) == ("HEAD~1", "HEAD")
    assert (answer.base.run, answer.head.run) == (base.manifest.run, head.manifest.run)
    assert base.manifest.commit == git(project, "rev-parse", "HEAD~1")
    assert head.manifest.benchmarks_from == git(project, "rev-parse", "HEAD")[:12]
    plan = json.loads(base.manifest.plan)
    hashes = [git(project, "rev-parse", rev)[:12] for rev in ("HEAD~1", "HEAD")]
    assert answer.command == f"regress compare {hashes[0]} {hashes[1]} --seed {plan['seed']}"
    for kept in (base, head):
        assert [launch.block for launch in kept.launches] == list(range(BLOCKS))
        assert [launch.alone for launch in kept.launches] == [True] + [False] * (BLOCKS - 1)
    (launcher,) = fakes.launchers
    assert not launcher.open
    assert launcher.renewals == BLOCKS
    assert [job.attempt for job in launcher.jobs] == [0] * BLOCKS


def test_each_side_runs_its_revision_and_both_run_heads_benchmarks(project: Path) -> None:
    fakes = Fakes(EQUAL)
    measured(project, fakes)
    codes = {request.side: request.code for request in fakes.launchers[0].jobs[0].requests}
    assert codes["base"].benchmarks == codes["head"].benchmarks
    assert Path(codes["head"].path[0]) == Path(codes["head"].benchmarks).parent
    assert (Path(codes["base"].path[0]) / "model.py").read_text() == "WIDTH = 1\n"
    assert (Path(codes["head"].path[0]) / "model.py").read_text() == "WIDTH = 2\n"
    assert len(codes["base"].path[0]) == len(codes["head"].path[0])


def test_head_that_always_crashes_is_broken(project: Path) -> None:
    answer = measured(project, Fakes(failing(EQUAL, CRASH, sides=["head"], name="ddp")))
    assert (step_of(answer, DDP).verdict, step_of(answer, FSDP).verdict) == ("broken", "unchanged")
    assert (answer.verdict, answer.exit_status) == ("broken", 1)
    assert [failure.block for failure in answer.outcomes] == list(range(BLOCKS))


def test_head_that_crashes_once_is_inconclusive_whatever_the_others_say(project: Path) -> None:
    answer = measured(project, Fakes(failing(SLOWER, CRASH, sides=["head"], name="ddp", blocks=[3])))
    found = step_of(answer, DDP)
    assert (found.verdict, answer.outcomes[0].block) == ("inconclusive", 3)
    assert found.reason.startswith("failed once: head")
    assert step_of(answer, FSDP).verdict == "regressed"


def test_head_that_crashes_once_among_equals_does_not_pass(project: Path) -> None:
    answer = measured(project, Fakes(failing(EQUAL, CRASH, sides=["head"], name="ddp", blocks=[3])))
    assert (answer.verdict, answer.exit_status) == ("inconclusive", 3)


def test_both_sides_crash(project: Path) -> None:
    answer = measured(project, Fakes(failing(EQUAL, CRASH, name="ddp")))
    assert step_of(answer, DDP).verdict == "inconclusive"
    assert "both sides fail" in step_of(answer, DDP).reason
    assert (answer.verdict, answer.exit_status) == ("inconclusive", 3)


@pytest.mark.parametrize("name", ["ddp", "fsdp"])
def test_a_crash_takes_only_its_benchmark_along(project: Path, name: str) -> None:
    fakes = Fakes(failing(EQUAL, CRASH, sides=["head"], name=name, blocks=[0, 2]))
    measured(project, fakes)
    base, head = stored_runs(project)
    for kept in (base, head):
        for block in range(BLOCKS):
            tried = [
                measurement.benchmark
                for launch in kept.launches
                if launch.block == block
                for measurement in launch.measurements
            ]
            assert sorted(tried) == [DDP, FSDP]  # each once, in one launch or in two
    again = [job for job in fakes.launchers[0].jobs if job.attempt]
    assert {job.block for job in again} <= {0, 2}
    assert all(job.attempt == 1 for job in again)
    assert len({job.scratch for job in fakes.launchers[0].jobs}) == len(fakes.launchers[0].jobs)


def test_the_rest_is_launched_again_in_the_same_block(project: Path) -> None:
    def first_dies(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        first = job.requests[0].benchmarks[0]
        dies = job.attempt == 0 and side == "head" and benchmark == first and job.block == 2
        return CRASH if dies else EQUAL(job, side, benchmark)

    fakes = Fakes(first_dies)
    measured(project, fakes)
    (again,) = (job for job in fakes.launchers[0].jobs if job.attempt)
    assert (again.block, len(again.requests)) == (2, 2)
    assert all(len(request.benchmarks) == 1 for request in again.requests)
    assert {label for label, _ in again.turns} == {again.requests[0].benchmarks[0].label}
    for kept in stored_runs(project):
        assert [launch.attempt for launch in kept.launches if launch.block == 2] == [0, 1]


def test_logs_of_failures_are_kept_and_named(project: Path) -> None:
    crash = replace(CRASH, message="RuntimeError: out \x1b[31mof luck")
    answer = measured(project, Fakes(failing(EQUAL, crash, sides=["head"], name="ddp", blocks=[0])))
    (failure,) = answer.outcomes
    assert failure.outcome.log == "logs/launch-0-w2-0/rank1.log"
    log = Path(answer.head.folder) / failure.outcome.log
    assert log.read_text() == "RuntimeError: out \x1b[31mof luck\n"
    assert not (Path(answer.base.folder) / "logs").exists()


def test_what_only_head_has_is_new(project: Path) -> None:
    only_ddp = ONLY_DDP
    fakes = Fakes(EQUAL, base=only_ddp)
    answer = measured(project, fakes)
    assert (step_of(answer, FSDP).verdict, step_of(answer, DDP).verdict) == ("new", "unchanged")
    assert answer.exit_status == 0
    asked = {request.side: len(request.benchmarks) for request in fakes.launchers[0].jobs[0].requests}
    assert asked == {"base": 1, "head": 2}


def test_what_only_base_has_cannot_be_asked_for(project: Path) -> None:
    with pytest.raises(SpecError, match="unknown benchmark 'fsdp'"):
        measured(project, Fakes(EQUAL, head=ONLY_DDP))
    assert stored_runs(project) == []


def test_benchmarks_that_cannot_be_imported_are_refused_with_their_place(project: Path) -> None:
    failure = ImportFailure(file="train.py", line=7, message="NameError: name 'x' is not defined")
    with pytest.raises(RequestError, match=r"benchmarks/train\.py:7: cannot be imported: NameError"):
        measured(project, Fakes(EQUAL, head=replace(CATALOG, failures=(failure,))))
    assert stored_runs(project) == []


@pytest.mark.parametrize("end", [KeyboardInterrupt, LaunchError("no server")])
def test_what_was_measured_before_the_end_is_kept_open(
    project: Path, end: type[BaseException] | BaseException
) -> None:
    def ending(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        if job.block == 3:
            raise end
        return EQUAL(job, side, benchmark)

    fakes = Fakes(ending)
    with pytest.raises((KeyboardInterrupt, LaunchError)):
        measured(project, fakes)
    assert not fakes.launchers[0].open
    for kept in stored_runs(project):
        assert [launch.block for launch in kept.launches] == [0, 1, 2]
        assert not kept.complete
        assert not (Path(kept.folder) / "done.json").exists()


def test_an_interrupted_comparison_can_be_reported_and_says_so(project: Path) -> None:
    def ending(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        if job.block == BLOCKS - 1:
            raise KeyboardInterrupt
        return SLOWER(job, side, benchmark)

    with pytest.raises(KeyboardInterrupt):
        measured(project, Fakes(ending))
    base, head = stored_runs(project)
    answer = report(Workplace.around(project), base.manifest.run, head.manifest.run)
    assert "the run of head was not finished" in answer.notes
    assert step_of(answer, DDP).verdict == "regressed"


def test_stored_runs_give_the_answer_again(project: Path) -> None:
    answer = measured(project, Fakes(SLOWER))
    place = Workplace.around(project)
    by_identity = CompareRequest(base=answer.base.run, head=f"run:{answer.head.run}")
    folders = [str(Path(side.folder).relative_to(project)) for side in (answer.base, answer.head)]
    by_folder = CompareRequest(base=folders[0], head=f"file:{folders[1]}")
    answers = [
        report(place, answer.base.run, answer.head.run),
        compare(place, by_identity, Silence(), NOTHING),
        compare(place, by_folder, Silence(), NOTHING),
    ]
    assert {without_command(each) for each in answers} == {without_command(answer)}
    assert answers[0].command == f"regress report {answer.base.run} {answer.head.run}"
    assert answers[1].command == f"regress compare {answer.base.run} run:{answer.head.run}"
    assert len(stored_runs(project)) == 2


def test_stored_runs_are_judged_by_their_own_suite_unless_another_is_named(project: Path) -> None:
    strict = (project / "configs" / "commit.yaml").read_text()
    (project / "configs" / "other.yaml").write_text(strict.replace("0.05", "0.5"))
    answer = measured(project, Fakes(SLOWER))
    place = Workplace.around(project)
    request = CompareRequest(base=answer.base.run, head=answer.head.run)
    assert compare(place, request, Silence(), NOTHING).min_change == 0.05
    lenient = compare(place, replace(request, suite="other"), Silence(), NOTHING)
    assert (lenient.min_change, step_of(lenient, DDP).verdict) == (0.5, "unchanged")


def test_runs_measured_apart_are_not_paired(project: Path) -> None:
    place = Workplace.around(project)
    ids = [
        run(
            place,
            RunRequest(suite="commit", side=side, means=Means(seed=1)),
            Silence(),
            Fakes(EQUAL).machinery,
        )
        for side in ("HEAD~1", "HEAD")
    ]
    answer = report(place, *(each.manifest.run for each in ids))
    assert step_of(answer, DDP).design == "unpaired"
    assert any("not measured together" in note for note in answer.notes)


def test_runs_of_two_suites_are_refused(project: Path) -> None:
    (project / "configs" / "other.yaml").write_text((project / "configs" / "commit.yaml").read_text())
    place = Workplace.around(project)
    ids = [
        run(place, RunRequest(suite=suite, side="HEAD"), Silence(), Fakes(EQUAL).machinery).manifest.run
        for suite in ("commit", "other")
    ]
    with pytest.raises(RequestError, match=f"run {ids[0]} is of suite 'commit', and run {ids[1]} of 'other'"):
        report(place, *ids)


@pytest.mark.parametrize("option", [{"benchmarks_from": "HEAD"}, {"means": Means(seed=3)}])
def test_stored_runs_take_no_option_of_measuring(project: Path, option: dict[str, Any]) -> None:
    answer = measured(project, Fakes(EQUAL))
    request = replace(CompareRequest(base=answer.base.run, head=answer.head.run), **option)
    with pytest.raises(RequestError, match="not measured again"):
        compare(Workplace.around(project), request, Silence(), NOTHING)


def test_beside_a_revision_the_commit_of_a_stored_run_is_measured_again(project: Path) -> None:
    before = measured(project, Fakes(EQUAL))
    request = CompareRequest(base=before.base.run, head="HEAD", means=Means(seed=1))
    answer = compare(Workplace.around(project), request, Silence(), Fakes(EQUAL).machinery)
    assert answer.base.commit == before.base.commit
    assert answer.base.run != before.base.run
    assert step_of(answer, DDP).design == "paired"


def test_a_stored_run_is_taken_as_it_is_when_asked_for(project: Path) -> None:
    place = Workplace.around(project)
    kept = run(place, RunRequest(suite="commit", side="HEAD~1"), Silence(), Fakes(EQUAL).machinery)
    request = CompareRequest(base=kept.manifest.run, head="HEAD", stored=True)
    slower = Fakes(paced({"only": Pace(step_s=0.012)}))
    answer = compare(place, request, Silence(), slower.machinery)
    assert {entry.side for job in slower.launchers[0].jobs for entry in job.requests} == {"only"}
    assert (answer.base.run, step_of(answer, DDP).design) == (kept.manifest.run, "unpaired")
    assert step_of(answer, DDP).head.launches == 7  # the suite has 6 blocks, too few for an unpaired test
    assert step_of(answer, DDP).change == pytest.approx(0.2, abs=0.02)
    turned = CompareRequest(base="HEAD", head=kept.manifest.run, stored=True)
    answer = compare(place, turned, Silence(), Fakes(paced({"only": Pace(step_s=0.012)})).machinery)
    assert step_of(answer, DDP).change == pytest.approx(-1 / 6, abs=0.02)


def test_stored_runs_are_measured_again_when_asked_for(project: Path) -> None:
    before = measured(project, Fakes(EQUAL))
    request = CompareRequest(base=before.base.run, head=before.head.run, stored=False)
    answer = compare(Workplace.around(project), request, Silence(), Fakes(EQUAL).machinery)
    assert (answer.base.commit, answer.head.commit) == (before.base.commit, before.head.commit)
    assert answer.head.run != before.head.run


def test_what_is_of_no_commit_cannot_be_measured_again(project: Path) -> None:
    place = Workplace.around(project)
    (project / "model.py").write_text("WIDTH = 3\n")
    kept = run(place, RunRequest(suite="commit"), Silence(), Fakes(EQUAL).machinery)
    assert kept.manifest.subject.startswith("uncommitted changes on ")
    request = CompareRequest(base=kept.manifest.run, head="HEAD")
    with pytest.raises(RequestError, match=r"is of no commit and cannot be measured again; add --stored"):
        compare(place, request, Silence(), NOTHING)


def test_nothing_is_stored_of_two_revisions(project: Path) -> None:
    request = CompareRequest(base="HEAD~1", head="HEAD", stored=True)
    with pytest.raises(RequestError, match="--stored: neither side is stored"):
        compare(Workplace.around(project), request, Silence(), NOTHING)


def test_one_launch_of_a_stored_run(project: Path) -> None:
    before = measured(project, Fakes(EQUAL))
    (folder,) = (project / ".regress" / "store" / "commit").glob(f"*-{before.base.run}")
    kept = stored_run(Workplace.around(project), str(folder / "launch-3-w2-0.json"))
    assert [launch.block for launch in kept.launches] == [3]


def test_the_working_tree_is_measured_with_what_is_not_committed(project: Path) -> None:
    (project / "model.py").write_text("WIDTH = 3\n")
    (project / "new.py").write_text("NEW = 1\n")
    (project / "benchmarks" / "train.py").write_text("# changed as well\n")
    fakes = Fakes(EQUAL)
    request = CompareRequest(base="HEAD", head="WORKTREE", means=Means(seed=1))
    answer = compare(Workplace.around(project), request, Silence(), fakes.machinery)
    codes = {entry.side: entry.code for entry in fakes.launchers[0].jobs[0].requests}
    head = Path(codes["head"].path[0])
    assert (head / "model.py").read_text() == "WIDTH = 3\n"
    assert (head / "new.py").read_text() == "NEW = 1\n"
    assert (Path(codes["base"].path[0]) / "model.py").read_text() == "WIDTH = 2\n"
    assert len(str(head)) == len(codes["base"].path[0])
    assert {code.benchmarks for code in codes.values()} == {str(head / "benchmarks")}
    assert answer.head.commit is None
    assert answer.head.subject.startswith("uncommitted changes on ")
    assert answer.command.startswith(f"regress compare {git(project, 'rev-parse', 'HEAD')[:12]} WORKTREE ")
    assert git(project, "status", "--porcelain").splitlines() == [
        "M benchmarks/train.py", " M model.py", "?? new.py",
    ]  # fmt: skip


def test_a_working_tree_without_changes_is_its_commit(project: Path) -> None:
    request = CompareRequest(base="HEAD", head="WORKTREE", means=Means(seed=1))
    answer = compare(Workplace.around(project), request, Silence(), Fakes(EQUAL).machinery)
    assert answer.head.commit == answer.base.commit == git(project, "rev-parse", "HEAD")


def test_a_baseline_is_no_head(project: Path) -> None:
    request = CompareRequest(base="HEAD", head="baseline")
    with pytest.raises(RequestError, match="write it as BASE"):
        compare(Workplace.around(project), request, Silence(), NOTHING)


def test_a_revision_is_no_stored_run(project: Path) -> None:
    with pytest.raises(RequestError, match="'HEAD' is no stored run"):
        stored_run(Workplace.around(project), "HEAD")


def test_the_same_seed_plans_the_same(project: Path) -> None:
    measured(project, Fakes(EQUAL))
    measured(project, Fakes(EQUAL))
    assert len({kept.manifest.plan for kept in stored_runs(project)}) == 1


def test_benchmarks_of_another_revision(project: Path) -> None:
    (project / "benchmarks" / "train.py").write_text("# changed, not committed\n")
    fakes = Fakes(EQUAL)
    request = CompareRequest(base="HEAD~1", head="HEAD", benchmarks_from="WORKTREE")
    compare(Workplace.around(project), request, Silence(), fakes.machinery)
    (folder,) = {request.code.benchmarks for request in fakes.launchers[0].jobs[0].requests}
    assert (Path(folder) / "train.py").read_text() == "# changed, not committed\n"
    assert stored_runs(project)[0].manifest.benchmarks_from == "WORKTREE"
