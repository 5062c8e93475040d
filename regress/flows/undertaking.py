"""A plan, and the sides that it is carried out on."""

from __future__ import annotations

import hashlib
import json
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import regress
from regress.errors import RequestError
from regress.flows.progress import Progress
from regress.flows.workplace import MeasuredSide, Workplace
from regress.launch.harness import harness_digest
from regress.record.calibration import Slowdown
from regress.record.codec import plain
from regress.record.noise import Noise
from regress.record.run import Manifest
from regress.spec.benchmark import Benchmark, Catalog
from regress.spec.plan import Block, Plan, make_plan, read_plan
from regress.spec.suite import LoadedSuite
from regress.store import runset
from regress.store.calibrations import calibration_runs
from regress.store.runset import RunSet


@dataclass(frozen=True, kw_only=True)
class Means:
    """How a measurement is carried out; asked for on the command line."""

    launcher: str = "local"
    """Name of the launcher."""

    resident: bool = False
    """Whether both sides stay on the GPUs together and take turns."""

    seed: int | None = None
    """Of every order; ``None`` draws one, which the plan records."""

    fresh: bool = False
    """Whether to begin anew where an interrupted measurement could go on."""

    wait_s: float = 7200.0
    """Longest time to wait for another measurement on this host."""

    budget_s: float | None = None
    """Time after which no further block of a comparison is begun; ``None``: none."""

    most_blocks: int | None = None
    """Tested blocks of a comparison at most; ``None``: what the suite says, or fits into the time."""


ORDINARY = Means()
"""Where nothing else is asked for."""


@dataclass(frozen=True, kw_only=True)
class Undertaking:
    """A plan and the sides that it is carried out on."""

    plan: Plan
    """What is launched, in which order."""

    sides: tuple[MeasuredSide, ...]
    """By role, as the plan names them."""

    catalogs: tuple[Catalog, ...]
    """Of each side."""

    means: Means
    """How it is carried out."""

    pin_ranks: bool
    """Whether each rank keeps to cores of its own."""

    canary: bool = True
    """Whether the canary is looked at before and after each block."""

    noise: tuple[Noise, ...] = ()
    """What earlier runs tell of the noise, before anything is measured."""

    caches: Path | None = None
    """Folder of what torch compiles, kept across launches; ``None``: each launch begins with nothing."""

    calibration: tuple[tuple[str, Slowdown | None], ...] | None = None
    """What a calibration plants beside each role, or on it; ``None`` where code is compared."""

    @property
    def device_ids(self) -> tuple[str, ...]:
        """The GPUs that its launches use; none on CPU."""
        ranks = max(benchmark.world_size for benchmark in self.plan.benchmarks)
        return self.catalogs[-1].platform.device_ids[:ranks]

    def launched(self, side: MeasuredSide, benchmarks: Sequence[Benchmark]) -> tuple[Benchmark, ...]:
        """Those benchmarks that a side can be asked for: base may lack what a new one needs."""
        catalog = self.catalogs[self.sides.index(side)]
        names = {definition.name for definition in catalog.definitions}
        return tuple(benchmark for benchmark in benchmarks if benchmark.name in names)

    def caches_of(self, role: str) -> Path | None:
        """Folder of what torch compiles on a side; those of all sides have paths of equal length."""
        return None if self.caches is None else self.caches / f"{self.plan.sides.index(role):02d}"

    def slowdown(self, block: Block, role: str) -> Slowdown | None:
        """What is planted on a side in a block.

        Of two sides one is slowed down, drawn in permuted pairs of their blocks: so a bias towards
        either is no part of what is measured of the slowdown. The other is slowed down by nothing.
        """
        slowdown = dict(self.calibration or ()).get(role)
        if slowdown is None:
            return None
        theirs = [each.index for each in self.plan.blocks if set(each.sides) == set(block.sides)]
        place = theirs.index(block.index)
        first = random.Random(f"{self.plan.seed}/planted/{theirs[place // 2 * 2]}").randrange(2)
        slowed = sorted(block.sides)[first ^ place % 2]
        return slowdown if role == slowed else replace(slowdown, fraction=0.0)

    def digest(self) -> str:
        """Of all that makes a measurement what it is, but for orders that were drawn.

        An interrupted one of equal digest goes on: same benchmarks, code, software, hardware. How
        many blocks fit into a time is told by the store, which others write meanwhile: then the time
        counts, and not their number.
        """
        plan = plain(self.plan)
        blocks = [(block.alone, block.counted) for block in self.plan.blocks]
        timed = self.calibration is None and self.means.budget_s is not None
        if timed:
            blocks, plan["looks"] = [], []
        facts: list[Any] = [
            {
                name: plan[name]
                for name in (
                    "suite",
                    "workload_seed",
                    "sides",
                    "benchmarks",
                    "steps",
                    "limits",
                    "caches",
                    "looks",
                )
            },
            blocks,
            [(side.content, side.code.python, side.code.variables) for side in self.sides],
            [(catalog.torch, plain(catalog.platform)) for catalog in self.catalogs],
            (self.means.launcher, self.pin_ranks, self.means.resident, self.means.seed),
            harness_digest(),
            plain(self.calibration),
            self.canary,
            self.means.budget_s if timed else None,
        ]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def undertake(
    loaded: LoadedSuite,
    sides: Sequence[MeasuredSide],
    catalogs: Sequence[Catalog],
    means: Means,
    *,
    pin_ranks: bool = True,
    canary: bool = True,
) -> Undertaking:
    """Plan a measurement. The last side is the one that must have every benchmark.

    Raises:
        RequestError: Its benchmark files cannot be imported, or the suite asks for what is not there.
    """
    head = catalogs[-1]
    devices = [catalog.device for catalog in catalogs]
    if len(set(devices)) > 1:
        raise RequestError(
            f"{sides[0].name} runs on {devices[0]} and {sides[-1].name} on {devices[-1]}; "
            "install the same kind of torch in both environments"
        )
    if means.resident and head.device == "cpu":
        raise RequestError("--resident is for GPUs; on CPU both sides are resident anyway")
    if head.failures:
        failure = head.failures[0]
        more = f" (first of {len(head.failures)} files)" if len(head.failures) > 1 else ""
        place = f"{sides[-1].code.benchmarks}/{failure.file}:{failure.line}"
        raise RequestError(f"{place}: cannot be imported: {failure.message[:300]}{more}")
    seed = secrets.randbits(32) if means.seed is None else means.seed
    roles = [side.role for side in sides]
    plan = make_plan(loaded, head, sides=roles, seed=seed, resident=means.resident)
    return Undertaking(
        plan=plan,
        sides=tuple(sides),
        catalogs=tuple(catalogs),
        means=means,
        pin_ranks=pin_ranks,
        canary=canary,
    )


