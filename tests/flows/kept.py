"""Stored runs made by hand: a history without measuring."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import regress
from regress.launch.fake import ENVIRONMENT, PLATFORM
from regress.record.codec import plain
from regress.record.environment import Environment
from regress.record.outcome import Outcome
from regress.record.platform import Platform
from regress.record.run import Launch, Manifest, Measurement
from regress.record.sample import Sample
from regress.record.series import Workload
from regress.spec.benchmark import Benchmark
from regress.spec.plan import Limits, Plan, Steps
from regress.store.writer import create_run
from tests.flows.project import DDP, git

FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)
OK = Outcome(kind="ok")
DIED = Outcome(kind="died", rank=1, status=-9, message="\x1b[31mboom")


def commits(root: Path, number: int) -> list[str]:
    """Put so many commits on the branch, and give all hashes of it, oldest first."""
    texts = [f"Change {place}" for place in range(number)]
    told = "".join(
        f"commit refs/heads/main\nmark :{place}\ncommitter a <a@localhost> {place} +0000\n"
        f"data {len(text)}\n{text}\nfrom {f':{place - 1}' if place > 1 else 'refs/heads/main^0'}\n"
        for place, text in enumerate(texts, start=1)
    )
    subprocess.run(["git", "-C", str(root), "fast-import", "--quiet"], input=told.encode(), check=True)
    return git(root, "rev-list", "--topo-order", "--reverse", "HEAD").split()


def noisy(level: float, number: int, *, seed: int = 0, noise: float = 0.003) -> list[float]:
    """Values around a level."""
    draw = random.Random(seed)
    return [level * (1 + draw.gauss(0.0, noise)) for _ in range(number)]


def keep(
    root: Path,
    commit: str | None,
    values: Sequence[float | None],
    *,
    day: float,
    label: str = DDP,
    metric: str = "step_s",
    run: str | None = None,
    role: str = "only",
    comparison: str | None = None,
    suite: str = "commit",
    subject: str = "Change",
    alone: bool = True,
    definition: str = "digest of ddp",
    tokens: int = 512,
    platform: Platform = PLATFORM,
    environment: Environment = ENVIRONMENT,
    named: str | None = None,
    source: str = "WORKTREE",
    failure: Outcome = DIED,
    close: bool = True,
) -> str:
    """Store a run of one benchmark with a launch for each value; ``None`` is a launch that failed.

    Returns:
        Its identity.
    """
    own = run or f"{round(day * 1000):08x}"
    name, world = label.partition("[")[0], 2
    plan = Plan(
        suite=suite,
        seed=1,
        workload_seed=1234,
        sides=(role,),
        benchmarks=(Benchmark(name=name, world_size=world, digest=definition),),
        steps=Steps(warmup=2, burst=3, turns=3),
        limits=Limits(build_s=120.0, step_s=30.0),
        blocks=(),
    )
    manifest = Manifest(
        run=own,
        comparison=comparison or own,
        suite=suite,
        side=(commit or "WORKTREE")[:12],
        role=role,
        commit=commit,
        subject=subject,
        benchmarks_from=source,
        environment=named,
        started=(FIRST + timedelta(days=day)).isoformat(timespec="seconds"),
        plan=json.dumps(plain(plan)),
        regress=regress.__version__,
        platform=platform,
    )
    writer = create_run(root / ".regress" / "store", manifest)
    workload = Workload(params=(), world_size=world, seed=1234, tokens=tokens)
    for block, value in enumerate(values):
        measurement = Measurement(
            benchmark=label,
            definition=definition,
            outcome=OK if value is not None else failure,
            workload=workload if value is not None else None,
            samples=() if value is None else (Sample(metric=metric, value=value),),
        )
        writer.add(
            Launch(
                run=own,
                block=block,
                attempt=0,
                world_size=world,
                alone=alone,
                started=manifest.started,
                seconds=1.0,
                platform=platform if value is not None else None,
                environment=environment if value is not None else None,
                measurements=(measurement,),
            )
        )
    if close:
        writer.close()
    writer.release()
    return own


def keep_all(
    root: Path, order: Sequence[str], levels: Sequence[float], *, seed: int = 1, **given: object
) -> None:
    """One run of three launches for each commit, a day apart, each at its level."""
    for place, (commit, level) in enumerate(zip(order, levels, strict=True)):
        keep(root, commit, noisy(level, 3, seed=seed * 1000 + place), day=place, **given)  # type: ignore[arg-type]


def faster(environment: Environment = ENVIRONMENT) -> Environment:
    """Other software."""
    return replace(environment, torch="2.14.0+cpu")
