"""What was computed is compared, as far as launches tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from regress.verdict.comparability import workload_difference
from regress.verdict.evidence import Trial
from tests.verdict.runs import WORKLOAD, measurement

KNOWN = replace(
    WORKLOAD,
    parameters=10,
    parameter_types=("float32",),
    precision=("bfloat16",),
    shapes=(("tokens", "8x128"),),
)


def trial(**changes: object) -> Trial:
    workload = replace(KNOWN, **changes)  # type: ignore[arg-type]
    return Trial(block=0, alone=False, measurement=measurement(workload=workload))


@pytest.mark.parametrize(
    ("change", "field", "base", "head"),
    [
        ({"parameters": 11}, "parameters", "10", "11"),
        ({"parameter_types": ("bfloat16",)}, "parameter types", "float32", "bfloat16"),
        ({"precision": ("bfloat16", "float32")}, "precision", "bfloat16", "bfloat16 and float32"),
        ({"precision": ()}, "precision", "bfloat16", "no product"),
        ({"shapes": (("tokens", "8x256"),)}, "shapes", "tokens 8x128", "tokens 8x256"),
        ({"shapes": ()}, "shapes", "tokens 8x128", "none"),
        ({"tokens": None}, "tokens", "512", "None"),
    ],
)
def test_a_workload_that_differs_is_named(
    change: dict[str, object], field: str, base: str, head: str
) -> None:
    (found,) = workload_difference([trial()], [trial(), trial(**change)])
    assert (found.field, found.base) == (field, base)
    assert head in found.head


def test_what_a_launch_does_not_tell_is_no_difference() -> None:
    unknown = trial(precision=None, parameters=None, parameter_types=None, shapes=None)
    assert workload_difference([trial(), unknown], [unknown, trial()]) == ()
    (found,) = workload_difference([trial(), unknown], [unknown, trial(precision=("float32",))])
    assert found.field == "precision"
