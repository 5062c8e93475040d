"""A calibration for the terminal, and the last one in the words of every other report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regress.record.calibration import (
    BenchmarkCalibration,
    Calibration,
    CalibrationSummary,
    Noise,
    Rate,
    Recovery,
)
from regress.report.console import text_of
from regress.report.words import clean, counted, title
from regress.units import duration, percent, percents, quantity, share

UNKNOWN = "unknown"
"""What too little was measured of."""


def render(calibration: Calibration, *, width: int, color: bool) -> str:
    """Write a calibration for a terminal: what was measured, then each benchmark.

    Args:
        calibration: The answer.
        width: Cells of a line, at least 40.
        color: Whether headings are set off; the words stand either way.
    """
    return text_of(_parts(calibration), width=width, color=color)


def brief(last: CalibrationSummary | None) -> tuple[tuple[str, str], ...]:
    """Say what the last calibration found, in names and values; nothing where there is none."""
    if last is None:
        return ()
    of = f"{counted(last.benchmarks, 'benchmark')} of suite {clean(last.suite)}"
    rows = [
        ("calibrated", f"{clean(last.started)[:16]} on {clean(last.platform)}, {last.mode}, {of}"),
        ("bias", UNKNOWN if last.bias_bound is None else f"at most {_log_share(last.bias_bound)}"),
    ]
    for each in last.rates:
        name = "false alarms" if each.slowdown is None else f"planted {each.slowdown}"
        rows.append((name, _rate(each.rate)))
    rows.append(("recommended", _recommended(last.recommended, last.bias_bound)))
    rows += [("meanwhile", clean(note)) for note in last.notes[:1]]
    return tuple(rows)


def lacks_something(calibration: Calibration) -> bool:
    """Whether nothing can be told of some benchmark."""
    return any(each.bias is None for each in calibration.benchmarks)


def _parts(calibration: Calibration) -> Iterator[RenderableType]:
    arms = counted(1 + len(calibration.slowdowns), "arm")
    yield Text(
        f"calibrated {clean(calibration.platform.key)}, {calibration.mode}: "
        f"{counted(calibration.rounds, 'block')} of each of {arms} in {duration(calibration.seconds)}"
    )
    yield Text(
        f"suite {clean(calibration.suite)}: changes count from {share(calibration.min_change)} on, "
        f"{share(calibration.must_see)} must be seen, each test at {share(calibration.level)}",
        style="dim",
    )
    if calibration.min_change > calibration.asked_min_change:
        yield Text(
            f"equal sides may differ: comparisons here count changes from {share(calibration.min_change)} "
            f"on, not from {share(calibration.asked_min_change)}, until more blocks say less"
        )
    if calibration.rounds < calibration.planned:
        yield Text(f"the budget ended it after {calibration.rounds} of {calibration.planned} rounds")
    for note in calibration.notes:
        yield Text(f"· {clean(note)}")
    for each in calibration.benchmarks:
        yield Group(Text(), _heading(each), Padding(_facts(each), (0, 0, 0, 2)))
        if each.planted:
            yield Padding(_planted(each.planted), (0, 0, 0, 2))


def _heading(each: BenchmarkCalibration) -> Text:
    lost = f", {counted(each.lost, 'block')} lost" if each.lost else ""
    what = f"  {quantity(each.step_s, 's')} a step, {counted(each.blocks, 'block')} of equal sides{lost}"
    return Text(clean(each.benchmark), style="bold").append(what, style="not bold")


def _facts(each: BenchmarkCalibration) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in _rows(each):
        grid.add_row(name, Text(value))
    return grid


def _rows(each: BenchmarkCalibration) -> Iterator[tuple[str, str]]:
    yield "noise", _noise(each.noise)
    if each.bias is None:
        yield "bias", UNKNOWN
    else:
        bias, low, high = map(math.expm1, (each.bias.mean, each.bias.low, each.bias.high))
        shown = "" if each.bias.shown else "none is shown, "
        yield "bias", f"{percent(bias)} ({percents(low, high)}): {shown}at most {_log_share(each.bias.bound)}"
    seen = [f"{share(sight.detectable)} with {sight.blocks} blocks" for sight in each.sights]
    yield "finds", f"9 times in 10 from {', from '.join(seen)}" if seen else UNKNOWN
    yield "recommended", _recommended(each.recommended, each.noise.of_differences)
    yield "false alarms", UNKNOWN if each.false_alarms is None else _rate(each.false_alarms)


def _noise(noise: Noise) -> str:
    days = f"days {_log_share(noise.between_days)}"
    if noise.between_days is not None:
        days += f" ({counted(noise.days, 'day')} of the same code)"
    return ", ".join(
        (
            f"steps of a launch {_log_share(noise.within_launch)}",
            f"launches {_log_share(noise.between_launches)}",
            f"differences within a block {_log_share(noise.of_differences)}",
            days,
        )
    )


def _planted(planted: Sequence[Recovery]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in ("slowdown", "planted", "measured", "90 % interval"):
        table.add_column(name, justify="left" if name == "slowdown" else "right")
    table.add_column("called regressed", overflow="fold", ratio=1)
    for each in planted:
        where = "" if each.metric == "step_s" else f" ({title(each.metric)})"
        table.add_row(
            Text(f"{each.slowdown}{where}"),
            Text(share(each.planted)),
            Text(percent(each.measured)),
            Text(percents(each.low, each.high)),
            Text(UNKNOWN if each.detection is None else _rate(each.detection)),
        )
    return table


def _rate(rate: Rate) -> str:
    """Counts first: what was measured; then what that says of the true rate."""
    drawn = f"{rate.found} of {rate.resampled} comparisons of {counted(rate.blocks, 'block')}"
    return f"{drawn}, true rate {share(rate.low)} to {share(rate.high)}"


def _recommended(blocks: int | None, known: float | None) -> str:
    """Say how many blocks suffice, if anything that was measured tells."""
    if known is None:
        return UNKNOWN
    if blocks is None:
        return "no affordable number of blocks sees what must be seen; set must_see or min_change higher"
    return f"{counted(blocks, 'block')} see what must be seen"


def _log_share(size: float | None) -> str:
    """A size on the log scale, as a fraction."""
    return UNKNOWN if size is None else share(math.expm1(size))
