from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regress.units import MINUS, NOT_MEASURED, duration, percent, percents, quantities, quantity, share

UNITS = ("s", "B", "1/s", "FLOP", "1", "widgets")
SIZES = {
    "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0,
    "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
    "/s": 1.0, "k/s": 1e3, "M/s": 1e6, "G/s": 1e9,
    "FLOP": 1.0, "kFLOP": 1e3, "MFLOP": 1e6, "GFLOP": 1e9, "TFLOP": 1e12, "PFLOP": 1e15,
    "": 1.0, "widgets": 1.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("values", "unit", "texts"),
    [
        ((0.04123, 0.0496), "s", ("41.23 ms", "49.60 ms")),
        ((0.0009, 0.0012), "s", ("0.900 ms", "1.200 ms")),
        ((0.99996,), "s", ("1.000 s",)),
        ((0.0,), "s", ("0.000 s",)),
        ((412_876_800, 512), "B", ("393.8 MiB", "0.00049 MiB")),
        ((900,), "B", ("900 B",)),
        ((12 << 30, (12 << 30) + 512), "B", ("12,884,901,888 B", "12,884,902,400 B")),
        ((12 << 30, 12 << 30), "B", ("12.00 GiB", "12.00 GiB")),
        ((12_345.6,), "1/s", ("12.35 k/s",)),
        ((8_053_063_680, None), "FLOP", ("8.053 GFLOP", NOT_MEASURED)),
        ((1536, 14), "1", ("1,536", "14")),
        ((10.5,), "1", ("10.50",)),
        ((-3.25,), "1", (f"{MINUS}3.250",)),
        ((3.2,), "run-time", ("3.200 run-time",)),
        ((None, None), "s", (NOT_MEASURED, NOT_MEASURED)),
        ((), "s", ()),
    ],
)
def test_values_of_a_row_share_a_scale(
    values: tuple[float | None, ...], unit: str, texts: tuple[str, ...]
) -> None:
    assert quantities(values, unit) == texts


@given(st.floats(min_value=1e-12, max_value=1e18), st.sampled_from(UNITS))
def test_a_printed_value_reads_back_to_four_digits(value: float, unit: str) -> None:
    number, _, symbol = quantity(value, unit).partition(" ")
    read = float(number.replace(",", "").replace(MINUS, "-")) * SIZES[symbol]
    assert read == pytest.approx(value, rel=0.6e-3)


@given(
    st.lists(st.integers(0, 2**50), min_size=2, max_size=2, unique=True), st.sampled_from(("B", "1", "FLOP"))
)
def test_counts_that_differ_look_different(values: list[int], unit: str) -> None:
    one, other = quantities(values, unit)
    assert one != other


@given(st.lists(st.floats(1e-9, 1e3), min_size=2, max_size=2))
def test_both_sides_of_a_row_have_one_symbol(values: list[float]) -> None:
    one, other = quantities(values, "s")
    assert one.partition(" ")[2] == other.partition(" ")[2]


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.2013, "+20.1 %"),
        (-0.03, f"{MINUS}3.0 %"),
        (0.0, "0 %"),
        (0.0035, "+0.35 %"),
        (-0.00012, f"{MINUS}0.012 %"),
        (1e-9, "+<0.0001 %"),
        (1.204, "+120 %"),
        (15.3, "+1,530 %"),
    ],
)
def test_a_change_is_printed_with_its_sign(fraction: float, text: str) -> None:
    assert percent(fraction) == text


@given(st.floats(-10, 10))
def test_a_change_never_loses_its_sign(fraction: float) -> None:
    expected = "0" if fraction == 0 else MINUS if fraction < 0 else "+"
    assert percent(fraction).startswith(expected)


def test_an_interval_has_as_many_decimals_as_its_larger_end_needs() -> None:
    assert percents(0.189, 0.217) == "+18.9 to +21.7 %"
    assert percents(-0.0004, 0.031) == "0.0 to +3.1 %"
    assert percents(-0.0016, 0.0021) == f"{MINUS}0.16 to +0.21 %"


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.061, "6.1 %"), (0.05, "5 %"), (0.0, "0 %"), (0.0025, "0.25 %"), (1e-9, "<0.0001 %"), (2.0, "200 %")],
)
def test_a_share_has_no_sign_and_no_idle_zeros(fraction: float, text: str) -> None:
    assert share(fraction) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00 s"),
        (0.3, "0.30 s"),
        (0.997, "1.0 s"),
        (7.26, "7.3 s"),
        (9.96, "10 s"),
        (59.7, "1 m 0 s"),
        (72, "1 m 12 s"),
        (3599.7, "1 h 0 m"),
        (7500, "2 h 5 m"),
        (90_000, "1 d 1 h"),
    ],
)
def test_a_duration_is_printed_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text
