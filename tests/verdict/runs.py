"""Runs made by hand, for the tests of their verdicts."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from regress.record.environment import Environment
from regress.record.outcome import Outcome, OutcomeKind
from regress.record.platform import Platform
from regress.record.run import Launch, Manifest, Measurement, Run
from regress.record.sample import Sample
from regress.record.series import Workload
from regress.spec.policy import Policy

DDP = "ddp[world=2]"
FSDP = "fsdp[reshard=true,world=2]"
OK = Outcome(kind="ok")
POLICY = Policy()
PLATFORM = Platform(host="node1", cpu="Epyc", cores=4, memory_bytes=16 << 30)
ENVIRONMENT = Environment(python="3.11.7", torch="2.13.0+cpu", backend="gloo", threads=2)
WORKLOAD = Workload(params=(("reshard", "true"),), world_size=2, seed=1234, tokens=512, samples=8)

Samples = Mapping[str, float | None]
"""Values of the metrics of one launch, by name."""


def failure(kind: OutcomeKind = "raised", status: int | None = 1) -> Outcome:
    return Outcome(kind=kind, rank=1, status=status, message="RuntimeError: \x1b[31mboom")


def measurement(
    label: str = DDP,
    samples: Samples | None = None,
    *,
    outcome: Outcome = OK,
    definition: str = "d1",
    workload: Workload | None = WORKLOAD,
) -> Measurement:
    kept = tuple(Sample(metric=name, value=value) for name, value in (samples or {}).items())
    return Measurement(
        benchmark=label,
        definition=definition,
        outcome=outcome,
        workload=workload if outcome.ok else None,
        samples=kept if outcome.ok else (),
    )


def launch(
    block: int,
    measurements: Sequence[Measurement],
    *,
    alone: bool = False,
    platform: Platform | None = PLATFORM,
    environment: Environment | None = ENVIRONMENT,
) -> Launch:
    return Launch(
        run="r",
        block=block,
        attempt=0,
        world_size=2,
        alone=alone,
        started="2026-01-01T00:00:00Z",
        seconds=2.0,
        platform=platform,
        environment=environment,
        measurements=tuple(measurements),
    )


def run(
    launches: Sequence[Launch],
    *,
    side: str = "base",
    comparison: str = "c",
    plan: str = "",
    complete: bool = True,
) -> Run:
    manifest = Manifest(
        run=f"{side}-run",
        comparison=comparison,
        suite="smoke",
        side=side,
        role=side,
        commit=None,
        subject="",
        benchmarks_from="installed",
        started="2026-01-01T00:00:00Z",
        plan=plan,
        regress="0.1.0",
    )
    return Run(manifest=manifest, launches=tuple(launches), folder=f"runs/{side}", complete=complete)


def steps(
    blocks: int = 8, *, change: float = 0.0, noise: float = 0.005, seed: int = 1, alone: float | None = None
) -> list[Samples]:
    """Samples of one side, the block alone first; ``alone`` is a change of that block's own."""
    draw = random.Random(seed)
    times = [0.1 * (1 + change) * math.exp(draw.gauss(0, noise)) for _ in range(blocks + 1)]
    if alone is not None:
        times[0] = 0.1 * (1 + alone)
    return [{"step_s": time, "step_mean_s": 1.01 * time} for time in times]


def measured(
    samples: Sequence[Samples],
    *,
    side: str = "head",
    label: str = DDP,
    fails: Mapping[int, Outcome] | None = None,
    comparison: str = "c",
) -> Run:
    """A run of one benchmark: block 0 alone, the others resident."""
    fails = fails or {}
    return run(
        [
            launch(block, [measurement(label, values, outcome=fails.get(block, OK))], alone=block == 0)
            for block, values in enumerate(samples)
        ],
        side=side,
        comparison=comparison,
    )


def with_samples(samples: Sequence[Samples], **more: float) -> list[Samples]:
    """Add metrics that are equal in all launches."""
    return [{**values, **more} for values in samples]


def merged(first: Run, second: Run) -> Run:
    """Both benchmarks in the launches of the first run, paired off by block."""
    others = {each.block: each.measurements for each in second.launches}
    launches = tuple(
        replace(each, measurements=(*each.measurements, *others.get(each.block, ())))
        for each in first.launches
    )
    return replace(first, launches=launches)
