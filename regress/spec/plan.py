"""The plan: what is launched, in which order. A pure function of suite and catalog.

Everything random in it is drawn from one recorded seed, so that a plan can be made again.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from regress.errors import Problem, RecordError, RequestError, SpecError
from regress.record.codec import from_plain
from regress.spec.benchmark import Benchmark, Catalog, Definition, Scalar, alternatives, scalar_text

if TYPE_CHECKING:
    from regress.spec.suite import Blocks, Choice, LoadedSuite, Loc

Refuse = Callable[..., None]
"""Notes a problem: a message, then the path of the wrong value below the choice."""


SPARE = 0.2
"""Share of lost blocks that is made up for; above it a verdict is `inconclusive: lost blocks`."""

COUNTED = 2
"""Least number of blocks in which exact metrics are counted: one alone could not show that they vary."""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """How a benchmark is measured in one launch; see the suite's field of that name."""

    warmup: int
    """Steps before the first timed one, at least."""

    burst: int
    """Timed steps of one turn."""

    turns: int
    """Turns of each side."""

    warmup_most: int | None = None
    """Steps before the first timed one, at most; ``None``: exactly `warmup`."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a launch counts as hung."""

    build_s: float
    """From the request to the end of building a benchmark; also of its first step, which may compile."""

    step_s: float
    """Longest time without the end of a step, on any rank."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """One launch of each side for each world size, measured together."""

    index: int
    """Counts from 0; blocks alone come first."""

    alone: bool
    """Whether each side has the machine for itself."""

    counted: bool
    """Whether exact metrics are counted in it."""

    sides: tuple[str, ...]
    """In the order in which they start."""

    benchmarks: tuple[str, ...]
    """Labels, in the order in which every side runs them."""

    spare: bool = False
    """Whether it is measured only for benchmarks that lost another block."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is launched, in which order."""

    suite: str
    """Name of the suite."""

    seed: int
    """Of every order in the plan; the workloads' own seed is `workload_seed`."""

    workload_seed: int
    """Equal on both sides and in all launches."""

    sides: tuple[str, ...]
    """``("base", "head")``, or one side."""

    benchmarks: tuple[Benchmark, ...]
    """In the order of the suite."""

    steps: Steps
    """How a benchmark is measured in one launch."""

    limits: Limits
    """When a launch counts as hung."""

    blocks: tuple[Block, ...]
    """In the order in which they are measured, as far as the question needs them."""

    caches: Literal["warm", "cold"] | None = None
    """What a launch finds of what torch compiled; see the suite's field. ``None``: whatever others left."""

    looks: tuple[int, ...] = ()
    """Numbers of `tested` blocks after which it is asked what is decided; the last is all that are
    not spare. Empty where nothing is compared."""

    @property
    def tested(self) -> tuple[Block, ...]:
        """The blocks that a test rests on: resident ones, or where there are none all."""
        resident = tuple(block for block in self.blocks if not block.alone)
        return resident or self.blocks

    def groups(self, block: Block, labels: Collection[str] | None = None) -> Iterator[tuple[Benchmark, ...]]:
        """The benchmarks of one launch after the other: those of one world size, in the block's order.

        Args:
            block: One of the plan.
            labels: Of the benchmarks that are still asked about; ``None``: all.
        """
        by_label = {benchmark.label: benchmark for benchmark in self.benchmarks}
        ordered = [by_label[label] for label in block.benchmarks if labels is None or label in labels]
        for world_size in dict.fromkeys(benchmark.world_size for benchmark in ordered):
            yield tuple(benchmark for benchmark in ordered if benchmark.world_size == world_size)


def make_plan(
    loaded: LoadedSuite, catalog: Catalog, *, sides: Sequence[str], seed: int, resident: bool = False
) -> Plan:
    """Lay out all blocks of a comparison, or of one side.

    Which side goes first is drawn anew for each block: in permuted pairs of blocks (AB, BA), noise
    that lasts from launch to launch would raise 1.4 % false alarms for 1 %. The benchmarks are
    shuffled anew for each block and run in the same order on both sides.

    Args:
        loaded: What the user asked for.
        catalog: The benchmarks there are, and what the machine holds. On CPU both sides are
            resident in all blocks but the first ones; on CUDA, or with one side, all are alone.
        sides: Names of one or two sides.
        seed: Of every order drawn here.
        resident: Whether two sides are resident on CUDA as they are on CPU. At least one block
            before is alone: it shows whether the devices hold both.

    Raises:
        SpecError: Benchmarks or parameters are unknown, or world sizes do not fit.
        RequestError: Two files declare benchmarks of one name.
    """
    suite = loaded.suite
    benchmarks = _benchmarks(loaded, catalog)
    draw = random.Random(seed)
    first = max(1, suite.blocks.alone) if resident and catalog.device == "cuda" else suite.blocks.alone
    count = first + suite.blocks.count
    alone = count if len(sides) == 1 or (catalog.device == "cuda" and not resident) else first
    spare = math.ceil(SPARE * suite.blocks.count) if len(sides) == 2 else 0
    labels = [benchmark.label for benchmark in benchmarks]
    blocks = tuple(
        Block(
            index=index,
            alone=index < alone or alone == count,
            counted=index < max(COUNTED, first + 1),
            sides=tuple(draw.sample(list(sides), len(sides))),
            benchmarks=tuple(draw.sample(labels, len(labels))),
            spare=index >= count,
        )
        for index in range(count + spare)
    )
    return Plan(
        suite=loaded.name,
        seed=seed,
        workload_seed=1234,
        sides=tuple(sides),
        benchmarks=benchmarks,
        steps=Steps(
            warmup=suite.steps.warmup,
            warmup_most=max(suite.steps.warmup, suite.steps.warmup_most),
            burst=suite.steps.burst,
            turns=suite.steps.turns,
        ),
        limits=Limits(**suite.limits.model_dump()),
        blocks=blocks,
        caches=suite.caches,
        looks=_looks(suite.blocks, count - first if alone < count else count) if len(sides) == 2 else (),
    )


