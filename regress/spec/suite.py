"""A suite: which benchmarks, how many blocks, which policy.

These models are the schema of the YAML files: every field is documented where it stands.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from regress.spec.benchmark import Benchmark
from regress.spec.policy import Policy

Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
ParamValue = bool | int | float | str


class Section(BaseModel):
    """What all parts of a suite have in common: unknown keys are refused, values stay as written."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class Choice(Section):
    """Benchmarks of one name, at chosen parameters and world sizes."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the benchmark's function."""

    params: dict[str, Annotated[list[ParamValue], Field(min_length=1)]] = {}
    """Values to measure, for each parameter that is not measured at all of its declared values."""

    world_size: Annotated[list[Positive], Field(min_length=1)] | None = None
    """Numbers of ranks; without it, all declared ones that fit on the machine."""


class Steps(Section):
    """How a benchmark is measured in one launch."""

    warmup: Positive = 5
    """Steps before the first timed one, at least."""

    warmup_most: Positive = 30
    """Steps before the first timed one, at most. In the first block, steps after `warmup` are watched until
    they are settled; as many are left out in all other blocks. Equal to `warmup`: nothing is searched for."""

    burst: Positive = 4
    """Timed steps of one turn."""

    turns: Positive = 15
    """Turns of each side; with both sides resident they alternate."""

    @field_validator("warmup_most")
    @classmethod
    def _not_below_warmup(cls, most: int, info: ValidationInfo) -> int:
        least = info.data.get("warmup", 0)
        if most < least:
            raise ValueError(f"must be at least warmup, which is {least}; got {most}")
        return most


class Blocks(Section):
    """How often both sides are launched."""

    count: Positive = 8
    """Most blocks in which the sides take turns (on CPU both are resident); these are tested. A
    benchmark whose question is decided, or hopeless, takes no part in further ones."""

    looks: list[Positive] = [3, 5, 8, 13, 21, 34]
    """Numbers of blocks after which it is asked what is decided; each spends a part of the error rates.
    Looks above the number of blocks are never taken; empty: there is one look, at the end."""

    alone: Annotated[int, Field(ge=0)] = 1
    """Blocks before them in which each side runs without the other: caches are warmed, failures
    confirmed, exact metrics counted, and the resident blocks checked against them. Without any,
    nothing is ever called `broken`."""

    @field_validator("looks")
    @classmethod
    def _ascending(cls, looks: list[int]) -> list[int]:
        if any(after <= before for before, after in itertools.pairwise(looks)):
            raise ValueError("looks must grow from one to the next")
        return looks


class Limits(Section):
    """When a launch counts as hung."""

    build_s: Seconds = 120.0
    """From the request to the end of building a benchmark; also of its first step, which may compile."""

    step_s: Seconds = 30.0
    """Longest time without the end of a step, on any rank."""


class Suite(Section):
    """Which benchmarks, how many blocks, which policy."""

    description: str = ""
    """One sentence for people."""

    benchmarks: Annotated[list[Choice], Field(min_length=1)]
    """What is measured."""

    steps: Steps = Steps()
    """How a benchmark is measured in one launch."""

    blocks: Blocks = Blocks()
    """How often both sides are launched."""

    limits: Limits = Limits()
    """When a launch counts as hung."""

    caches: Literal["warm", "cold"] = "warm"
    """What a launch finds of what torch compiled (inductor, Triton), alike on both sides. `warm`: what the
    earlier launches of its side left there, of which the first one finds nothing; `cold`: nothing."""

    policy: Policy = Policy()
    """What counts as a regression."""


Loc = tuple[str | int, ...]
"""Path of a value in a YAML file: ``("benchmarks", 0, "world_size")``."""


@dataclass(frozen=True, kw_only=True)
class LoadedSuite:
    """A suite and where it came from."""

    name: str
    """File name without its ending."""

    file: Path
    """The file itself."""

    suite: Suite
    """Its content."""

    where: Callable[[Loc], str]
    """``file:line`` of a value, or of the nearest enclosing one that stands in the file."""

    def at_most(self, blocks: int) -> LoadedSuite:
        """The suite with another number of tested blocks, everything else as it is."""
        changed = self.suite.blocks.model_copy(update={"count": blocks})
        return replace(self, suite=self.suite.model_copy(update={"blocks": changed}))

    def only(self, benchmarks: Sequence[Benchmark]) -> LoadedSuite:
        """The suite with some of its benchmarks, everything else as it is."""
        choices = [
            Choice(
                name=each.name,
                params={name: [value] for name, value in each.params},
                world_size=[each.world_size],
            )
            for each in benchmarks
        ]
        return replace(self, suite=self.suite.model_copy(update={"benchmarks": choices}))
