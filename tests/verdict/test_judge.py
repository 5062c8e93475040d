"""Every verdict and every exit status, from runs made by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest

from regress.errors import RecordError
from regress.record.codec import decode, encode, plain
from regress.record.comparison import Comparison, SuiteComparison, Verdict
from regress.record.run import Launch, Run
from regress.spec.benchmark import Benchmark
from regress.spec.plan import Block, Limits, Plan, Steps
from regress.spec.policy import Policy
from regress.verdict.evidence import pauses_s
from regress.verdict.judge import judge
from tests.verdict.runs import (
    DDP,
    FSDP,
    PLATFORM,
    POLICY,
    WORKLOAD,
    Samples,
    failure,
    launch,
    measured,
    measurement,
    merged,
    run,
    steps,
    with_samples,
)


def judged(
    base: Run, head: Run, policy: Policy = POLICY, *, fail_on: Collection[str] = frozenset()
) -> SuiteComparison:
    answer = judge(base, head, policy, command="regress compare base head", fail_on=fail_on)
    assert decode(answer.schema, SuiteComparison, encode(answer.schema, answer)) == answer
    return answer


def sides(base: Sequence[Samples], head: Sequence[Samples]) -> tuple[Run, Run]:
    return measured(base, side="base"), measured(head, side="head")


def gate(answer: SuiteComparison, metric: str = "step_s", label: str = DDP) -> Comparison:
    found = [each for each in answer.comparisons if (each.benchmark, each.metric) == (label, metric)]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("change", "verdict", "status"),
    [(0.2, "regressed", 1), (-0.2, "improved", 0), (0.0, "unchanged", 0)],
)
def test_a_change_is_called_by_its_name(change: float, verdict: Verdict, status: int) -> None:
    answer = judged(*sides(steps(), steps(change=change, seed=2)))
    step = gate(answer)
    assert (answer.verdict, answer.exit_status, step.verdict) == (verdict, status, verdict)
    assert step.change == pytest.approx(change, abs=0.01)
    assert step.low is not None
    assert step.high is not None
    assert step.low < change < step.high
    assert (step.design, step.base.launches, step.base.blocks) == ("paired", 8, tuple(range(1, 9)))
    assert answer.min_change == 0.05
    assert answer.must_see == pytest.approx(0.15)
    mean = gate(answer, "step_mean_s")
    assert (mean.verdict, mean.p, mean.confidence) == (None, None, 0.9)


def test_noise_that_leaves_it_open_is_inconclusive_and_fails_when_asked() -> None:
    base, head = sides(steps(noise=0.03), steps(noise=0.03, change=0.05, seed=2))
    answer = judged(base, head)
    assert (answer.verdict, answer.exit_status) == ("inconclusive", 0)
    assert gate(answer).reason.startswith("needs ")
    assert judged(base, head, fail_on={"inconclusive"}).exit_status == 4


def test_a_gate_that_cannot_see_does_not_pass() -> None:
    answer = judged(*sides(steps(noise=0.3), steps(noise=0.3, seed=2)))
    assert (answer.verdict, answer.exit_status) == ("inconclusive", 3)
    assert gate(answer).reason.startswith("blind: ")


def test_too_few_blocks_do_not_pass_either() -> None:
    answer = judged(*sides(steps(3), steps(3, change=0.5, seed=2)))
    assert (answer.verdict, answer.exit_status) == ("inconclusive", 3)
    assert gate(answer).reason.startswith("noise unknown: ")


def test_blocks_alone_are_not_mixed_into_the_test() -> None:
    plain_answer = judged(*sides(steps(), steps(seed=2)))
    moved = judged(*sides(steps(), steps(seed=2, alone=0.04)))
    assert gate(moved) == gate(plain_answer)


def test_blocks_alone_are_tested_where_no_block_is_resident() -> None:
    def alone(side: Run) -> Run:
        return replace(side, launches=tuple(replace(each, alone=True) for each in side.launches))

    base, head = sides(steps(), steps(change=0.2, seed=2))
    step = gate(judged(alone(base), alone(head)))
    assert (step.verdict, step.design, step.base.launches) == ("regressed", "paired", 9)


def test_runs_measured_apart_are_not_paired() -> None:
    base = measured(steps(), side="base", comparison="c1")
    head = measured(steps(change=0.2, seed=2), side="head", comparison="c2")
    answer = judged(base, head)
    assert (gate(answer).design, gate(answer).verdict) == ("unpaired", "regressed")
    assert any("not measured together" in note for note in answer.notes)
    no_identity = judged(replace(base, manifest=replace(base.manifest, comparison="")), head)
    assert gate(no_identity).design == "unpaired"


def test_runs_measured_in_different_ways_are_incomparable() -> None:
    base = measured(steps(), side="base", comparison="c1")
    head = measured(steps(change=0.2, seed=2), side="head", comparison="")
    solo = replace(head, launches=tuple(replace(each, alone=True) for each in head.launches))
    beside = replace(base, launches=tuple(replace(each, alone=False) for each in base.launches))
    answer = judged(beside, solo)
    assert (gate(answer).verdict, answer.exit_status) == ("incomparable", 3)
    assert gate(answer).reason == "measured alone on one side, and beside another side on the other"


def test_a_crash_in_runs_measured_apart_is_broken_where_base_never_fails() -> None:
    fails = {block: failure() for block in range(9)}
    head = measured(steps(), fails=fails, comparison="c2")
    assert judged(measured(steps(), side="base", comparison="c1"), head).verdict == "broken"
    shaky = measured(steps(), side="base", comparison="c1", fails={8: failure("hung", None)})
    assert judged(shaky, head).verdict == "inconclusive"


def test_two_runs_without_an_identity_are_not_paired() -> None:
    base = measured(steps(), side="base", comparison="")
    head = measured(steps(seed=2), side="head", comparison="")
    assert gate(judged(base, head)).design == "unpaired"


def test_the_suite_is_one_family() -> None:
    base = merged(
        measured(steps(noise=0.03), side="base"), measured(steps(noise=0.03), side="base", label=FSDP)
    )
    head = merged(
        measured(steps(noise=0.03, change=0.4, seed=2)), measured(steps(noise=0.03, seed=3), label=FSDP)
    )
    answer = judged(base, head)
    step, other = gate(answer), gate(answer, label=FSDP)
    assert (step.verdict, answer.verdict) == ("regressed", "regressed")
    assert other.verdict != "regressed"
    assert step.p is not None
    assert step.p_adjusted == pytest.approx(2 * step.p)
    single = gate(judged(*sides(steps(noise=0.03), steps(noise=0.03, change=0.4, seed=2))))
    assert single.detectable is not None
    assert step.detectable is not None
    assert single.detectable < step.detectable


@pytest.mark.parametrize(
    ("before", "after", "verdict", "change"),
    [
        (100, 100, "unchanged", 0.0),
        (100, 101, "regressed", 0.01),
        (100, 99, "improved", -0.01),
        (0, 0, "unchanged", 0.0),
        (0, 5, "regressed", None),
        (5, 0, "improved", -1.0),
    ],
)
def test_exact_metrics_are_compared_exactly(
    before: float, after: float, verdict: Verdict, change: float | None
) -> None:
    answer = judged(
        *sides(
            with_samples(steps(), collective_count=before),
            with_samples(steps(seed=2), collective_count=after),
        )
    )
    count = gate(answer, "collective_count")
    assert (count.verdict, count.design, count.detectable, count.p) == (verdict, "exact", 0.0, None)
    assert count.change == (None if change is None else pytest.approx(change))
    assert count.base.launches == 9
    assert answer.exit_status == (verdict == "regressed")


def test_a_tolerance_of_an_exact_metric() -> None:
    base, head = sides(with_samples(steps(), flops=100), with_samples(steps(seed=2), flops=101))
    within = gate(judged(base, head, Policy(tolerances={"flops": 0.02})), "flops")
    assert (within.verdict, within.detectable) == ("unchanged", 0.02)


def test_an_exact_metric_whose_launches_disagree_is_tested_like_a_time() -> None:
    def jitter(samples: list[Samples], scale: float) -> list[Samples]:
        return [
            {**values, "peak_allocated_bytes": scale * (1000 + block % 3)}
            for block, values in enumerate(samples)
        ]

    base, head = sides(jitter(steps(), 1), jitter(steps(seed=2), 1.5))
    peak = gate(judged(base, head), "peak_allocated_bytes")
    assert (peak.verdict, peak.kind, peak.design) == ("regressed", "timed", "paired")
    assert "the launches of base and of head disagree" in peak.notes
    few = gate(judged(*sides(jitter(steps(1), 1), jitter(steps(1), 1.5))), "peak_allocated_bytes")
    assert few.verdict == "inconclusive"
    assert "at least 2 are needed" in few.reason


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_exact_value_that_is_not_finite_passes_nothing(value: float) -> None:
    base, head = sides(with_samples(steps(), flops=value), with_samples(steps(seed=2), flops=value))
    answer = judge(base, head, POLICY, command="")
    assert gate(answer, "flops").verdict == "inconclusive"
    assert answer.exit_status == 3


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_a_time_that_no_test_can_be_made_of_passes_nothing(value: float) -> None:
    samples = steps(seed=2)
    samples[4] = {**samples[4], "step_s": value}
    answer = judge(*sides(steps(), samples), POLICY, command="")
    assert (gate(answer).verdict, answer.exit_status) == ("inconclusive", 3)
    assert "not a positive finite number" in gate(answer).reason


def test_a_gate_that_only_one_side_measured_passes_nothing() -> None:
    answer = judged(*sides(with_samples(steps(), flops=100), steps(seed=2)))
    assert (gate(answer, "flops").verdict, gate(answer, "flops").reason) == (
        "inconclusive",
        "not measured on head",
    )
    assert answer.exit_status == 3


def test_a_launch_without_a_gate_measured_nothing() -> None:
    answer = judged(*sides([{"cpu_s": 1.0}] * 9, [{"cpu_s": 1.0}] * 9))
    assert (gate(answer).verdict, answer.exit_status) == ("inconclusive", 3)


def test_a_gain_with_another_loss_is_none() -> None:
    def answer(change: float, loss: float) -> SuiteComparison:
        return judged(
            *sides(
                with_samples(steps(), loss=2.0, flops=100),
                with_samples(steps(change=change, seed=2), loss=loss, flops=100),
            )
        )

    assert gate(answer(-0.2, 2.01)).verdict == "improved"
    faster = answer(-0.2, 2.1)
    assert (gate(faster).verdict, faster.exit_status) == ("inconclusive", 3)
    assert gate(faster).reason == "other result: loss differs, 2 in base and 2.1 in head"
    assert any(note.startswith("overruled: improved") for note in gate(faster).notes)
    assert gate(faster, "flops").verdict == "inconclusive"
    assert gate(faster, "loss").verdict is None
    assert gate(faster, "loss").change == pytest.approx(0.05)
    slower = gate(answer(0.2, 2.1))
    assert slower.verdict == "regressed"
    assert any(note.startswith("other result") for note in slower.notes)
    diverged = judge(
        *sides(with_samples(steps(), loss=2.0), with_samples(steps(change=-0.2, seed=2), loss=math.nan)),
        POLICY,
        command="",
    )
    assert gate(diverged).verdict == "inconclusive"


def test_stalls_that_the_median_hides_block_unchanged() -> None:
    head = [{**values, "step_mean_s": 0.13} for values in steps(seed=2)]
    stalled = judged(*sides(steps(), head))
    step = gate(stalled)
    assert (step.verdict, step.detectable, stalled.exit_status) == ("inconclusive", None, 3)
    assert step.reason.startswith("stalls: the mean step changed by +2")
    slower = [{**values, "step_mean_s": 0.2} for values in steps(change=0.2, seed=2)]
    step = gate(judged(*sides(steps(), slower)))
    assert step.verdict == "regressed"
    assert any(note.startswith("stalls: ") for note in step.notes)


def test_blocks_alone_that_say_the_opposite_overrule_the_resident_ones() -> None:
    answer = judged(*sides(steps(alone=0.0), steps(change=0.2, seed=2, alone=-0.3)))
    assert gate(answer).verdict == "inconclusive"
    assert gate(answer).reason.startswith("mode: +20")
    assert answer.exit_status == 3
    unseen = judged(*sides(steps(alone=0.0), steps(seed=2, alone=0.5)))
    assert (gate(unseen).verdict, unseen.exit_status) == ("inconclusive", 3)
    larger = gate(judged(*sides(steps(alone=0.0), steps(change=0.2, seed=2, alone=0.5))))
    assert larger.verdict == "regressed"
    assert any(note.startswith("mode: ") for note in larger.notes)


def test_a_derived_metric_follows_its_own_direction() -> None:
    def rates(samples: list[Samples]) -> list[Samples]:
        return [{**values, "tokens_per_s": 512 / (values["step_s"] or 1)} for values in samples]

    answer = judged(*sides(rates(steps()), rates(steps(change=0.25, seed=2))))
    rate = gate(answer, "tokens_per_s")
    assert (rate.verdict, rate.kind, rate.p) == (None, "derived", None)
    assert rate.change == pytest.approx(0.2, abs=0.01)


def test_the_same_failure_twice_one_of_them_alone_is_broken() -> None:
    fails = {block: failure() for block in range(9)}
    answer = judged(measured(steps(), side="base"), measured(steps(), fails=fails))
    assert (answer.verdict, answer.exit_status) == ("broken", 1)
    assert gate(answer).reason == "head raised in 9 launches, 1 alone; base works"
    assert len(answer.outcomes) == 9
    assert (answer.outcomes[0].side, answer.outcomes[0].alone) == ("head", True)
    few = judged(measured(steps(), side="base"), measured(steps(), fails={0: failure(), 3: failure()}))
    assert few.verdict == "broken"


def test_a_single_failure_is_no_verdict() -> None:
    answer = judged(measured(steps(), side="base"), measured(steps(seed=2), fails={3: failure("hung", None)}))
    assert (answer.verdict, answer.exit_status) == ("inconclusive", 3)
    assert gate(answer).reason == "failed once: head hung in 1 launch, 0 alone"
    assert gate(answer).base.blocks == (1, 2, 4, 5, 6, 7, 8)


@pytest.mark.parametrize(
    "fails",
    [
        {2: failure(), 3: failure()},
        {0: failure(), 3: failure("hung", None)},
        {0: failure(status=1), 3: failure(status=2)},
    ],
    ids=["never alone", "other kinds", "other statuses"],
)
def test_failures_that_do_not_confirm_each_other_are_no_verdict(fails: dict[int, object]) -> None:
    answer = judged(measured(steps(), side="base"), measured(steps(seed=2), fails=fails))  # type: ignore[arg-type]
    assert (gate(answer).verdict, answer.exit_status) == ("inconclusive", 3)
    assert gate(answer).reason.startswith("failed 2 times: head ")


def test_where_base_fails_as_well_nobody_is_to_blame() -> None:
    fails = {block: failure() for block in range(9)}
    answer = judged(measured(steps(), side="base", fails=fails), measured(steps(), fails=fails))
    assert (answer.verdict, answer.exit_status) == ("inconclusive", 3)
    assert gate(answer).reason.startswith("both sides fail: base raised in 9 launches")
    only_base = judged(measured(steps(), side="base", fails=fails), measured(steps()))
    assert (only_base.verdict, only_base.exit_status) == ("inconclusive", 3)
    assert "nothing to compare head with" in gate(only_base).reason


def test_failures_in_blocks_where_base_failed_too_do_not_count() -> None:
    base = measured(steps(), side="base", fails={0: failure()})
    head = measured(steps(seed=2), fails={0: failure(), 3: failure()})
    assert judged(base, head).verdict == "inconclusive"


def test_more_than_a_fifth_of_the_blocks_lost_is_no_verdict() -> None:
    def lost(count: int, start: int = 1) -> dict[int, object]:
        return {block: failure("died", -9) for block in range(start, start + count)}

    def judged_without(count: int, blocks: int) -> Comparison:
        base = measured(steps(blocks), side="base", fails=lost(count))  # type: ignore[arg-type]
        return gate(judged(base, measured(steps(blocks, change=0.2, seed=2))))

    assert judged_without(1, 8).verdict == "regressed"  # one lost block tells nothing of the sides
    uneven, many = judged_without(2, 10), judged_without(2, 8)
    assert uneven.reason == "lost blocks: 2 of base and 0 of head, of 10"
    assert many.reason == "lost blocks: 2 of base and 0 of head, of 8"
    assert uneven.verdict == many.verdict == "inconclusive"


def test_a_launch_that_measured_nothing_loses_its_block() -> None:
    base, head = sides(steps(10), steps(10, change=0.2, seed=2))

    def without(side: Run, blocks: Collection[int]) -> Run:
        kept = (
            replace(each, measurements=() if each.block in blocks else each.measurements)
            for each in side.launches
        )
        return replace(side, launches=tuple(kept))

    evenly = gate(judged(without(base, {3, 4}), without(head, {3, 4})))
    assert (evenly.verdict, evenly.base.launches) == ("regressed", 8)
    assert "tested in 8 of 10 blocks; the others lack a value" in evenly.notes
    too_many = gate(judged(without(base, {3, 4, 5}), without(head, {3, 4, 5})))
    assert too_many.reason == "lost blocks: 3 of base and 3 of head, of 10"
    assert too_many.verdict == "inconclusive"


def test_benchmarks_that_come_and_go() -> None:
    ddp, both = measured(steps(), side="base"), measured(steps(seed=3), label=FSDP)
    came = judged(ddp, merged(measured(steps(seed=2)), both))
    assert (came.verdict, came.exit_status, gate(came, label=FSDP).verdict) == ("new", 0, "new")
    went = judged(merged(ddp, both), measured(steps(seed=2)))
    assert (went.verdict, went.exit_status, gate(went, label=FSDP).verdict) == ("gone", 0, "gone")
    assert judged(merged(ddp, both), measured(steps(seed=2)), fail_on={"gone"}).exit_status == 1


def test_a_new_benchmark_that_fails_is_no_pass() -> None:
    fails = {block: failure() for block in range(9)}
    head = merged(measured(steps(seed=2)), measured(steps(), label=FSDP, fails=fails))
    answer = judged(measured(steps(), side="base"), head)
    assert (gate(answer, label=FSDP).verdict, answer.exit_status) == ("inconclusive", 3)


def test_another_platform_is_incomparable_and_says_in_what() -> None:
    base, head = sides(steps(), steps(seed=2))
    other = replace(PLATFORM, cores=8)
    moved = replace(head, launches=tuple(replace(each, platform=other) for each in head.launches))
    answer = judged(base, moved)
    assert (answer.verdict, answer.exit_status) == ("incomparable", 3)
    assert gate(answer).reason == "other platform: cores is 4 in base and 8 in head"
    assert [(each.field, each.base, each.head) for each in answer.platform_diff] == [("cores", "4", "8")]


def test_another_definition_or_workload_is_incomparable() -> None:
    base = measured(steps(), side="base")

    def changed(**what: object) -> Run:
        launches = tuple(
            replace(each, measurements=tuple(replace(m, **what) for m in each.measurements))  # type: ignore[arg-type]
            for each in measured(steps(seed=2)).launches
        )
        return run(launches, side="head")

    assert gate(judged(base, changed(definition="d2"))).reason == "definition changed"
    answer = judged(base, changed(workload=replace(WORKLOAD, tokens=1024)))
    assert gate(answer).reason == "workload changed: tokens is 512 in base and 1024 in head"
    assert (answer.verdict, answer.exit_status) == ("incomparable", 3)
    fewer = judged(base, changed(workload=replace(WORKLOAD, model_flops=7)))
    assert gate(fewer).reason == "workload changed: model_flops is None in base and 7 in head"


def test_other_software_is_listed_and_compared() -> None:
    base, head = sides(steps(), steps(seed=2))
    moved = replace(
        head,
        launches=tuple(
            replace(each, environment=replace(each.environment, variables=(("NCCL_ALGO", "Ring"),)))  # type: ignore[type-var]
            for each in head.launches
        ),
    )
    answer = judged(base, moved)
    assert answer.verdict == "unchanged"
    assert [(each.field, each.base, each.head) for each in answer.environment_diff] == [
        ("$NCCL_ALGO", "", "Ring")
    ]


def test_gpus_are_held_to_less() -> None:
    gpus = replace(PLATFORM, devices=("NVIDIA H200",))
    base, head = (
        replace(side, launches=tuple(replace(each, platform=gpus) for each in side.launches))
        for side in sides(steps(), steps(seed=2))
    )
    answer = judged(base, head)
    assert (answer.min_change, answer.must_see) == (0.01, 0.03)
    own = judged(base, head, Policy(min_change=0.02, must_see=0.5, false_alarms=0.05))
    assert (own.min_change, own.must_see, own.false_alarms) == (0.02, 0.5, 0.05)


def test_nothing_measured_is_never_a_pass() -> None:
    empty = run([]), run([], side="head")
    answer = judged(*empty)
    assert (answer.verdict, answer.exit_status, answer.platform) == ("inconclusive", 3, "unknown")
    dead = launch(1, [], platform=None, environment=None)
    assert judged(run([dead]), run([dead], side="head")).exit_status == 3
    assert judged(measured(steps(), side="base"), run([], side="head")).exit_status == 3


def test_a_planned_benchmark_that_nobody_measured_is_no_pass() -> None:
    plan = Plan(
        suite="smoke",
        seed=1,
        workload_seed=2,
        sides=("base", "head"),
        benchmarks=tuple(
            Benchmark(name=name, params=params, world_size=2, digest="d1")
            for name, params in (("fsdp", (("reshard", True),)), ("ddp", ()))
        ),
        steps=Steps(warmup=1, burst=1, turns=1),
        limits=Limits(build_s=1.0, step_s=1.0),
        blocks=(Block(index=0, alone=True, counted=True, sides=("base", "head"), benchmarks=(DDP, FSDP)),),
    )
    text = json.dumps(plain(plan))
    base, head = sides(steps(), steps(seed=2))
    answer = judged(
        replace(base, manifest=replace(base.manifest, plan=text)),
        replace(head, manifest=replace(head.manifest, plan=text)),
    )
    assert [each.benchmark for each in answer.comparisons if each.role == "gate"] == [FSDP, DDP]
    assert gate(answer, label=FSDP).reason == "planned, and measured on neither side"
    assert (answer.verdict, answer.exit_status) == ("inconclusive", 3)


@pytest.mark.parametrize("text", ["{", "[]", '{"suite": 1}'])
def test_an_unreadable_plan_is_an_error(text: str) -> None:
    base, head = sides(steps(), steps(seed=2))
    with pytest.raises(RecordError, match="plan"):
        judge(replace(base, manifest=replace(base.manifest, plan=text)), head, POLICY, command="")


def test_words_of_a_failed_program_stay_out_of_the_verdict() -> None:
    fails = {block: failure() for block in range(9)}
    answer = judged(measured(steps(), side="base"), measured(steps(), fails=fails))
    assert "\x1b" not in gate(answer).reason
    assert "boom" not in gate(answer).reason


def test_an_unfinished_run_and_a_run_against_itself_are_noted() -> None:
    base = measured(steps(), side="base")
    answer = judged(replace(base, complete=False), base)
    assert "the run of base was not finished" in answer.notes
    assert "base and head are the same run" in answer.notes


def test_the_retry_of_a_failed_launch_does_not_hide_it() -> None:
    base, head = sides(steps(), steps(seed=2))
    failed = replace(head.launches[3], measurements=(measurement(outcome=failure()),))
    retry = replace(head.launches[3], attempt=1)
    launches = (*head.launches[:3], failed, retry, *head.launches[4:])
    step = gate(judged(base, replace(head, launches=launches)))
    assert (step.verdict, step.head.launches) == ("inconclusive", 8)
    assert step.reason.startswith("failed once: ")


def test_a_loss_on_one_side_only_is_another_result() -> None:
    base = with_samples(steps(), loss=2.0)
    answer = judged(*sides(base, steps(change=-0.2, seed=2)))
    assert (gate(answer).verdict, answer.exit_status) == ("inconclusive", 3)
    assert gate(answer).reason == "other result: only base reports a loss"


def test_nothing_but_new_benchmarks_is_no_pass() -> None:
    base, head = sides(steps(), steps(seed=2))
    assert judged(replace(base, launches=()), head).exit_status == 3


def test_what_an_unfinished_run_lacks_is_not_gone() -> None:
    base, head = sides(steps(), steps(seed=2))
    answer = judged(base, replace(head, launches=(), complete=False))
    assert (gate(answer).verdict, answer.exit_status) == ("inconclusive", 3)
    answer = judged(replace(base, launches=(), complete=False), head)
    assert (gate(answer).verdict, answer.exit_status) == ("inconclusive", 3)


def test_counts_that_differ_within_the_tolerance_are_compared_exactly() -> None:
    policy = POLICY.model_copy(update={"tolerances": {"peak_allocated_bytes": 0.01}})

    def jittering(level: float) -> list[Samples]:
        return [{**each, "peak_allocated_bytes": level + place % 2} for place, each in enumerate(steps())]

    same = judge(*sides(jittering(1000), jittering(1000)), policy, command="")
    assert gate(same, "peak_allocated_bytes").verdict == "unchanged"
    more = judge(*sides(jittering(1000), jittering(1500)), policy, command="")
    assert gate(more, "peak_allocated_bytes").verdict == "regressed"


def test_one_flaky_failure_on_both_sides_hides_no_exact_regression() -> None:
    counts = [{**each, "collective_count": 14} for each in steps()]
    more = [{**each, "collective_count": 15} for each in steps(seed=2)]
    base = measured(counts, side="base", fails={3: failure()})
    answer = judged(base, measured(more, side="head", fails={4: failure()}))
    assert gate(answer, "collective_count").verdict == "regressed"
    assert answer.exit_status == 1


def importing(run: Run, modules: int | None, commit: str) -> Run:
    """The same run of a commit of which its ranks imported so many modules."""
    launches = tuple(
        replace(each, measurements=tuple(replace(m, side_modules=modules) for m in each.measurements))
        for each in run.launches
    )
    return replace(run, launches=launches, manifest=replace(run.manifest, commit=commit))


def test_a_busy_machine_is_told() -> None:
    base, head = sides(steps(), steps(seed=2))
    busy = replace(head, launches=tuple(replace(each, foreign_cpu=0.4) for each in head.launches))
    assert any("others used up to 40 % of its cores" in note for note in judged(base, busy).notes)


def test_revisions_of_which_nothing_was_imported_were_not_compared() -> None:
    base, head = sides(with_samples(steps(), flops=8.0), with_samples(steps(seed=2), flops=8.0))
    answer = judged(importing(base, 0, "a" * 40), importing(head, 0, "b" * 40))
    assert {gate(answer, name).verdict for name in ("step_s", "flops")} == {"inconclusive"}
    assert gate(answer, "step_s").reason == "same code: nothing was imported from either revision"
    assert answer.exit_status == 3


@pytest.mark.parametrize(
    ("base_modules", "head_modules", "head_commit", "environment", "subject"),
    [
        (3, 3, "b", None, "revision"),
        (0, 3, "b", None, "revision"),
        (None, None, "b", None, "revision"),
        (0, 0, "a", None, "revision"),
        (0, 0, "b", "nightly", "revision"),
        (0, 0, "b", None, "environment"),
    ],
    ids=["both", "one", "not known", "one commit", "two environments", "an environment is compared"],
)
def test_otherwise_they_were(
    base_modules: int | None,
    head_modules: int | None,
    head_commit: str,
    environment: str | None,
    subject: Any,
) -> None:
    base, head = sides(steps(), steps(seed=2))
    base, head = importing(base, base_modules, "a" * 40), importing(head, head_modules, head_commit * 40)
    head = replace(head, manifest=replace(head.manifest, environment=environment))
    answer = judge(base, head, Policy(subject=subject), command="")
    assert gate(answer, "step_s").verdict == "unchanged"
    noted = any("imported no module from the revisions" in note for note in answer.notes)
    assert noted == (base_modules == 0 and head_commit == "b" and environment is None)


def test_idle_sides_and_split_blocks_are_told_of() -> None:
    base, head = sides(steps(8), steps(8, seed=2))
    busy = tuple(
        replace(launch, measurements=tuple(replace(each, idle_cores=0.6) for each in launch.measurements))
        for launch in head.launches
    )
    assert any("did not sleep" in note for note in judged(base, replace(head, launches=busy)).notes)
    late = tuple(
        replace(launch, started="2026-01-01T05:00:00Z") if launch.alone else launch
        for launch in head.launches
    )
    split = replace(head, launches=late)
    assert any("was interrupted" in note for note in judged(base, split).notes)
    apart = replace(split, manifest=replace(head.manifest, comparison="other"))
    assert not any("was interrupted" in note for note in judged(base, apart).notes)


def test_pauses_between_launches_count_and_interruptions_do_not() -> None:
    def at(clock: str, seconds: float) -> Launch:
        return replace(launch(0, ()), started=f"2026-01-01T{clock}+00:00", seconds=seconds)

    assert pauses_s([]) == 0
    assert pauses_s([at("00:00:00", 5.0)]) == 0
    apart = [at("00:00:20", 2.0), at("00:00:00", 5.0), at("00:00:00", 8.0)]
    assert pauses_s(apart) == 12.0  # both sides were resident, the longer one ended at 8 s
    assert pauses_s([*apart, at("03:00:00", 1.0)]) == 12.0
    assert pauses_s([*apart, at("00:00:21", 1.0)]) == 12.0  # it began before the other ended
