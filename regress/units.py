"""Units and their printing: base units inside, scaled ones for people.

The sign of a change is a typographic minus, so that it cannot be read as a hyphen or an option.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

MINUS = "\N{MINUS SIGN}"
NOT_MEASURED = "\N{EM DASH}"
_DIGITS = 4
_ROUNDS_UP = 1 + 0.5 * 10**-_DIGITS


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A multiple of a base unit that people read, for example ``ms``."""

    symbol: str
    """As printed after a value; empty for plain counts."""

    size: float
    """How many base units it is."""


def _scales(*steps: tuple[str, float]) -> tuple[Scale, ...]:
    return tuple(Scale(symbol=symbol, size=size) for symbol, size in steps)


_SCALES = {
    "s": _scales(("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1)),
    "B": _scales(("B", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30), ("TiB", 2**40)),
    "1/s": _scales(("/s", 1), ("k/s", 1e3), ("M/s", 1e6), ("G/s", 1e9)),
    "FLOP": _scales(
        ("FLOP", 1), ("kFLOP", 1e3), ("MFLOP", 1e6), ("GFLOP", 1e9), ("TFLOP", 1e12), ("PFLOP", 1e15)
    ),
    "1": _scales(("", 1)),
}
_COUNTED = {"B", "FLOP", "1"}


def scale_of(values: Sequence[float | None], unit: str) -> Scale:
    """Choose the scale in which the largest of ``values`` is at least 1, where there is one.

    A unit that is not in the table is its own scale.
    """
    scales = _SCALES.get(unit) or _scales((unit, 1))
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    reached = [scale for scale in scales if largest * _ROUNDS_UP >= scale.size]
    if largest == 0:
        return next((scale for scale in scales if scale.size == 1), scales[0])
    return reached[-1] if reached else scales[0]


def quantities(values: Sequence[float | None], unit: str) -> tuple[str, ...]:
    """Print values of one row: one scale, as many decimals as give the largest four digits.

    Counts that differ and would look alike are printed in full, in the base unit. What was
    not measured (``None``) is a dash.
    """
    known = [value for value in values if value is not None]
    scale = scale_of(values, unit)
    texts = tuple(_scaled(value, scale, known, unit) for value in values)
    counts = unit in _COUNTED and all(float(value).is_integer() for value in known)
    if counts and len(set(texts)) < len(set(values)) and max(map(abs, known)) < 2**63:
        symbol = _SCALES[unit][0].symbol
        return tuple(NOT_MEASURED if v is None else _join(f"{v:,.0f}", symbol) for v in values)
    return texts


def quantity(value: float | None, unit: str) -> str:
    """Print one value for people: ``41.23 ms``, ``1.500 GiB``, ``12.34 k/s``, ``1,536``."""
    return quantities([value], unit)[0]


def percent(fraction: float) -> str:
    """Print a change with its sign: ``+20.1 %``, ``0 %``."""
    decimals = _percent_decimals(fraction)
    if fraction == 0:
        return "0 %"
    if round(abs(fraction) * 100, decimals) == 0:
        return f"{_sign(fraction)}<{10.0**-decimals:.{decimals}f} %"
    return f"{_signed(fraction, decimals)} %"


def percents(low: float, high: float) -> str:
    """Print an interval of changes with as many decimals as its larger end needs: ``+0.4 to +3.1 %``."""
    decimals = _percent_decimals(max(abs(low), abs(high)))
    return f"{_signed(low, decimals)} to {_signed(high, decimals)} %"


def share(fraction: float) -> str:
    """Print a fraction without a sign: ``6.1 %``, ``5 %``."""
    if 0 < abs(fraction) < 0.5e-6:
        return "<0.0001 %"
    text = f"{abs(fraction) * 100:,.{_percent_decimals(fraction)}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def duration(seconds: float) -> str:
    """Print how long something took: ``0.85 s``, ``7.3 s``, ``48 s``, ``1 m 12 s``, ``2 h 5 m``."""
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60} s"
    minutes = round(seconds / 60)
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} m"
    hours = round(seconds / 3600)
    return f"{hours // 24} d {hours % 24} h"


def _scaled(value: float | None, scale: Scale, row: Sequence[float], unit: str) -> str:
    if value is None:
        return NOT_MEASURED
    scaled = value / scale.size
    largest = max(map(abs, row)) / scale.size
    if unit in _COUNTED and scale.size == 1 and all(float(v).is_integer() for v in row) and largest < 1e15:
        return _join(f"{scaled:,.0f}", scale.symbol)
    if largest and not 1e-3 <= largest < 1e6:
        return _join(f"{scaled:.{_DIGITS}g}", scale.symbol)
    before = math.floor(math.log10(largest * _ROUNDS_UP)) + 1 if largest else 1
    decimals = min(max(_DIGITS - before, 0), 6)
    if value and round(scaled, decimals) == 0:
        return _join(f"{scaled:.2g}", scale.symbol)
    return _join(f"{scaled:,.{decimals}f}", scale.symbol)


def _join(number: str, symbol: str) -> str:
    return f"{number.replace('-', MINUS)} {symbol}".rstrip()


def _percent_decimals(fraction: float) -> int:
    for bound, decimals in ((1.0, 0), (0.01, 1), (0.001, 2), (0.0001, 3)):
        if abs(fraction) >= bound:
            return decimals
    return 4 if fraction else 1


def _sign(fraction: float) -> str:
    return MINUS if fraction < 0 else "+"


def _signed(fraction: float, decimals: int) -> str:
    size = round(abs(fraction) * 100, decimals)
    if not size:
        return f"{0:.{decimals}f}"
    return f"{_sign(fraction)}{size:,.{decimals}f}"
