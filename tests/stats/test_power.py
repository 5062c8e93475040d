"""What is said to be detectable is detected that often."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from regress.stats.interval import Direction, as_log
from regress.stats.power import detectable


@pytest.mark.parametrize("direction", ["lower", "higher"])
@pytest.mark.parametrize(
    ("df", "level", "min_change"),
    [(4, 0.01, 0.01), (4, 0.0005, 0.05), (7, 0.01, 0.05), (7, 0.002, 0.0), (12, 0.01, 0.0), (1, 0.01, 0.0)],
)
def test_a_detectable_worsening_is_found_nine_times_in_ten(
    df: int, level: float, min_change: float, direction: Direction
) -> None:
    se, repeats = 0.01, 200_000
    draw = np.random.default_rng(df)
    true = as_log(detectable(se, df, level=level, min_change=min_change, direction=direction), direction)
    worse = draw.normal(true, se, repeats)
    shown = se * np.sqrt(draw.chisquare(df, repeats) / df)
    rejected = special.stdtr(df, -worse / shown) <= level
    found = np.mean(rejected & (worse >= as_log(min_change, direction)))
    assert found == pytest.approx(0.9, abs=0.006)


def test_more_is_seen_with_less_noise_more_launches_and_fewer_tests() -> None:
    def seen(se: float = 0.01, df: int = 7, level: float = 0.01, min_change: float = 0.01) -> float:
        return detectable(se, df, level=level, min_change=min_change, direction="lower")

    assert seen(se=0.005) < seen() < seen(se=0.02)
    assert seen(df=14) < seen() < seen(df=4)
    assert seen(level=0.05) < seen() < seen(level=0.001)
    assert seen() < seen(min_change=0.045) < seen(min_change=0.1)


def test_without_noise_the_smallest_change_that_matters_is_seen() -> None:
    assert detectable(1e-6, 7, level=0.01, min_change=0.05, direction="lower") == pytest.approx(
        0.05, rel=1e-3
    )
