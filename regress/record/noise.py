"""What earlier runs tell of the noise of a benchmark, written down before the first launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Noise:
    """The noise of one metric of one benchmark, on the log scale.

    It is in the manifest of both runs of a comparison, so that it is frozen before anything
    is measured, and judging again gives the same answer.
    """

    benchmark: str
    """Label."""

    metric: str
    """Name."""

    design: Literal["paired", "unpaired"]
    """Whether it is of the difference within a block, or of one launch."""

    sd: float | None = None
    """Standard deviation; ``None`` where nobody knows."""

    df: float = 0.0
    """How well it is known: degrees of freedom."""

    launches: int = 0
    """Launches of this benchmark behind it; 0 if only other benchmarks lent theirs."""

    residuals: tuple[float, ...] = ()
    """Of those launches (or differences) from the mean of their run (or comparison)."""

    plain: bool = False
    """Whether many launches of other benchmarks show neither modes nor spikes."""

    between_sd: float | None = None
    """How much more runs of two days differ than their launches do: of the difference of two
    runs; ``None`` where no one knows."""

    between_df: float = 0.0
    """How well that is known."""

    bias: float = 0.0
    """How far identical sides may differ here, by the last calibration; at least 0."""
