"""Histories as `regress history` would give them, for the tests of every form of report."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from regress.record.comparison import Difference
from regress.record.history import (
    SCHEMA,
    STATES,
    Break,
    Change,
    Drifted,
    History,
    Level,
    Point,
    Remeasured,
    RemeasuredChange,
    Series,
    State,
)
from regress.record.metric import metric
from tests.report.factories import DDP, FSDP, HOSTILE, TENSOR


def commit(place: int) -> str:
    return f"{place:012x}" + "0" * 28


def points(values: Sequence[float | None], *, subject: str = "Change") -> tuple[Point, ...]:
    return tuple(
        Point(
            run=f"{place:08x}",
            commit=commit(place),
            subject=f"{subject} {place}",
            started=f"2026-{1 + place // 28:02}-{1 + place % 28:02}T03:00:00+00:00",
            value=value,
            launches=0 if value is None else 3,
            failures=3 if value is None else 0,
            reason="rank 1 died of SIGKILL: boom" if value is None else "",
        )
        for place, value in enumerate(values)
    )


def around(level: float, number: int) -> list[float]:
    draw = random.Random(f"{level}/{number}")
    return [level * (1 + draw.uniform(-0.004, 0.004)) for _ in range(number)]


def change(index: int, size: float, **given: Any) -> Change:
    known: dict[str, Any] = {
        "index": index,
        "commits": f"{commit(index - 1)[:12]}..{commit(index)[:12]}",
        "distance": 1,
        "subject": f"Change {index}",
        "started": f"2026-{1 + index // 28:02}-{1 + index % 28:02}T03:00:00+00:00",
        "before": 0.010,
        "after": 0.010 * (1 + size),
        "change": size,
        "low": size - 0.002,
        "high": size + 0.002,
        "worse": size > 0,
        "state": "confirmed",
        "open": True,
    }
    return Change(**known | given)


def series(state: State, values: Sequence[float | None], **given: Any) -> Series:
    """A series whose levels stand between its changes and breaks."""
    subject = given.pop("subject", "Change")
    about = metric(given.get("metric", "step_s"))
    edges = sorted(each.index for each in (*given.get("changes", ()), *given.get("breaks", ())))
    levels = []
    for start, end in zip([0, *edges], [*edges, len(values)], strict=True):
        known = sorted(value for value in values[start:end] if value is not None)
        levels.append(Level(start=start, end=end, median=known[len(known) // 2] if known else None))
    fields: dict[str, Any] = {
        "suite": "commit",
        "benchmark": DDP,
        "metric": about.name,
        "unit": about.unit,
        "direction": about.direction,
        "kind": about.kind,
        "platform": "cpu-4c-1f3a",
        "mode": "resident",
        "code": "commits",
        "environment": None,
        "state": state,
        "reason": "",
        "ended": "",
        "points": points(values, subject=subject),
        "levels": tuple(levels),
        "changes": (),
        "breaks": (),
        "anchor": None,
        "drift": None,
    }
    return Series(**fields | given)


def history(*found: Series, **given: Any) -> History:
    current = [each for each in found if not each.ended]
    fields: dict[str, Any] = {
        "schema": SCHEMA,
        "verdict": min((each.state for each in current), key=STATES.index, default="unmeasured"),
        "exit_status": 0 if found else 3,
        "anchor": "",
        "runs": sum(len(each.points) for each in found),
        "series": found,
        "remeasured": (),
        "left_out": (),
        "unreadable": (),
    }
    return History(**fields | given)


SAID = Remeasured(
    says="confirmed", base="aaaaaaaa", head="bbbbbbbb", change=0.031, low=0.028, high=0.034, reason=""
)
STEPPED = [*around(0.010, 20), *around(0.0104, 20)]


def regressed() -> Series:
    return series("regressed", STEPPED, changes=(change(20, 0.04),))


def steady() -> Series:
    return series("steady", around(0.02, 30), benchmark=FSDP)


def mixed_history() -> History:
    """One series of each state, and all notes."""
    gone = (change(12, 0.05, open=False), change(24, -0.045, open=False, distance=None))
    software = Break(
        index=20,
        started="2026-01-21T03:00:00+00:00",
        differences=(Difference(field="torch", base="2.13.0", head="2.14.0"),),
        change=0.011,
    )
    refuted = replace(SAID, says="refuted", change=0.001, low=-0.002, high=0.004)
    undecided = replace(SAID, says="undecided", reason="inconclusive: futile")
    counted = change(20, 2 / 300, low=2 / 300, high=2 / 300, before=300.0, after=302.0)
    from_zero = change(20, 0.0, change=None, low=None, high=None, before=0.0, after=5.0, worse=True)
    suspected = change(20, 0.03, state="suspected", distance=0, remeasured=undecided)
    drift = Drifted(index=3, change=0.021, low=0.012, high=0.030, p=0.001)
    found = (
        series("broken", [*around(0.05, 20), None, None], benchmark=TENSOR),
        replace(regressed(), anchor=5, drift=replace(drift, index=5)),
        series(
            "regressed",
            [300.0] * 20 + [302.0] * 20,
            metric="collective_count",
            mode="any",
            changes=(counted,),
        ),
        series("regressed", [0.0] * 20 + [5.0] * 20, metric="flops", mode="any", changes=(from_zero,)),
        series("drifted", around(0.03, 40), benchmark=FSDP, anchor=3, drift=drift),
        series(
            "suspected",
            [*around(0.010, 20), *around(0.0103, 4)],
            benchmark=TENSOR,
            environment="nightly",
            changes=(suspected,),
        ),
        series(
            "improved",
            [*around(0.010, 20), *around(0.0095, 20)],
            benchmark=FSDP,
            mode="alone",
            changes=(change(20, -0.05, distance=3),),
        ),
        series(
            "short",
            around(0.01, 3),
            benchmark=FSDP,
            platform="cpu-8c-0000",
            reason="3 of 8 points that tell a step",
        ),
        series("steady", around(0.01, 40), platform="cpu-8c-0000", changes=gone),
        series(
            "steady",
            around(0.01, 40),
            platform="cpu-9c-0000",
            breaks=(software,),
            changes=(change(35, 0.02, state="refuted", remeasured=refuted),),
        ),
        series(
            "regressed", STEPPED, platform="cpu-1c-0000", ended="cpu-4c-1f3a", changes=(change(20, 0.04),)
        ),
    )
    again = RemeasuredChange(
        suite="commit",
        benchmark=DDP,
        metric="step_s",
        platform="cpu-4c-1f3a",
        commits=change(20, 0.04).commits,
        said=SAID,
    )
    return history(
        *found,
        anchor="v1.0",
        remeasured=(again,),
        left_out=("9 runs of commits that HEAD does not rest on",),
        unreadable=("store/commit/x/plan.json: damaged: its checksum does not match its content",),
    )


def hostile_history() -> History:
    """Text from outside wherever there can be any."""
    said = replace(SAID, says="undecided", reason=HOSTILE, base=HOSTILE)
    difference = Difference(field=HOSTILE, base=HOSTILE, head=HOSTILE)
    one = series(
        "suspected",
        [*STEPPED, None],
        benchmark=HOSTILE,
        platform=HOSTILE,
        suite=HOSTILE,
        environment=HOSTILE,
        reason=HOSTILE,
        subject=HOSTILE,
        changes=(change(30, 0.04, state="suspected", subject=HOSTILE, commits=HOSTILE, remeasured=said),),
        breaks=(Break(index=20, started=HOSTILE, differences=(difference,), change=None),),
        anchor=25,
        drift=Drifted(index=25, change=0.041, low=0.035, high=0.047, p=1e-9),
    )
    failed = replace(
        one, state="broken", benchmark=f"2{HOSTILE}", ended="",
        points=tuple(replace(point, reason=HOSTILE) for point in one.points),
    )  # fmt: skip
    ended = replace(one, ended=HOSTILE, benchmark=f"3{HOSTILE}")
    again = RemeasuredChange(
        suite=HOSTILE, benchmark=HOSTILE, metric="step_s", platform=HOSTILE, commits=HOSTILE, said=said
    )
    return history(
        failed, one, ended, anchor=HOSTILE, remeasured=(again,), left_out=(HOSTILE,), unreadable=(HOSTILE,)
    )


HISTORIES: Mapping[str, Callable[[], History]] = {
    "mixed": mixed_history,
    "steady": lambda: history(steady()),
    "one": lambda: history(regressed()),
    "empty": history,
    "hostile": hostile_history,
}
