"""What counts as a regression."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from regress.record.metric import METRICS
from regress.spec.benchmark import alternatives

Fraction = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, lt=0.5, allow_inf_nan=False)]


def _exact_metric(name: str) -> str:
    exact = [metric.name for metric in METRICS.values() if metric.kind == "exact"]
    if name not in exact:
        raise ValueError(f"only an exact metric has a tolerance{alternatives(name, exact)}")
    return name


class Policy(BaseModel):
    """The thresholds of every verdict, in one place."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    subject: Literal["revision", "environment"] = "revision"
    """What is compared: `revision`, the code of the two revisions, and a benchmark that imported none of it
    is `inconclusive: same code`; or `environment`, the software and hardware around benchmarks that need
    no other code."""

    min_change: Fraction | None = None
    """Smallest change worth a verdict, a fraction: 0.03 is 3 %. Default 0.01 on GPUs, 0.05 on CPUs."""

    false_alarms: Rate = 0.01
    """Chance that a comparison of the whole suite says `regressed` when nothing changed."""

    must_see: Fraction | None = None
    """A gate that cannot see this worsening 9 times in 10 does not pass. Default three times min_change."""

    tolerances: dict[Annotated[str, AfterValidator(_exact_metric)], Fraction] = {}
    """For an exact metric by name: worsening that is still `unchanged`. Default 0."""

    loss_tolerance: Fraction = 0.01
    """Relative difference of the losses from which the sides count as computing something else."""
