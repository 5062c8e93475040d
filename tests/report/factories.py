"""Answers as a comparison would give them, for the tests of every form of report."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from regress.record.calibration import CalibrationSummary, PooledRate, Rate, Slowdown
from regress.record.comparison import (
    Comparison,
    Difference,
    Failure,
    Side,
    SuiteComparison,
    Values,
    Verdict,
)
from regress.record.metric import metric
from regress.record.outcome import Outcome

DDP = "ddp[model=small,world=4]"
FSDP = "fsdp[reshard=true,world=4]"
TENSOR = "tensor_parallel[world=2]"
HOSTILE = "\x1b[31m<script>alert('x')</script>\n\"><img src=x onerror=alert(1)>\u202e../../etc"

UNNAMED = Side(name="runs/old.json", commit=None, subject="", run="00000000", folder="runs/old")


def values(*numbers: float, blocks: Sequence[int] | None = None) -> Values:
    return Values(
        median=median(numbers) if numbers else None,
        launches=len(numbers),
        values=numbers,
        blocks=tuple(range(len(numbers))) if blocks is None else tuple(blocks),
    )


def timed(
    benchmark: str, name: str, level: float, change: float, *, seed: int = 0, blocks: int = 6, **given: Any
) -> Comparison:
    """A timed comparison of launches that drift together and differ by about ``change``."""
    draw = random.Random(ascii(f"{benchmark} {name} {seed}"))
    what = metric(name)
    drift = [level * (1 + draw.uniform(-0.04, 0.04)) for _ in range(blocks)]
    factor = 1 + change if what.direction == "lower" else 1 - change
    head = [value * factor * (1 + draw.uniform(-0.008, 0.008)) for value in drift]
    known: dict[str, Any] = {
        "benchmark": benchmark,
        "metric": name,
        "unit": what.unit,
        "direction": what.direction,
        "kind": what.kind,
        "role": what.role,
        "verdict": "unchanged" if what.role == "gate" else None,
        "base": values(*drift),
        "head": values(*head),
        "change": change,
        "low": change - 0.013,
        "high": change + 0.014,
        "confidence": 0.9,
        "p": 0.41 if what.role == "gate" else None,
        "p_adjusted": 1.0 if what.role == "gate" else None,
        "detectable": 0.061 if what.role == "gate" else None,
        "reason": "the change lies inside 5 %" if what.role == "gate" else "",
        "design": "paired",
    }
    return Comparison(**(known | given))


def exact(benchmark: str, name: str, base: float, head: float, **given: Any) -> Comparison:
    """A counted comparison: every launch of a side agrees."""
    what = metric(name)
    verdict: Verdict = "unchanged" if base == head else "regressed" if head > base else "improved"
    known: dict[str, Any] = {
        "benchmark": benchmark,
        "metric": name,
        "unit": what.unit,
        "direction": what.direction,
        "kind": "exact",
        "role": "gate",
        "verdict": verdict,
        "base": values(*[float(base)] * 6),
        "head": values(*[float(head)] * 6),
        "change": head / base - 1 if base else (0.0 if head == base else None),
        "low": None,
        "high": None,
        "confidence": None,
        "p": None,
        "p_adjusted": None,
        "detectable": 0.0,
        "reason": "exact: equal" if base == head else "exact: more than the tolerance of 0 % worse",
        "design": "exact",
    }
    return Comparison(**(known | given))


def benchmark(label: str, step_s: float, change: float, **given: Any) -> tuple[Comparison, ...]:
    """All metrics of one benchmark whose step time changes; the rest follows from it."""
    return (
        timed(label, "step_s", step_s, change, **given),
        exact(label, "peak_allocated_bytes", 412_876_800, 412_876_800),
        exact(label, "collective_count", 14, 14),
        exact(label, "collective_bytes", 25_296_896, 25_296_896),
        exact(label, "flops", 8_053_063_680, 8_053_063_680),
        timed(label, "tokens_per_s", 4096 / step_s, change, kind="derived"),
        timed(label, "step_p95_s", step_s * 1.09, change),
        timed(label, "cpu_s", step_s * 3.6, change / 2),
        timed(label, "forward_s", step_s * 0.31, change / 4),
        timed(label, "backward_s", step_s * 0.58, change * 1.5),
    )


def slower(label: str, step_s: float, change: float, **given: Any) -> tuple[Comparison, ...]:
    known: dict[str, Any] = {
        "verdict": "regressed",
        "p": 3.1e-06,
        "p_adjusted": 1.9e-05,
        "reason": "worse beyond the false-alarm rate, and the estimate is at least 5 %",
    }
    return benchmark(label, step_s, change, **(known | given))


def answer(**given: Any) -> SuiteComparison:
    known: dict[str, Any] = {
        "base": Side(
            name="main",
            commit="4f1c0e9a7b2d4c5e8f90a1b2c3d4e5f60718293a",
            subject="Keep the gradient buckets between steps",
            run="3f9a1c02",
            folder="runs/smoke/2025-06-03T091204Z-4f1c0e9a7b2d-3f9a1c02",
        ),
        "head": Side(
            name="HEAD",
            commit="b81d22c4905e6f7a8b9c0d1e2f30415263748596",
            subject="Reduce gradients one parameter at a time",
            run="77b0e5d1",
            folder="runs/smoke/2025-06-03T091204Z-b81d22c4905e-77b0e5d1",
        ),
        "suite": "smoke",
        "platform": "cpu-4c-1f3a",
        "platform_fields": (
            ("cpu", "AMD EPYC 9R14"),
            ("cores", "4"),
            ("memory", "16 GiB"),
            ("devices", "none"),
            ("nodes", "1"),
        ),
        "environment_fields": (
            ("python", "3.11.7"),
            ("torch", "2.13.0+cpu"),
            ("backend", "gloo"),
            ("threads", "1"),
            ("$OMP_NUM_THREADS", "1"),
        ),
        "verdict": "unchanged",
        "exit_status": 0,
        "false_alarms": 0.01,
        "min_change": 0.05,
        "must_see": 0.15,
        "comparisons": (),
        "outcomes": (),
        "platform_diff": (),
        "environment_diff": (),
        "started": "2025-06-03T09:12:04Z",
        "seconds": 252.0,
        "command": "regress compare main HEAD --suite smoke --measure",
    }
    return SuiteComparison(**(known | given))


def rate(found: int, resampled: int, low: float, high: float) -> Rate:
    return Rate(blocks=6, found=found, resampled=resampled, independent=3, low=low, high=high)


def last_calibration(**given: Any) -> CalibrationSummary:
    """What a platform was found to see."""
    small, large = (Slowdown(kind="kernel", fraction=fraction) for fraction in (0.02, 0.15))
    known: dict[str, Any] = {
        "calibration": "5c11d0aa",
        "suite": "smoke",
        "platform": "cpu-4c-1f3a",
        "mode": "resident",
        "started": "2025-05-30T22:01:17+00:00",
        "benchmarks": 3,
        "bias_bound": 0.0062,
        "rates": (
            PooledRate(slowdown=None, rate=rate(2, 600, 0.0, 0.34)),
            PooledRate(slowdown=small, rate=rate(0, 135, 0.0, 0.336)),
            PooledRate(slowdown=large, rate=rate(134, 135, 0.658, 1.0)),
        ),
        "recommended": 6,
    }
    return CalibrationSummary(**(known | given))


def clean_suite() -> SuiteComparison:
    """A/A: the same code on both sides."""
    return answer(
        calibration=last_calibration(),
        comparisons=(
            *benchmark(DDP, 0.0412, 0.004),
            *benchmark(FSDP, 0.0731, -0.006, detectable=0.058),
            *benchmark(TENSOR, 0.0189, 0.001, detectable=0.0535),
        ),
    )


def regressed_suite() -> SuiteComparison:
    """One benchmark slower, and one that counts one collective more."""
    fsdp = tuple(
        exact(FSDP, "collective_count", 14, 15) if c.metric == "collective_count" else c
        for c in benchmark(FSDP, 0.0731, -0.006, detectable=0.058)
    )
    return answer(
        verdict="regressed",
        exit_status=1,
        comparisons=(
            *benchmark(TENSOR, 0.0189, 0.001, detectable=0.0535),
            *fsdp,
            *slower(DDP, 0.0412, 0.203, notes=("rests on 6 blocks and on a noise model: no history yet",)),
        ),
        environment_diff=(
            Difference(field="torch", base="2.12.1+cpu", head="2.13.0+cpu"),
            Difference(field="$NCCL_ALGO", base="", head="Ring"),
        ),
    )


def broken_suite() -> SuiteComparison:
    """One benchmark loses a rank on head; another failed once."""
    died = Outcome(
        kind="died",
        rank=3,
        status=-9,
        message="rank 3 was killed while the others waited in all_reduce",
        log="logs/block0/fsdp/rank3.log",
    )
    once = Outcome(
        kind="raised", rank=0, message="RuntimeError: Connection closed by peer", log="logs/block2/rank0.log"
    )
    reason = "head died in 2 launches, 1 alone; base works"
    return answer(
        verdict="broken",
        exit_status=1,
        comparisons=(
            *benchmark(DDP, 0.0412, 0.004, verdict="inconclusive", reason="failed once"),
            whole(FSDP, "broken", reason, base=values(0.0731, 0.0744, 0.0728, 0.0739)),
            *benchmark(TENSOR, 0.0189, 0.001, detectable=0.0535),
        ),
        outcomes=(
            Failure(side="head", benchmark=DDP, block=2, alone=False, outcome=once),
            Failure(side="head", benchmark=FSDP, block=0, alone=True, outcome=died),
            Failure(side="head", benchmark=FSDP, block=1, alone=False, outcome=died),
        ),
    )


def whole(label: str, verdict: Verdict, reason: str, **given: Any) -> Comparison:
    """The one comparison of a benchmark that has a verdict as a whole; here without launches."""
    none = dict.fromkeys(("change", "low", "high", "confidence", "p", "p_adjusted", "detectable"))
    known: dict[str, Any] = {"verdict": verdict, "reason": reason, "base": values(), "head": values(), **none}
    return replace(timed(label, "step_s", 0.04, 0.0), **(known | given))


def mixed_suite() -> SuiteComparison:
    """Twenty benchmarks with every verdict."""
    kinds = ("ddp", "fsdp", "tensor_parallel", "pipeline", "context_parallel")
    labels = [f"{kind}[model=small,world={world}]" for kind in kinds for world in (2, 4, 8, 16)]
    draw = random.Random(7)
    special: dict[int, dict[str, Any]] = {
        2: {"change": 0.118},
        9: {"change": 0.071, "blocks": 9},
        5: {
            "change": -0.142,
            "verdict": "improved",
            "reason": "better beyond the false-alarm rate, and the estimate is at least 5 %",
        },
        7: {"change": 0.034, "verdict": "inconclusive", "reason": "needs 4 more blocks (3 m 20 s)"},
        12: {
            "change": 0.02,
            "verdict": "inconclusive",
            "reason": "blind: it could only have found 19 %",
            "detectable": 0.19,
            "low": -0.07,
            "high": 0.11,
        },
    }
    comparisons: list[Comparison] = []
    for index, label in enumerate(labels):
        given = dict(special.get(index, {}))
        change = given.pop("change", draw.uniform(-0.012, 0.012))
        if index in (2, 9):
            comparisons += slower(label, 0.02 + 0.006 * index, change, **given)
        elif index == 15:
            there = values(0.0401, 0.0399, 0.0404)
            comparisons.append(whole(label, "gone", "measured in 3 launches of base", base=there))
        elif index == 16:
            there = values(0.0401, 0.0399, 0.0404)
            comparisons.append(whole(label, "new", "measured in 3 launches of head", head=there))
        elif index == 18:
            there = values(0.0501, 0.0499, 0.0504)
            why = "definition changed"
            comparisons.append(whole(label, "incomparable", why, base=there, head=there))
        else:
            comparisons += benchmark(label, 0.02 + 0.006 * index, change, **given)
    return answer(
        verdict="regressed",
        exit_status=1,
        suite="commit",
        seconds=4020.0,
        comparisons=tuple(comparisons),
        notes=("A foreign process used 12 % of the host in block 3; that block was measured again.",),
    )


def hostile_suite() -> SuiteComparison:
    """Every text that comes from outside tries to break out of its place."""
    side = Side(name=HOSTILE, commit="f" * 40, subject=HOSTILE, run="00000000", folder="runs/" + HOSTILE)
    outcome = Outcome(kind="raised", rank=1, message=HOSTILE, log="../" + HOSTILE)
    step = timed(HOSTILE, "step_s", 0.03, 0.2, verdict="regressed", reason=HOSTILE, notes=(HOSTILE,))
    peak = exact(HOSTILE, "peak_allocated_bytes", 0, 5, unit=HOSTILE)
    odd = timed("\ud800 lone surrogate", "step_s", 0.03, 0.0)
    return answer(
        base=side,
        head=side,
        suite=HOSTILE,
        platform=HOSTILE,
        platform_fields=((HOSTILE, HOSTILE),),
        environment_fields=((HOSTILE, HOSTILE),),
        verdict="regressed",
        exit_status=1,
        comparisons=(step, peak, odd),
        outcomes=(Failure(side="head", benchmark=HOSTILE, block=0, alone=True, outcome=outcome),),
        platform_diff=(Difference(field=HOSTILE, base=HOSTILE, head=""),),
        environment_diff=(Difference(field=HOSTILE, base="", head=HOSTILE),),
        started=HOSTILE,
        command=f"regress compare {HOSTILE}",
        calibration=last_calibration(
            suite=HOSTILE,
            platform=HOSTILE,
            started=HOSTILE,
            bias_bound=None,
            recommended=None,
            notes=(HOSTILE,),
        ),
        notes=(HOSTILE,),
    )


def unmeasured_suite() -> SuiteComparison:
    """Nothing came back: no launches, no change, no interval."""
    why = "both sides fail: base hung in 2 launches, 1 alone; head hung in 2 launches, 1 alone"
    return answer(
        verdict="inconclusive",
        exit_status=3,
        comparisons=(whole(DDP, "inconclusive", why),),
        seconds=0.0,
        command="",
    )


def empty_suite() -> SuiteComparison:
    """No comparison at all."""
    return answer(verdict="inconclusive", exit_status=3, base=UNNAMED, head=UNNAMED)


SUITES = {
    "clean": clean_suite,
    "regressed": regressed_suite,
    "broken": broken_suite,
    "mixed": mixed_suite,
    "hostile": hostile_suite,
    "unmeasured": unmeasured_suite,
    "empty": empty_suite,
}
"""Every answer by name."""