def open_runs(
    undertaking: Undertaking, workplace: Workplace, source: str, progress: Progress
) -> tuple[Plan, RunSet]:
    """Begin one run for each side, or go on with those of an interrupted undertaking.

    Returns:
        The plan that is to be carried out, and the runs. That of an interrupted undertaking
        differs in what was drawn at random.

    Raises:
        StoreError: The store cannot be written, or what was interrupted cannot be read.
    """
    store, spare, manifests = workplace.project.store, workplace.spare, _manifests(undertaking, source)
    if undertaking.calibration is not None:
        store = calibration_runs(store)
    runs = None if undertaking.means.fresh else runset.reopen(store, manifests, spare)
    if runs is None:
        return undertaking.plan, runset.create(store, manifests, spare)
    progress.say(f"going on where an interrupted measurement stopped: {runs.launches} launches are kept")
    return read_plan(runs.plan), runs


def _manifests(undertaking: Undertaking, source: str) -> list[Manifest]:
    """What each side's run is of; they share the identity of the comparison."""
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    comparison = secrets.token_hex(4)
    return [
        Manifest(
            run=secrets.token_hex(4),
            comparison=comparison,
            suite=undertaking.plan.suite,
            side=side.name,
            role=side.role,
            commit=side.revision.commit if side.revision and not side.revision.uncommitted else None,
            subject=side.revision.subject if side.revision else "",
            benchmarks_from=source,
            environment=side.environment,
            started=started,
            plan=json.dumps(plain(undertaking.plan)),
            regress=regress.__version__,
            platform=catalog.platform,
            undertaking=undertaking.digest(),
            noise=undertaking.noise,
            purpose="comparison" if undertaking.calibration is None else "calibration",
        )
        for side, catalog in zip(undertaking.sides, undertaking.catalogs, strict=True)
    ]
