"""Blocks are bought one after the other, until the question is decided, hopeless, or the budget is spent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from regress.errors import LaunchError
from regress.flows.compare import CompareRequest, compare
from regress.flows.progress import Silence
from regress.flows.undertaking import Means
from regress.flows.workplace import Workplace
from regress.launch.fake import PLATFORM, FakeLauncher, Pace, Script, failing, paced
from regress.launch.launcher import Job
from regress.record.comparison import SuiteComparison
from regress.record.outcome import Outcome
from regress.record.platform import Platform
from regress.record.series import RankSeries
from regress.report import data
from regress.spec.benchmark import Benchmark
from regress.spec.plan import read_plan
from regress.verdict.evidence import Evidence, gather
from tests.flows.project import (
    CATALOG,
    DDP,
    EQUAL,
    FSDP,
    SLOWER,
    SUITE,
    Fakes,
    definition,
    measured,
    step_of,
    stored_runs,
)
from tests.flows.test_measure import two_world_sizes
from tests.flows.test_resume import Interrupting, essence, kept, launches, recorded

CRASH = Outcome(kind="died", rank=1, status=-9, message="ended by SIGKILL")
TWO_LOOKS = SUITE.replace("count: 6, alone: 1, looks: []", "count: 8, alone: 1, looks: [3, 5]")
ENDED = LaunchError("the server has ended")


def each(scripts: Mapping[str, Script]) -> Script:
    """Every benchmark follows a script of its own."""

    def script(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        return scripts[benchmark.name](job, side, benchmark)

    return script


def noisy(change: float, noise: float, seed: int) -> Script:
    """The first benchmark changes amid noise; the second one is clear at the first look."""
    paces = {"base": Pace(), "head": Pace(step_s=0.01 * (1 + change))}
    return each({"ddp": paced(paces, noise=noise, seed=seed), "fsdp": EQUAL})


HARD = noisy(0.02, 0.02, seed=1)
"""Undecided after 5 blocks, unchanged after 8; the blocks up to the 6th or 7th alone would decide it."""


@pytest.fixture(autouse=True)
def suite(project: Path) -> Path:
    """Of the project: at most 8 blocks, with looks after 3 and 5."""
    file = project / "configs" / "commit.yaml"
    file.write_text(TWO_LOOKS)
    return file


def bought(launcher: FakeLauncher) -> dict[str, list[int]]:
    """The blocks in which each benchmark was measured."""
    found: dict[str, list[int]] = {}
    for job in launcher.jobs:
        for label in dict.fromkeys(each.label for request in job.requests for each in request.benchmarks):
            found.setdefault(label, []).append(job.block)
    return {label: list(dict.fromkeys(blocks)) for label, blocks in found.items()}


def blocks_of(project: Path, script: Script, **means: object) -> dict[str, list[int]]:
    fakes = Fakes(script)
    compared(project, fakes, **means)
    return bought(fakes.launchers[0])


def compared(project: Path, fakes: Fakes, **means: object) -> SuiteComparison:
    request = CompareRequest(base="HEAD~1", head="HEAD", means=Means(seed=1, **means))  # type: ignore[arg-type]
    return compare(Workplace.around(project), request, Silence(), fakes.machinery)


def evidence_of(project: Path, label: str = DDP) -> Evidence:
    """What the last comparison holds of a benchmark."""
    (base, head) = stored_runs(project)
    (found,) = (one for one in gather(base, head) if one.benchmark == label)
    return found


def looked(evidence: Evidence) -> list[tuple[int, float, float]]:
    """Blocks, share and last share of each look."""
    return [
        (estimate.launches[0], estimate.share, estimate.last_share)
        for estimate in evidence.estimates("step_s", "lower")
    ]


# dropping


def test_what_is_decided_takes_no_part_in_later_blocks(project: Path) -> None:
    fakes = Fakes(HARD)
    answer = measured(project, fakes)
    assert bought(fakes.launchers[0]) == {DDP: list(range(9)), FSDP: list(range(6))}
    assert (step_of(answer, DDP).verdict, step_of(answer, DDP).base.launches) == ("unchanged", 8)
    assert (step_of(answer, FSDP).verdict, step_of(answer, FSDP).base.launches) == ("unchanged", 5)
    assert answer.exit_status == 0


@pytest.mark.parametrize(("script", "verdict"), [(EQUAL, "unchanged"), (SLOWER, "regressed")])
def test_what_is_clear_stops_at_the_first_look_that_claims(
    project: Path, script: Script, verdict: str
) -> None:
    """Three blocks claim nothing while no earlier launches are known."""
    fakes = Fakes(script)
    answer = measured(project, fakes)
    assert bought(fakes.launchers[0]) == {DDP: list(range(6)), FSDP: list(range(6))}
    assert step_of(answer, DDP).verdict == verdict
    assert all(run.complete for run in stored_runs(project))


def test_without_looks_the_whole_plan_is_measured(project: Path, suite: Path) -> None:
    suite.write_text(SUITE)
    assert blocks_of(project, EQUAL) == {DDP: list(range(7)), FSDP: list(range(7))}


def test_what_broke_buys_no_more(project: Path) -> None:
    """The look after three blocks drops it; what is sound goes on to the look that claims."""
    broken = failing(EQUAL, CRASH, sides=["head"], name="ddp")
    fakes = Fakes(broken)
    answer = measured(project, fakes)
    assert bought(fakes.launchers[0]) == {DDP: list(range(4)), FSDP: list(range(6))}
    assert step_of(answer, DDP).verdict == "broken"


@pytest.mark.parametrize(
    ("script", "word"), [(noisy(0.03, 0.02, seed=3), "futile: "), (noisy(0.0, 0.3, seed=0), "blind: even 8 ")]
)
def test_what_is_hopeless_stops_and_says_so(project: Path, script: Script, word: str) -> None:
    fakes = Fakes(script)
    answer = measured(project, fakes)
    assert bought(fakes.launchers[0])[DDP] == list(range(6))
    assert step_of(answer, DDP).verdict == "inconclusive"
    assert step_of(answer, DDP).reason.startswith(word)
    assert answer.exit_status == (3 if word.startswith("blind") else 0)


def test_progress_tells_what_is_dropped(project: Path) -> None:
    class Told(Silence):
        said: list[str] = []  # noqa: RUF012 - of this test alone

        def say(self, text: str) -> None:
            self.said.append(text)

    request = CompareRequest(base="HEAD~1", head="HEAD", means=Means(seed=1))
    compare(Workplace.around(project), request, Told(), Fakes(HARD).machinery)
    assert "no more blocks for 1 of 2 benchmarks, after 5: decided, or hopeless" in Told.said


# looks


def test_each_look_spends_the_share_that_was_planned(project: Path) -> None:
    measured(project, Fakes(HARD))
    assert looked(evidence_of(project)) == [(5, 0.5, 0.5), (8, 0.5, 0.5)]
    assert looked(evidence_of(project, FSDP)) == [(5, 0.5, 0.5)]


def test_an_end_between_two_looks_is_the_later_look_taken_early(project: Path) -> None:
    """In a time that seven blocks fit into."""
    fakes = Fakes(HARD)
    compared(project, fakes, budget_s=1.48)
    assert max(bought(fakes.launchers[0])[DDP]) == 7
    assert looked(evidence_of(project)) == [(5, 0.5, 0.5), (7, 0.5, 0.5)]


def test_the_smallest_p_over_the_looks_counts(project: Path) -> None:
    answer = measured(project, Fakes(HARD))
    first, last = evidence_of(project).estimates("step_s", "lower")
    other = evidence_of(project, FSDP).estimates("step_s", "lower")[-1]
    p_values = sorted([min(first.p_worse, last.p_worse) / 0.5, other.p_worse / 0.5])
    expected = [min(1.0, 2 * p_values[0])]
    expected.append(max(expected[0], min(1.0, p_values[1])))
    adjusted = sorted(step_of(answer, label).p_adjusted or 0.0 for label in (DDP, FSDP))
    assert adjusted == pytest.approx(expected)


# history


def test_with_a_history_the_first_look_is_after_three_blocks(project: Path) -> None:
    measured(project, Fakes(EQUAL))
    first = {run.manifest.run for run in stored_runs(project)}
    assert all(run.manifest.noise == () for run in stored_runs(project))
    fakes = Fakes(EQUAL)
    answer = measured(project, fakes)
    assert bought(fakes.launchers[0]) == {DDP: list(range(4)), FSDP: list(range(4))}
    assert step_of(answer, DDP).verdict == "unchanged"
    base, head = (run for run in stored_runs(project) if run.manifest.run not in first)
    assert base.manifest.noise == head.manifest.noise
    assert [(n.benchmark, n.metric, n.design, n.launches) for n in head.manifest.noise] == [
        (DDP, "step_s", "paired", 10),
        (FSDP, "step_s", "paired", 10),
    ]


def test_a_regression_is_found_in_three_blocks_where_the_noise_is_known(project: Path) -> None:
    measured(project, Fakes(EQUAL))
    fakes = Fakes(SLOWER)
    assert step_of(measured(project, fakes), DDP).verdict == "regressed"
    assert bought(fakes.launchers[0])[DDP] == list(range(4))


def test_a_history_on_fewer_devices_of_this_host_is_known(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launch names the two GPUs that it uses, the host has four."""
    host = replace(PLATFORM, devices=("H200",) * 4, device_ids=("0", "1", "2", "3"))
    monkeypatch.setattr("regress.launch.fake.PLATFORM", replace(host, devices=("H200",) * 2))
    catalog = replace(CATALOG, platform=host, device="cuda")
    measured(project, Fakes(EQUAL, base=catalog, head=catalog))
    fakes = Fakes(EQUAL, base=catalog, head=catalog)
    measured(project, fakes)
    assert bought(fakes.launchers[0])[DDP] == list(range(3))  # on GPUs all blocks are tested


