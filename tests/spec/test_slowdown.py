from __future__ import annotations

import pytest

from regress.errors import RequestError
from regress.record.calibration import Slowdown
from regress.spec.slowdown import read_slowdowns


def test_kinds_and_shares_are_read_in_their_order() -> None:
    assert read_slowdowns("kernel:2%, stall:0.5%,sleep:100%") == (
        Slowdown(kind="kernel", fraction=0.02),
        Slowdown(kind="stall", fraction=0.005),
        Slowdown(kind="sleep", fraction=1.0),
    )
    assert read_slowdowns("none") == ()


def test_all_is_each_kind_at_each_size() -> None:
    found = read_slowdowns("all")
    assert len(set(found)) == 16
    assert {each.kind for each in found} == {"sleep", "kernel", "collective", "stall"}
    assert {each.fraction for each in found} == {0.005, 0.01, 0.02, 0.05}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "unknown slowdown ''; known: collective, kernel, sleep, stall"),
        ("kernle:2%", "unknown slowdown 'kernle'; did you mean 'kernel'?"),
        ("kernel", "expected a share of the step, as in kernel:2%; got 'kernel'"),
        ("kernel:2", "got 'kernel:2'"),
        ("kernel:%", "got 'kernel:%'"),
        ("kernel:0%", "got 'kernel:0%'"),
        ("kernel:-2%", "got 'kernel:-2%'"),
        ("kernel:101%", "got 'kernel:101%'"),
        ("kernel:1e1%", "got 'kernel:1e1%'"),
        ("kernel:nan%", "got 'kernel:nan%'"),
        ("kernel:\N{SUPERSCRIPT TWO}%", "got 'kernel:"),
        ("kernel:2%,all", "unknown slowdown 'all'"),
        ("kernel:2%,kernel:2.0%", "kernel 2 % stands there twice"),
    ],
)
def test_anything_else_is_refused_in_one_line(text: str, line: str) -> None:
    with pytest.raises(RequestError) as refused:
        read_slowdowns(text)
    assert str(refused.value).startswith("--planted: ")
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)