def _looks(blocks: Blocks, tested: int) -> tuple[int, ...]:
    """When it is asked what is decided: as the suite says, where a quarter more is left to measure."""
    return (*(look for look in blocks.looks if 1.25 * look <= tested), tested)


def read_plan(text: str) -> Plan:
    """Read a plan as manifests hold it, JSON text.

    Raises:
        RecordError: It is no plan.
    """
    try:
        body = json.loads(text)
    except ValueError:
        raise RecordError("the plan in a manifest is not JSON") from None
    plan: Plan = from_plain(Plan, body, "plan")
    return plan


def turns(plan_seed: int, block: Block, label: str, count: int) -> Iterator[str]:
    """Whose turn it is, burst after burst: ``count`` turns of each side.

    Sides alternate in random order turn by turn; in a block alone each side has all its
    turns at once.
    """
    if block.alone or len(block.sides) == 1:
        for side in block.sides:
            yield from [side] * count
        return
    draw = random.Random(f"{plan_seed}/{block.index}/{label}")
    for order in itertools.islice(_orders(block.sides, draw), count):
        yield from order


def _orders(sides: tuple[str, ...], draw: random.Random) -> Iterator[tuple[str, ...]]:
    """Permuted pairs: an order drawn at random, then its reverse."""
    while True:
        order = tuple(draw.sample(sides, len(sides)))
        yield order
        yield order[::-1]


def _benchmarks(loaded: LoadedSuite, catalog: Catalog) -> tuple[Benchmark, ...]:
    known = {definition.name: definition for definition in catalog.definitions}
    for one in catalog.definitions:
        other = known[one.name]
        if other is not one:
            raise RequestError(
                f"{one.file}:{one.line} and {other.file}:{other.line} both declare a benchmark "
                f"{one.name!r}; rename one"
            )
    problems: list[Problem] = []
    chosen: dict[str, Benchmark] = {}
    for index, choice in enumerate(loaded.suite.benchmarks):
        here: Loc = ("benchmarks", index)

        def refuse(message: str, *inner: str | int, here: Loc = here) -> None:
            problems.append(Problem(where=loaded.where((*here, *inner)), message=message))

        definition = known.get(choice.name)
        if definition is None:
            refuse(f"unknown benchmark {choice.name!r:.80}{alternatives(choice.name, known)}", "name")
            continue
        world_sizes = _world_sizes(choice, definition, catalog.ranks, refuse)
        for world_size, params in itertools.product(world_sizes, _combinations(choice, definition, refuse)):
            benchmark = Benchmark(
                name=choice.name, params=params, world_size=world_size, digest=definition.digest
            )
            chosen[benchmark.label] = benchmark
    if problems:
        raise SpecError(sorted(problems, key=lambda problem: int(problem.where.rpartition(":")[2])))
    return tuple(chosen.values())


def _world_sizes(choice: Choice, definition: Definition, ranks: int, refuse: Refuse) -> Sequence[int]:
    wanted = choice.world_size or definition.world_sizes
    fitting = [world_size for world_size in wanted if world_size <= ranks]
    if choice.world_size is None and not fitting:
        refuse(
            f"{choice.name} needs {min(wanted)} ranks, and this machine holds {ranks}; "
            "name a smaller world_size, or use a larger machine",
            "name",
        )
    for place, world_size in enumerate(choice.world_size or ()):
        if world_size > ranks:
            refuse(
                f"world_size {world_size} is above the {ranks} ranks that this machine holds; "
                f"use at most {ranks}, or a larger machine",
                "world_size",
                place,
            )
    return fitting


def _combinations(
    choice: Choice, definition: Definition, refuse: Refuse
) -> list[tuple[tuple[str, Scalar], ...]]:
    declared = dict(definition.params)
    for param in choice.params:
        if param not in declared:
            refuse(
                f"{choice.name} has no parameter {param!r:.80}{alternatives(param, declared)}",
                "params",
                param,
            )
    values: list[Sequence[Scalar]] = []
    for param, allowed in declared.items():
        wanted = choice.params.get(param, allowed)
        for place, value in enumerate(wanted):
            if not any(value == option and type(value) is type(option) for option in allowed):
                listed = ", ".join(scalar_text(option) for option in allowed)
                given = f"{value!r:.80}" if isinstance(value, str) else scalar_text(value)
                refuse(
                    f"{choice.name} has no {param}={given}; allowed: {listed}",
                    "params",
                    param,
                    place,
                )
        values.append(tuple(wanted))
    return [tuple(zip(declared, combination, strict=True)) for combination in itertools.product(*values)]