def test_another_host_lends_nothing(project: Path) -> None:
    other = Platform(host="other", cpu="other", cores=4, memory_bytes=8 << 30)
    catalog = replace(CATALOG, platform=other)
    measured(project, Fakes(EQUAL, base=catalog, head=catalog))
    fakes = Fakes(EQUAL)
    compared(project, fakes, budget_s=2.0)
    assert fakes.undertakings[0].noise == ()
    assert fakes.undertakings[0].plan.looks[-1] == 8  # of the suite: how long a block takes here is not known


# going on


@pytest.mark.parametrize("script", [HARD, SLOWER], ids=["undecided at a look", "decided"])
@pytest.mark.parametrize("history", [False, True])
def test_interrupted_at_any_look_it_goes_on_to_the_same_answer(
    project: Path, tmp_path: Path, script: Script, history: bool
) -> None:
    def before() -> int:
        if history:
            compared(project, Fakes(paced({"base": Pace(), "head": Pace()}, seed=7)))
        return len(stored_runs(project))

    known = before()
    whole = recorded(script)
    expected = essence(measured(project, Fakes(whole)))
    unbroken = Counter(kept(project))
    (project / ".regress").rename(tmp_path / "uninterrupted")
    for after in [*range(11, 25, 4), *range(25, len(whole.asked))]:
        if after >= len(whole.asked):
            continue
        assert before() == known
        with pytest.raises(LaunchError):
            measured(project, Fakes(Interrupting(script, after, ENDED)))
        rest = recorded(script)
        assert essence(measured(project, Fakes(rest))) == expected, after
        assert len(rest.asked) < len(whole.asked)
        assert Counter(kept(project)) == unbroken
        assert len(stored_runs(project)) == known + 2
        (project / ".regress").rename(tmp_path / f"after-{after}")


