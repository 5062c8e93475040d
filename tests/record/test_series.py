"""What the ranks of a launch saw becomes one value per metric: that of the slowest or worst rank."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regress.record.metric import METRICS, metric
from regress.record.sample import Sample
from regress.record.series import (
    Burst,
    RankSeries,
    Workload,
    idle_cores,
    launch_samples,
    one_workload,
    percentile,
)

WORKLOAD = Workload(
    params=(("size", "tiny"),), world_size=2, seed=1, tokens=600, samples=6, model_flops=10**12
)
Phases = tuple[tuple[str, tuple[float, ...]], ...]


def burst(*steps_s: float, phases_s: Phases = (), cpu_s: float = 0.0) -> Burst:
    return Burst(steps_s=steps_s, phases_s=phases_s, cpu_s=cpu_s)


def rank(number: int, *bursts: Burst, **facts: object) -> RankSeries:
    return RankSeries(**{"rank": number, "workload": WORKLOAD, "bursts": bursts, **facts})  # type: ignore[arg-type]


def by_metric(*ranks: RankSeries) -> dict[str, Sample]:
    samples = launch_samples(ranks)
    assert len({sample.metric for sample in samples}) == len(samples)
    return {sample.metric: sample for sample in samples}


def test_a_step_lasts_as_long_as_on_its_slowest_rank() -> None:
    samples = by_metric(
        rank(0, burst(1.0, 2.0), burst(9.0, cpu_s=3.0), ),
        rank(1, burst(1.5, 1.0), burst(3.0, cpu_s=6.0)),
    )  # fmt: skip
    assert samples["step_s"].steps == (1.5, 2.0, 9.0)
    assert samples["step_s"].value == 2.0
    assert samples["step_mean_s"].value == pytest.approx(12.5 / 3)
    assert samples["tokens_per_s"].value == pytest.approx(600 / (12.5 / 3))
    assert samples["samples_per_s"].value == pytest.approx(6 / (12.5 / 3))
    assert samples["cpu_s"].value == pytest.approx(3.0)  # 9 s on all ranks, three steps
    assert samples["step_p95_s"].value == pytest.approx(8.3)
    assert samples["flops"].value == 10**12


def test_the_worst_rank_is_named_and_the_lowest_of_equals() -> None:
    samples = by_metric(
        rank(2, burst(1.0), peak_allocated_bytes=50, peak_reserved_bytes=99, collective_count=7),
        rank(0, burst(1.0), peak_allocated_bytes=90, peak_reserved_bytes=98, collective_count=7),
        rank(1, burst(1.0), peak_allocated_bytes=10, collective_count=7),
    )
    assert (samples["peak_reserved_bytes"].value, samples["peak_reserved_bytes"].rank) == (99, 2)
    assert (samples["peak_allocated_bytes"].value, samples["peak_allocated_bytes"].rank) == (90, 0)
    assert (samples["collective_count"].value, samples["collective_count"].rank) == (7, 0)
    assert "collective_bytes" not in samples


def test_a_count_of_zero_is_a_measurement() -> None:
    samples = by_metric(rank(0, burst(1.0), collective_count=0, collective_bytes=0))
    assert (samples["collective_count"].value, samples["collective_bytes"].value) == (0, 0)


def test_phases_take_the_slowest_rank_of_each_step_too() -> None:
    samples = by_metric(
        rank(
            0,
            burst(1.0, 1.0, phases_s=(("forward", (0.1, 0.2)), ("backward", (0.5, 0.5)))),
            burst(1.0, phases_s=(("forward", (0.3,)), ("backward", (0.6,)))),
        ),
        rank(
            1,
            burst(1.0, 1.0, phases_s=(("backward", (0.4, 0.9)), ("forward", (0.3, 0.1)))),
            burst(1.0, phases_s=(("forward", (0.1,)), ("backward", (0.1,)))),
        ),
    )
    assert samples["forward_s"].steps == (0.3, 0.2, 0.3)
    assert samples["forward_s"].value == 0.3
    assert samples["backward_s"].steps == (0.5, 0.9, 0.6)


def test_a_phase_of_some_ranks_is_that_of_those_ranks() -> None:
    samples = by_metric(rank(0, burst(1.0, 1.0, phases_s=(("send", (0.1, 0.2)),))), rank(1, burst(1.0, 1.0)))
    assert samples["send_s"].steps == (0.1, 0.2)


def test_a_phase_that_ranks_count_differently_is_left_out() -> None:
    samples = by_metric(
        rank(0, burst(1.0, 1.0, phases_s=(("eval", (0.1, 0.2)),))),
        rank(1, burst(1.0, 1.0, phases_s=(("eval", (0.1,)),))),
    )
    assert "eval_s" not in samples


def test_the_loss_is_the_last_one_of_the_rank_that_has_it() -> None:
    samples = by_metric(rank(0, burst(1.0)), rank(1, burst(1.0), losses=(3.0, 2.0, 1.0)))
    assert samples["loss"].value == 1.0
    assert samples["loss"].steps == (3.0, 2.0, 1.0)
    assert "loss" not in by_metric(rank(0, burst(1.0)))


def test_what_was_not_measured_is_absent() -> None:
    bare = Workload(params=(), world_size=1, seed=1)
    assert launch_samples([RankSeries(rank=0, workload=bare, bursts=())]) == ()


def test_samples_come_in_the_order_of_the_table_with_phases_last() -> None:
    samples = launch_samples(
        [
            rank(
                0,
                burst(1.0, phases_s=(("forward", (0.1,)),)),
                losses=(1.0,),
                peak_allocated_bytes=1,
                peak_reserved_bytes=1,
                collective_count=1,
                collective_bytes=1,
            )
        ]
    )
    assert [sample.metric for sample in samples] == [*METRICS, "forward_s"]
    assert all(metric(sample.metric).name == sample.metric for sample in samples)


steps = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=20)


@given(steps)
def test_the_value_of_a_step_is_the_median_and_no_order_of_ranks_matters(series: list[float]) -> None:
    fast = rank(0, burst(*series))
    slow = rank(1, burst(*(step * 2 for step in series)))
    assert launch_samples([fast, slow]) == launch_samples([slow, fast])
    assert launch_samples([fast, slow])[0].value == median(step * 2 for step in series)


@given(steps, st.floats(0, 1))
def test_a_percentile_lies_among_the_values(series: list[float], fraction: float) -> None:
    assert min(series) <= percentile(series, fraction) <= max(series) * (1 + 1e-12)
    assert percentile(series, 0) == min(series)
    assert percentile(series, 1) == max(series)
    assert percentile(series, 0.5) == pytest.approx(median(series))


@pytest.mark.parametrize(
    ("idle", "cores"),
    [
        ([(2.0, 0.5), (2.0, 1.0)], 0.75),
        ([(2.0, 0.5), (None, None)], None),
        ([(None, None)], None),
        ([(0.0, 0.0)], None),
    ],
)
def test_the_cores_of_sleepers_are_summed_over_ranks(
    idle: list[tuple[float | None, float | None]], cores: float | None
) -> None:
    ranks = [
        RankSeries(
            rank=rank,
            workload=Workload(params=(), world_size=len(idle), seed=1),
            bursts=(),
            idle_s=wall_s,
            idle_cpu_s=cpu_s,
        )
        for rank, (wall_s, cpu_s) in enumerate(idle)
    ]
    assert idle_cores(ranks) == cores


def told(**known: object) -> Workload:
    return Workload(params=(("size", "tiny"),), world_size=2, seed=1, tokens=8, **known)  # type: ignore[arg-type]


def test_launches_that_tell_less_tell_the_same_workload() -> None:
    whole = told(parameters=10, precision=("float32",))
    assert one_workload([told(parameters=10), whole, told()]) == whole
    assert one_workload([told()]) == told()
    assert one_workload([]) is None


@pytest.mark.parametrize(
    "other",
    [
        told(parameters=11),
        told(precision=("bfloat16",)),
        replace(told(), tokens=9),
        replace(told(), params=()),
    ],
    ids=["parameters", "precision", "tokens", "params"],
)
def test_launches_that_tell_otherwise_do_not(other: Workload) -> None:
    assert one_workload([told(parameters=10, precision=("float32",)), other]) is None
