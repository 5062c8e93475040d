"""What earlier runs tell of the noise of today's benchmarks, and what of them does not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from regress.record.noise import Noise
from regress.record.platform import Platform
from regress.record.run import Run
from regress.verdict.evidence import gather
from regress.verdict.judge import judge
from regress.verdict.noise import Like, known_noise
from tests.verdict.runs import DDP, FSDP, PLATFORM, POLICY, measured, steps

LIKE = Like(definitions={DDP: "d1", FSDP: "d1"}, platform=PLATFORM.key, alone=False)


def comparison(number: int, *, level: float = 0.0, noise: float = 0.01, label: str = DDP) -> list[Run]:
    """Base and head that were measured together."""
    base = measured(steps(8, change=level, noise=noise, seed=2 * number), side="base", label=label)
    head = measured(steps(8, change=level, noise=noise, seed=2 * number + 1), side="head", label=label)
    found = []
    for run in (base, head):
        manifest = replace(
            run.manifest,
            comparison=f"c{number}",
            run=f"{run.manifest.role}{number}",
            started=f"2026-01-01T{number % 24:02d}:00:00Z",
        )
        found.append(replace(run, manifest=manifest))
    return found


def history(levels: Sequence[float], noise: float = 0.01) -> list[Run]:
    return [
        run for place, level in enumerate(levels) for run in comparison(place + 1, level=level, noise=noise)
    ]


def noise_of(runs: Sequence[Run], design: str = "paired", like: Like = LIKE) -> Noise | None:
    found = [
        each
        for each in known_noise(runs, like)
        if (each.benchmark, each.metric, each.design) == (DDP, "step_s", design)
    ]
    return found[0] if found else None


def test_blocks_of_earlier_comparisons_tell_the_noise_of_a_difference() -> None:
    noise = noise_of(history([0.0, 0.5, -0.2]))
    assert noise is not None
    assert noise.sd == pytest.approx(math.sqrt(2) * 0.01, rel=0.35)
    assert (noise.launches, len(noise.residuals), noise.df) == (48, 24, 10)
    assert (noise.between_sd, noise.bias) == (None, 0)


def test_launches_of_single_runs_tell_the_noise_of_a_launch() -> None:
    single = replace(history([0.0])[0])
    single = replace(single, manifest=replace(single.manifest, comparison=""))
    assert noise_of([single]) is None
    noise = noise_of([single], "unpaired")
    assert noise is not None
    assert noise.sd == pytest.approx(0.01, rel=0.5)
    assert (noise.launches, noise.df) == (8, 7)


@pytest.mark.parametrize(
    "like",
    [
        replace(LIKE, definitions={DDP: "another"}),
        replace(LIKE, definitions={FSDP: "d1"}),
        replace(LIKE, platform=Platform(host="n", cpu="Xeon", cores=64, memory_bytes=1 << 34).key),
    ],
    ids=["another definition", "another benchmark", "another platform"],
)
def test_what_is_not_alike_tells_nothing(like: Like) -> None:
    assert noise_of(history([0.0, 0.0]), like=like) is None
    assert noise_of(history([0.0, 0.0]), "unpaired", like=like) is None


def test_resident_blocks_tell_nothing_of_launches_alone() -> None:
    """Of each run one launch was alone: that shows no noise."""
    assert noise_of(history([0.0, 0.0, 0.0]), "unpaired", like=replace(LIKE, alone=True)) is None


def test_values_that_are_no_times_are_left_out() -> None:
    runs = history([0.0])
    broken = runs[0].launches[3].measurements[0]
    samples = tuple(replace(sample, value=math.nan) for sample in broken.samples)
    launch = replace(runs[0].launches[3], measurements=(replace(broken, samples=samples),))
    launches = (*runs[0].launches[:3], launch, *runs[0].launches[4:])
    noise = noise_of([replace(runs[0], launches=launches), runs[1]])
    assert noise is not None
    assert len(noise.residuals) == 7


def test_how_days_differ_is_known_from_four_measurements_on() -> None:
    steady, moving = [0.0] * 12, [0.0, 0.04, -0.03, 0.05, 0.0, 0.06, -0.04, 0.02, 0.05, -0.02, 0.03, 0.0]
    few = noise_of(history(moving[:3]), "unpaired")
    assert few is not None
    assert few.between_sd is None
    still, moved = noise_of(history(steady), "unpaired"), noise_of(history(moving), "unpaired")
    assert still is not None
    assert moved is not None
    assert still.between_sd is not None
    assert moved.between_sd is not None
    assert still.between_sd < 0.012
    assert 0.03 < moved.between_sd < 0.12
    assert moved.between_df == pytest.approx(11 / 3)


def test_one_real_change_of_the_code_is_no_variation_of_days() -> None:
    changed = noise_of(history([0.0] * 6 + [0.5] * 6), "unpaired")
    assert changed is not None
    assert changed.between_sd is not None
    assert changed.between_sd < 0.015


def test_other_benchmarks_lend_where_there_are_ten() -> None:
    runs = [run for n in range(24) for run in comparison(n + 1, label=f"b{n % 12}[world=2]")]
    like = replace(LIKE, definitions={DDP: "d1"} | {f"b{n}[world=2]": "d1" for n in range(12)})
    short = comparison(30)
    few = [replace(run, launches=run.launches[:4]) for run in short]
    own = noise_of(few)
    lent = noise_of([*runs, *few], like=like)
    assert own is not None
    assert lent is not None
    assert (own.df, own.launches) == (2, 6)
    assert lent.df > 2
    assert lent.launches == own.launches


def together(base: Run, head: Run, noise: tuple[Noise, ...]) -> tuple[Run, Run]:
    return tuple(replace(run, manifest=replace(run.manifest, noise=noise)) for run in (base, head))  # type: ignore[return-value]


def test_blocks_measured_together_are_judged_by_what_their_manifest_knows() -> None:
    base, head = measured(steps(3), side="base"), measured(steps(3, change=0.3, seed=2), side="head")
    bare = judge(base, head, POLICY, command="")
    assert bare.comparisons[0].verdict == "inconclusive"
    noise = Noise(
        benchmark=DDP,
        metric="step_s",
        design="paired",
        sd=0.007,
        df=10,
        launches=80,
        residuals=(0.005,) * 20 + (-0.005,) * 20,
    )
    known = judge(*together(base, head, (noise,)), POLICY, command="")
    assert known.comparisons[0].verdict == "regressed"
    assert not any("noise model" in note for note in known.comparisons[0].notes)
    elsewhere = judge(base, head, POLICY, command="", noise=(noise,))
    assert elsewhere.comparisons == bare.comparisons  # a frozen manifest wins


def test_runs_of_two_days_are_judged_by_what_the_store_knows() -> None:
    base, head = (
        measured(steps(8), side="base", comparison="a"),
        measured(steps(8, change=0.08, seed=2), comparison="b"),
    )
    unknown = judge(base, head, POLICY, command="").comparisons[0]
    assert any("is unknown" in note for note in unknown.notes)

    def known(between: float) -> Noise:
        return Noise(
            benchmark=DDP, metric="step_s", design="unpaired", sd=0.005, df=10, launches=40,
            residuals=(0.004, -0.004) * 20, between_sd=between, between_df=6.0,
        )  # fmt: skip

    steady, restless = (
        judge(base, head, POLICY, command="", noise=(known(between),)).comparisons[0]
        for between in (0.001, 0.05)
    )
    assert (steady.verdict, restless.verdict) == ("regressed", "inconclusive")
    assert steady.high is not None
    assert restless.high is not None
    assert unknown.high is not None
    assert steady.high < unknown.high < restless.high


def test_identical_sides_that_may_differ_shift_the_test_and_raise_min_change() -> None:
    base, head = (
        measured(steps(8, noise=0.002), side="base"),
        measured(steps(8, change=0.06, noise=0.002, seed=2), side="head"),
    )
    small, large = (
        Noise(benchmark=DDP, metric="step_s", design="paired", bias=bias) for bias in (0.01, 0.02)
    )
    plain, shifted, raised = (
        judge(*together(base, head, noise), POLICY, command="") for noise in ((), (small,), (large,))
    )
    assert (plain.comparisons[0].verdict, raised.comparisons[0].verdict) == ("regressed", "inconclusive")
    assert shifted.comparisons[0].high is not None
    assert plain.comparisons[0].high is not None
    assert shifted.comparisons[0].high == pytest.approx(plain.comparisons[0].high + 0.0107, abs=3e-4)
    assert plain.min_change == shifted.min_change == 0.05
    assert raised.min_change == pytest.approx(0.08)
    assert any("min_change is 8 % therefore, not 5 %" in note for note in raised.notes)


def test_dropped_benchmarks_have_lost_no_blocks() -> None:
    """Blocks that were measured for others only are none of theirs."""
    base, head = measured(steps(8), side="base"), measured(steps(8, seed=2), side="head")
    others = [
        measured(steps(8, seed=seed), side=side, label=FSDP) for seed, side in ((3, "base"), (4, "head"))
    ]
    few = [
        replace(
            run,
            launches=tuple(
                replace(
                    launch,
                    measurements=(*(launch.measurements if launch.block < 6 else ()), *other.measurements),
                )
                for launch, other in zip(run.launches, more.launches, strict=True)
            ),
        )
        for run, more in zip((base, head), others, strict=True)
    ]
    (ddp, fsdp) = gather(few[0], few[1])
    assert (ddp.benchmark, len(ddp.blocks), len(fsdp.blocks)) == (DDP, 5, 8)
    answer = judge(few[0], few[1], POLICY, command="")
    assert not any("lost" in each.reason for each in answer.comparisons)