@pytest.mark.parametrize("budget", [{}, {"budget_s": 1.75}], ids=["blocks", "time"])
def test_runs_that_are_stored_meanwhile_change_nothing(
    project: Path, tmp_path: Path, budget: dict[str, float]
) -> None:
    """What was known before the first launch is frozen, and so is how many blocks fit into the time."""
    whole = recorded(HARD)
    expected = compared(project, Fakes(whole), **budget)
    (project / ".regress").rename(tmp_path / "uninterrupted")
    with pytest.raises(LaunchError):
        compared(project, Fakes(Interrupting(HARD, 20, ENDED)), **budget)
    measured(project, Fakes(EQUAL), base="HEAD", head="HEAD~1")
    rest, known = Fakes(HARD), len(stored_runs(project))
    answer = compared(project, rest, **budget)
    assert len(stored_runs(project)) == known
    assert rest.undertakings[0].noise  # and yet:
    assert essence(answer) == essence(expected)
    (run,) = (run for run in stored_runs(project) if run.manifest.run == answer.head.run)
    assert run.manifest.noise == ()


# lost blocks


@pytest.mark.parametrize(
    ("lost", "spare", "tested"),
    [([2], [9], 8), ([2, 9], [9], 7), ([2, 4], [], 6), ([1, 2], [], 6), ([], [], 8)],
    ids=["once", "the spare one as well", "too many", "too many to estimate at the first look", "none"],
)
def test_a_lost_block_is_made_up_for_once(
    project: Path, lost: list[int], spare: list[int], tested: int
) -> None:
    fakes = Fakes(failing(HARD, CRASH, sides=["base"], name="ddp", blocks=lost))
    answer = measured(project, fakes)
    found = bought(fakes.launchers[0])
    assert found[DDP] == [*range(9), *spare]
    assert found[FSDP] == list(range(6))
    assert step_of(answer, DDP).base.launches == tested


def test_the_spare_block_counts_at_the_last_look(project: Path) -> None:
    measured(project, Fakes(failing(HARD, CRASH, sides=["base"], name="ddp", blocks=[2])))
    assert [launches for launches, *_ in looked(evidence_of(project))] == [4, 8]


