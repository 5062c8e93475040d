"""Whole histories: what is stored in, one answer out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from regress.errors import RequestError
from regress.flows.history import HistoryRequest, history
from regress.flows.points import log_median
from regress.flows.progress import Silence
from regress.flows.readings import GATES
from regress.flows.workplace import Workplace
from regress.launch.fake import ENVIRONMENT, PLATFORM, Pace, Script, paced
from regress.record.history import History, Series
from regress.store.runs import list_runs
from tests.flows.kept import FIRST, commits, faster, keep, keep_all, noisy
from tests.flows.project import DDP, EQUAL, FSDP, SLOWER, Fakes, git, measured, stored_runs

STEPPED = [0.010] * 20 + [0.0105] * 20


def told(root: Path, fakes: Fakes | None = None, **asked: object) -> History:
    request = HistoryRequest(**asked)  # type: ignore[arg-type]
    return history(Workplace.around(root), request, Silence(), (fakes or Fakes(EQUAL)).machinery)


def only(answer: History) -> Series:
    (series,) = answer.series
    return series


@pytest.fixture
def order(project: Path) -> list[str]:
    """Forty commits."""
    return commits(project, 38)


def test_a_confirmed_step_is_told_with_its_commits(project: Path, order: list[str]) -> None:
    keep_all(project, order, STEPPED)
    answer = told(project)
    series = only(answer)
    assert (answer.verdict, answer.exit_status, answer.runs) == ("regressed", 0, 40)
    assert (series.suite, series.benchmark, series.metric) == ("commit", DDP, "step_s")
    assert (series.platform, series.mode, series.code, series.environment) == (
        PLATFORM.key, "alone", "commits", None,
    )  # fmt: skip
    (change,) = series.changes
    assert change.commits == f"{order[19][:12]}..{order[20][:12]}"
    assert (change.state, change.distance, change.open) == ("confirmed", 1, True)


@pytest.mark.parametrize(("fail_on", "status"), [((), 0), (("drifted",), 0), (("regressed",), 1)])
def test_only_who_asks_for_it_fails(
    project: Path, order: list[str], fail_on: tuple[str, ...], status: int
) -> None:
    keep_all(project, order, STEPPED)
    assert told(project, fail_on=frozenset(fail_on)).exit_status == status


def test_a_recovered_step_does_not_fail(project: Path, order: list[str]) -> None:
    keep_all(project, order, [0.010] * 14 + [0.0105] * 12 + [0.010] * 14)
    answer = told(project, fail_on=frozenset({"regressed"}))
    assert [change.state for change in only(answer).changes] == ["confirmed", "confirmed"]
    assert (answer.verdict, answer.exit_status) == ("improved", 0)


def test_nothing_measured_is_no_pass(project: Path) -> None:
    answer = told(project)
    assert (answer.verdict, answer.exit_status, answer.series) == ("unmeasured", 3, ())
    assert told(project, benchmark="no such", suite="none").exit_status == 3


def test_what_only_failed_was_not_measured(project: Path, order: list[str]) -> None:
    keep(project, order[0], [None, None], day=0)
    answer = told(project)
    assert (answer.verdict, answer.exit_status, only(answer).state) == ("unmeasured", 3, "broken")


def test_a_point_is_the_median_of_its_launches_and_counts_failures(project: Path, order: list[str]) -> None:
    keep(project, order[0], [0.010, None, 0.040, 0.011, 0.012], day=0)
    (point,) = only(told(project)).points
    assert point.value == pytest.approx((0.011 * 0.012) ** 0.5)
    assert (point.launches, point.failures) == (4, 1)
    assert point.reason.startswith("rank 1 died of SIGKILL")


@pytest.mark.parametrize(
    ("values", "median"), [([3.0], 3.0), ([1.0, 4.0], 2.0), ([0.0, 4.0], 2.0), ([5, 5], 5), ([9, 1, 4], 4)]
)
def test_the_median_on_the_log_scale(values: list[float], median: float) -> None:
    assert log_median(values) == median


def test_a_newest_run_that_failed_fails_whoever_asks(project: Path, order: list[str]) -> None:
    keep_all(project, order[:-1], [0.010] * 39)
    keep(project, order[-1], [None, None], day=39)
    answer = told(project, fail_on=frozenset({"regressed"}))
    assert (answer.verdict, answer.exit_status) == ("broken", 1)


def test_both_sides_of_comparisons_are_points_of_their_commits(project: Path, order: list[str]) -> None:
    """Each night compares with the commit before: what is measured twice stands twice."""
    levels = dict(zip(order, STEPPED, strict=True))
    for place in range(1, 40):
        for role, commit in (("base", order[place - 1]), ("head", order[place])):
            keep(
                project, commit, noisy(levels[commit], 3, seed=place * 2 + (role == "head")), day=place,
                role=role, run=f"{'ab'[role == 'head']}{place:07x}", comparison=f"{place:08x}", alone=False,
            )  # fmt: skip
    series = only(told(project))
    assert (series.mode, len(series.points)) == ("resident", 78)
    assert [point.commit for point in series.points[1:5]] == [order[1], order[1], order[2], order[2]]
    (change,) = series.changes
    assert change.commits == f"{order[19][:12]}..{order[20][:12]}"


def test_base_stands_before_head_where_both_are_of_one_commit(project: Path, order: list[str]) -> None:
    keep(project, order[0], [0.010], day=0, role="head", run="aaaaaaaa", comparison="cccccccc")
    keep(project, order[0], [0.010], day=0, role="base", run="bbbbbbbb", comparison="cccccccc")
    assert [point.run for point in only(told(project)).points] == ["bbbbbbbb", "aaaaaaaa"]


def test_a_count_on_which_launches_disagree_is_noisy(project: Path, order: list[str]) -> None:
    keep(project, order[0], [300, 300], day=0, metric="collective_count")
    assert [each.kind for each in told(project, metric="collective_count").series] == ["exact"]
    keep(project, order[1], [300, 301], day=1, metric="collective_count")
    assert [each.kind for each in told(project, metric="collective_count").series] == ["timed"]


def test_an_old_commit_measured_today_makes_no_step(project: Path, order: list[str]) -> None:
    keep_all(project, order, STEPPED)
    for again in range(5):
        keep(project, order[3], noisy(0.010, 3, seed=again), day=60 + again)
    series = only(told(project))
    assert [change.index for change in series.changes] == [25]
    assert series.state == "regressed"


def test_commits_of_other_branches_are_left_out_and_counted(project: Path, order: list[str]) -> None:
    keep_all(project, order, [0.010] * 40)
    git(project, "checkout", "--quiet", "-b", "other", order[10])
    git(project, "commit", "--quiet", "--allow-empty", "--message", "Elsewhere")
    elsewhere = git(project, "rev-parse", "HEAD")
    git(project, "checkout", "--quiet", "main")
    for n in range(9):
        keep(project, elsewhere, noisy(0.012, 3, seed=n), day=50 + n)
    keep(project, None, [0.012], day=70)
    answer = told(project)
    assert (answer.verdict, len(only(answer).points)) == ("steady", 40)
    assert answer.left_out == (
        "9 runs of commits that HEAD does not rest on", "1 run of uncommitted changes",
    )  # fmt: skip


def test_what_was_not_measured_to_the_end_is_left_out(project: Path, order: list[str]) -> None:
    keep(project, order[0], [0.010], day=0, close=False)
    keep(project, order[1], [0.010], day=1)
    answer = told(project)
    assert answer.left_out == ("1 run not measured to the end",)
    assert len(only(answer).points) == 1


def test_a_run_that_cannot_be_read_is_named_and_no_pass(project: Path, order: list[str]) -> None:
    keep_all(project, order, [0.010] * 40)
    broken = list_runs(project / ".regress" / "store")[3]
    (broken / "done.json").write_text("{")
    answer = told(project)
    assert len(answer.unreadable) == 1
    assert str(broken) in answer.unreadable[0]
    assert (answer.exit_status, len(only(answer).points)) == (0, 39)
    assert told(project, fail_on=frozenset({"regressed"})).exit_status == 3


def test_a_shallow_clone_orders_by_first_measurement(project: Path, order: list[str], tmp_path: Path) -> None:
    keep_all(project, order, STEPPED)
    for again in range(5):
        keep(project, order[3], noisy(0.010, 3, seed=again), day=60 + again)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{project}", str(shallow))
    (shallow / ".regress").mkdir()
    (shallow / ".regress" / "store").symlink_to(project / ".regress" / "store")
    series = only(told(shallow))
    assert [(change.index, change.distance) for change in series.changes] == [(25, None)]
    assert [point.commit for point in series.points[3:9]] == [order[3]] * 6


def test_without_git_uncommitted_code_has_a_history(project: Path, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    for day in range(10):
        keep(tmp_path / "bare", None, noisy(0.010, 3, seed=day), day=day)
    series = only(told(tmp_path / "bare"))
    assert (series.code, len(series.points), series.state) == ("uncommitted", 10, "steady")
    assert series.points[0].started < series.points[-1].started


def test_the_shipped_benchmarks_have_a_series_of_their_own(project: Path, order: list[str]) -> None:
    keep_all(project, order[:8], [0.010] * 8)
    for n in range(8):
        keep(project, None, noisy(0.010, 3, seed=n), day=20 + n, source="installed", named="nightly")
    found = {(each.code, each.environment): len(each.points) for each in told(project).series}
    assert found == {("commits", None): 8, ("installed", "nightly"): 8}


def test_platforms_modes_and_suites_stand_apart(project: Path, order: list[str]) -> None:
    larger = replace(PLATFORM, cores=64)
    keep(project, order[0], [0.010], day=0)
    keep(project, order[0], [0.005], day=1, platform=larger)
    keep(project, order[0], [0.012], day=2, alone=False)
    keep(project, order[0], [0.010], day=3, suite="nightly")
    assert len(told(project).series) == 4
    assert [each.platform for each in told(project, platform=larger.key).series] == [larger.key]
    assert [each.suite for each in told(project, suite="nightly").series] == ["nightly"]


def test_a_platform_that_another_one_followed_counts_for_no_verdict(project: Path, order: list[str]) -> None:
    keep_all(project, order, STEPPED)
    larger = replace(PLATFORM, cores=64)
    for n in range(8):
        keep(project, order[-1], noisy(0.006, 3, seed=n), day=50 + n, platform=larger)
    answer = told(project, fail_on=frozenset({"regressed"}))
    assert (answer.verdict, answer.exit_status) == ("steady", 0)
    assert [(each.platform, each.ended, each.state) for each in answer.series] == [
        (larger.key, "", "steady"),
        (PLATFORM.key, larger.key, "regressed"),
    ]


def test_software_definition_and_workload_begin_new_levels(project: Path, order: list[str]) -> None:
    for place, commit in enumerate(order[:40]):
        keep(
            project, commit, noisy(0.010 * (1 + 0.1 * (place // 10)), 3, seed=place), day=place,
            environment=faster() if place >= 10 else ENVIRONMENT,
            definition="digest of ddp" if place < 20 else "another digest",
            tokens=512 if place < 30 else 1024,
        )  # fmt: skip
    series = only(told(project))
    assert series.changes == ()
    assert [(one.index, [d.field for d in one.differences]) for one in series.breaks] == [
        (10, ["torch"]),
        (20, ["definition"]),
        (30, ["tokens"]),
    ]


def test_since_takes_later_runs_alone(project: Path, order: list[str]) -> None:
    keep_all(project, order, STEPPED)
    answer = told(project, since=FIRST + timedelta(days=25))
    assert (answer.runs, answer.verdict) == (15, "steady")


def test_only_gates_are_told_unless_a_metric_is_named(project: Path, order: list[str]) -> None:
    keep(project, order[0], [0.010], day=0)
    keep(project, order[0], [0.020], day=1, metric="cpu_s")
    assert [each.metric for each in told(project).series] == ["step_s"]
    assert "cpu_s" not in GATES
    assert [each.metric for each in told(project, benchmark="ddp", metric="cpu_s").series] == ["cpu_s"]


def test_a_benchmark_is_named_by_its_label_or_by_the_name_before_the_bracket(
    project: Path, order: list[str]
) -> None:
    for place, label in enumerate((DDP, "ddp[world=4]", FSDP)):
        keep(project, order[0], [0.010], day=place, label=label)
    assert [each.benchmark for each in told(project, benchmark=DDP).series] == [DDP]
    assert [each.benchmark for each in told(project, benchmark="ddp").series] == [DDP, "ddp[world=4]"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"benchmark": "dpd"}, "did you mean 'ddp'"),
        ({"benchmark": "ddp[world=4]"}, "did you mean 'ddp[world=2]'"),
        ({"metric": "step"}, "unknown metric 'step'; did you mean 'step_s'"),
        ({"metric": "flops"}, "'flops' was not measured; known: step_s"),
        ({"suite": "comit"}, "did you mean 'commit'"),
        ({"platform": "x"}, f"known: {PLATFORM.key}"),
        ({"anchor": "v9"}, "unknown revision 'v9'"),
    ],
)
def test_unknown_names_are_refused_with_what_there_is(
    project: Path, order: list[str], asked: dict[str, Any], words: str
) -> None:
    keep(project, order[0], [0.010], day=0)
    with pytest.raises(RequestError) as refusal:
        told(project, **asked)
    assert words in str(refusal.value)


def test_an_anchor_before_everything_is_refused(project: Path, order: list[str]) -> None:
    keep(project, order[5], [0.010], day=0)
    with pytest.raises(RequestError, match="nothing was measured at"):
        told(project, anchor=order[2])
    assert only(told(project, anchor=order[8])).anchor == 0


def drifting(project: Path, order: list[str]) -> None:
    keep_all(project, order, [0.010 * (1 + 0.06 * place / 39) for place in range(40)])


def test_drift_is_told_from_the_newest_tag_that_was_measured(project: Path, order: list[str]) -> None:
    drifting(project, order)
    git(project, "tag", "v1", order[9])
    git(project, "tag", "v2", order[10])
    git(project, "commit", "--quiet", "--allow-empty", "--message", "Not measured")
    git(project, "tag", "v3")
    answer = told(project, fail_on=frozenset({"drifted"}))
    series = only(answer)
    assert (answer.anchor, series.anchor, answer.exit_status) == ("v2", 10, 1)
    assert series.drift is not None
    assert told(project).exit_status == 0


def test_an_anchor_can_be_asked_for(project: Path, order: list[str]) -> None:
    drifting(project, order)
    assert told(project).anchor == ""
    assert only(told(project)).drift is None
    assert only(told(project, anchor=order[4])).anchor == 4


def test_series_come_most_alarming_first(project: Path, order: list[str]) -> None:
    keep_all(project, order, [0.010] * 40)
    for place, (commit, level) in enumerate(zip(order, STEPPED, strict=True)):
        keep(
            project, commit, noisy(level, 3, seed=place), day=place, label="zz[world=2]", run=f"a{place:07x}"
        )
        keep(project, commit, noisy(level * (1 + (place > 25)), 3, seed=place), day=place,
             label="yy[world=2]", run=f"b{place:07x}")  # fmt: skip
    assert [each.benchmark for each in told(project).series] == ["yy[world=2]", "zz[world=2]", DDP]


def suspect(project: Path, order: list[str]) -> None:
    """A step of 20 % four points ago, measured as comparisons measure."""
    keep_all(project, order, [0.010] * 36 + [0.012] * 4, alone=False, source=order[-1][:12])


SUSPECTED_SLOWER: Script = paced({"base": Pace(), "head": Pace(step_s=0.012)})


def test_a_suspected_step_is_measured_again_and_confirmed(project: Path, order: list[str]) -> None:
    suspect(project, order)
    assert told(project).verdict == "suspected"
    fakes = Fakes(SUSPECTED_SLOWER)
    answer = told(project, fakes, confirm=True)
    (again,) = answer.remeasured
    assert (again.said.says, again.benchmark, again.metric) == ("confirmed", DDP, "step_s")
    assert again.said.change == pytest.approx(0.2, abs=0.02)
    assert again.commits == f"{order[35][:12]}..{order[36][:12]}"
    runs = {run.manifest.run: run for run in stored_runs(project)}
    base, head = runs[again.said.base], runs[again.said.head]
    assert (base.manifest.commit, head.manifest.commit) == (order[35], order[36])
    assert base.manifest.benchmarks_from == order[-1][:12]
    assert {each.benchmark for launch in head.launches for each in launch.measurements} == {DDP}
    assert answer.verdict == "regressed"
    (change,) = next(each for each in answer.series if each.metric == "step_s").changes
    assert change.remeasured is not None
    assert (change.state, change.remeasured.head) == ("confirmed", again.said.head)
    assert told(project) == replace(answer, remeasured=())  # it lasts


def test_a_suspected_step_that_is_not_there_is_refuted(project: Path, order: list[str]) -> None:
    suspect(project, order)
    answer = told(project, Fakes(EQUAL), confirm=True)
    assert [each.said.says for each in answer.remeasured] == ["refuted"]
    assert answer.verdict == "steady"


def test_several_benchmarks_of_one_step_are_measured_together(project: Path, order: list[str]) -> None:
    suspect(project, order)
    for place, (commit, level) in enumerate(zip(order, [0.010] * 36 + [0.012] * 4, strict=True)):
        keep(
            project,
            commit,
            noisy(level, 3, seed=place),
            day=place,
            label=FSDP,
            run=f"a{place:07x}",
            alone=False,
        )
    fakes = Fakes(SUSPECTED_SLOWER)
    answer = told(project, fakes, confirm=True)
    assert {each.benchmark for each in answer.remeasured} == {DDP, FSDP}
    assert len(fakes.launchers) == 1


def test_without_suspicion_nothing_is_measured(project: Path, order: list[str]) -> None:
    keep_all(project, order, STEPPED)
    fakes = Fakes(EQUAL)
    answer = told(project, fakes, confirm=True)
    assert (fakes.launchers, answer.remeasured, answer.verdict) == ([], (), "regressed")


def test_another_platform_confirms_nothing(project: Path, order: list[str]) -> None:
    larger = replace(PLATFORM, cores=64)
    keep_all(project, order, [0.010] * 36 + [0.012] * 4, alone=False, platform=larger)
    answer = told(project, Fakes(SUSPECTED_SLOWER), confirm=True, platform=larger.key)
    (again,) = answer.remeasured
    assert (again.said.says, answer.verdict) == ("undecided", "suspected")
    assert PLATFORM.key in again.said.reason


def test_an_ordinary_comparison_gives_two_points(project: Path) -> None:
    measured(project, Fakes(SLOWER))
    answer = told(project)
    found = {(each.benchmark, each.metric, each.mode): len(each.points) for each in answer.series}
    assert found == {
        (label, metric, mode): 2
        for label in (DDP, FSDP)
        for metric, mode in (
            ("step_s", "resident"), ("peak_allocated_bytes", "any"), ("collective_count", "any"),
        )
    }  # fmt: skip
    (step, *_) = (each for each in answer.series if each.metric == "step_s")
    assert [point.launches for point in step.points] == [6, 6]  # the block alone is another question
