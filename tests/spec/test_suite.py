"""A suite can be cut down to some of its benchmarks."""

from __future__ import annotations

import pytest

from regress.spec.plan import make_plan
from regress.spec.suite import LoadedSuite
from tests.spec.test_plan import CATALOG, plan, suite


def labels(loaded: LoadedSuite) -> list[str]:
    return [each.label for each in make_plan(loaded, CATALOG, sides=["base", "head"], seed=1).benchmarks]


@pytest.mark.parametrize("wanted", [[0], [5], [1, 4], [4, 1], [0, 1, 2, 3, 4, 5]])
def test_only_some_benchmarks_at_their_parameters_and_world_sizes(wanted: list[int]) -> None:
    """Also parameters that look alike, such as true and 1."""
    chosen = [plan(1).benchmarks[place] for place in wanted]
    assert labels(suite().only(chosen)) == [each.label for each in chosen]


def test_all_else_stays_as_it_is() -> None:
    whole = suite(blocks=5, alone=2)
    part = whole.only([plan(1).benchmarks[0]])
    assert (part.name, part.file) == (whole.name, whole.file)
    rest = {"benchmarks"}
    assert part.suite.model_dump(exclude=rest) == whole.suite.model_dump(exclude=rest)
    assert len(whole.suite.benchmarks) == 2