def test_a_block_alone_that_is_lost_is_not_made_up_for(project: Path) -> None:
    fakes = Fakes(failing(HARD, CRASH, sides=["base"], name="ddp", blocks=[0]))
    measured(project, fakes)
    assert max(bought(fakes.launchers[0])[DDP]) == 8


# budgets


def test_a_budget_in_blocks_replaces_the_number_of_the_suite(project: Path) -> None:
    fakes = Fakes(HARD)
    answer = compared(project, fakes, most_blocks=6)
    assert fakes.undertakings[0].plan.looks == (3, 6)
    assert bought(fakes.launchers[0])[DDP] == list(range(7))
    assert "--budget 6" in answer.command


def test_a_time_allows_for_what_fits_by_the_last_comparison(project: Path) -> None:
    """A block takes 0.18 s there, the one alone twice as long."""
    never = Fakes(EQUAL)
    answer = compared(project, never, budget_s=100.0)
    assert never.undertakings[0].plan.looks == (3, 5, 8)  # of the suite: never measured here
    assert "--budget 100s" in answer.command
    for budget_s, most in ((2.0, 9), (0.01, 1), (1e6, 100)):
        fakes = Fakes(EQUAL)
        compared(project, fakes, budget_s=budget_s)
        assert fakes.undertakings[0].plan.looks[-1] == most


@pytest.mark.parametrize(("budget_s", "last"), [(0.3, 0), (0.6, 1), (0.8, 2), (100.0, 8)])
def test_no_block_is_begun_that_would_end_after_the_time(project: Path, budget_s: float, last: int) -> None:
    """The block alone takes 0.36 s, each of both benchmarks 0.18 s; the first one is always measured."""
    assert max(blocks_of(project, HARD, budget_s=budget_s)[DDP]) == last
    assert all(run.complete for run in stored_runs(project))


@pytest.mark.parametrize("after", range(1, 11))
def test_what_was_spent_before_an_interruption_counts(project: Path, after: int) -> None:
    """Wherever it came: after 0.8 s three blocks are done."""
    with pytest.raises(LaunchError):
        compared(project, Fakes(Interrupting(HARD, after, ENDED)), budget_s=0.8)
    compared(project, Fakes(HARD), budget_s=0.8)
    assert Counter(kept(project)) == {
        (block, side, label): 1 for block in range(3) for side in ("base", "head") for label in (DDP, FSDP)
    }


def test_a_block_that_was_begun_is_measured_to_its_end(project: Path, tmp_path: Path) -> None:
    """The one alone takes 0.54 s, each other one 0.27 s, in a launch of each world size."""
    catalog = two_world_sizes(project)

    def measured_in(after: int) -> Counter[int]:
        broken = Fakes(Interrupting(EQUAL, after, ENDED), base=catalog, head=catalog)
        with pytest.raises(LaunchError):
            compared(project, broken, budget_s=1.12)
        compared(project, Fakes(EQUAL, base=catalog, head=catalog), budget_s=1.12)
        found = Counter(block for block, _, _ in kept(project))
        (project / ".regress").rename(tmp_path / f"after-{after}")
        return found

    for after in range(7, 18, 2):
        assert measured_in(after) == {0: 6, 1: 6, 2: 6}


def test_another_time_begins_anew(project: Path) -> None:
    with pytest.raises(LaunchError):
        compared(project, Fakes(Interrupting(HARD, 9, ENDED)), budget_s=0.8)
    compared(project, Fakes(HARD), budget_s=0.9)
    assert len(stored_runs(project)) == 4


# what cannot be seen


def test_that_nothing_can_be_seen_is_said_in_json(project: Path, suite: Path) -> None:
    """Five blocks of twenty benchmarks without a history could all be of two modes."""
    names = [f"b{number}" for number in range(20)]
    choices = "".join(f"  - name: {name}\n" for name in names)
    suite.write_text(
        f"benchmarks:\n{choices}" + SUITE[SUITE.index("steps:") :].replace("count: 6", "count: 5")
    )
    catalog = replace(CATALOG, definitions=tuple(map(definition, names)))
    answer = measured(project, Fakes(EQUAL, base=catalog, head=catalog))
    steps = [one for one in json.loads(data.render(answer))["comparisons"] if one["metric"] == "step_s"]
    assert len(steps) == 20
    assert {one["detectable"] for one in steps} == {None}


def test_the_plan_of_the_runs_holds_looks_and_spare_blocks(project: Path) -> None:
    measured(project, Fakes(EQUAL))
    plan = read_plan(stored_runs(project)[0].manifest.plan)
    assert plan.looks == (3, 5, 8)
    assert [block.index for block in plan.blocks if block.spare] == [9, 10]
    assert launches(stored_runs(project)[0])
