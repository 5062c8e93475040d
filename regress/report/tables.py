"""One table model of a comparison, which every form of report renders: they cannot disagree.

All texts in it are plain and harmless (see `clean`); a renderer still escapes them for its form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from regress.record.comparison import (
    VERDICTS,
    Comparison,
    Difference,
    Failure,
    Side,
    SuiteComparison,
    Verdict,
)
from regress.report import calibration, headline
from regress.report.rows import Row, row_of
from regress.report.words import clean, counted, ended
from regress.units import duration, share


@dataclass(frozen=True, kw_only=True)
class FailureRow:
    """A way in which a benchmark failed on one side, in one or several launches."""

    side: str
    """``base`` or ``head``."""

    benchmark: str
    """Label."""

    ended: str
    """For example ``rank 3 died of SIGKILL``."""

    blocks: str
    """For example ``blocks 0 (alone), 2``."""

    message: str
    """One line; may be empty."""

    logs: tuple[str, ...]
    """Where the logs lie, in the order of the blocks."""


@dataclass(frozen=True, kw_only=True)
class DifferenceRow:
    """A field in which the sides differ."""

    kind: str
    """``software`` or ``hardware``."""

    field: str
    """For example ``torch``."""

    base: str
    """Its value, or ``absent``."""

    head: str
    """The same."""


@dataclass(frozen=True, kw_only=True)
class SideRow:
    """One side, as it was measured."""

    role: str
    """``base`` or ``head``."""

    name: str
    """As the user wrote it."""

    commit: str
    """First twelve digits of its hash; empty when no revision was measured."""

    subject: str
    """First line of the commit's message; may be empty."""

    run: str
    """Identity of the run."""

    folder: str
    """Where the run lies."""


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The whole answer in words: verdict first, then all it rests on."""

    verdict: Verdict
    """Of the suite."""

    sentence: str
    """What the verdict rests on."""

    suspects: str
    """The software that differs; empty where none does."""

    rows: tuple[Row, ...]
    """Gates that are not unchanged: most alarming first, then by change beyond detectable."""

    unchanged: tuple[Row, ...]
    """The other gates, in the same order."""

    unchanged_line: str
    """They in one line; empty where there are none."""

    only_shown: tuple[Row, ...]
    """Metrics of benchmarks that have no gate at all."""

    failures: tuple[FailureRow, ...]
    """Those of head first, the benchmarks in the order of the rows."""

    differences: tuple[DifferenceRow, ...]
    """Software first."""

    sides: tuple[SideRow, ...]
    """Base, then head."""

    facts: tuple[tuple[str, str], ...]
    """What was measured when, and by which thresholds it was judged."""

    calibration: tuple[tuple[str, str], ...]
    """What the last calibration of the platform says; empty where there is none."""

    platform: tuple[tuple[str, str], ...]
    """Hardware, by field."""

    environment: tuple[tuple[str, str], ...]
    """Head's software, by field."""

    notes: tuple[str, ...]
    """About the comparison as a whole."""

    steps: tuple[tuple[str, str], ...]
    """What to do next: what for, and the command or path."""

    @property
    def headline(self) -> str:
        """Verdict and sentence."""
        return f"{self.verdict}: {self.sentence}"


def tables(answer: SuiteComparison) -> Tables:
    """Put a comparison into words."""
    gates = sorted((c for c in answer.comparisons if _is_gate(c)), key=lambda c: _alarm(c, answer))
    rows = _rows(answer, gates)
    unchanged = tuple(row for row in rows if row.verdict == "unchanged")
    failures = _failures(answer, [gate.benchmark for gate in gates])
    with_gates = {gate.benchmark for gate in gates}
    return Tables(
        verdict=answer.verdict,
        sentence=headline.sentence(answer, gates),
        suspects=headline.suspects(answer),
        rows=tuple(row for row in rows if row.verdict != "unchanged"),
        unchanged=unchanged,
        unchanged_line=_unchanged_line([row.comparison for row in unchanged]),
        only_shown=tuple(row_of(c) for c in answer.comparisons if c.benchmark not in with_gates),
        failures=failures,
        differences=(
            *_differences("software", answer.environment_diff),
            *_differences("hardware", answer.platform_diff),
        ),
        sides=(_side("base", answer.base), _side("head", answer.head)),
        facts=_facts(answer),
        calibration=calibration.brief(answer.calibration),
        platform=_pairs(answer.platform_fields),
        environment=_pairs(answer.environment_fields),
        notes=tuple(clean(note) for note in answer.notes),
        steps=_steps(answer, failures),
    )


def _is_gate(comparison: Comparison) -> bool:
    return comparison.role == "gate" and comparison.verdict is not None


def _alarm(gate: Comparison, answer: SuiteComparison) -> tuple[int, bool, bool, float]:
    """Sort key: verdict, failed benchmarks first, then the part of the change that is sure.

    That is the nearer end of the interval; an exact change is sure as a whole. Of what is
    unchanged, equal counts come last: there is least to see.
    """
    sure = {"regressed": gate.low, "improved": gate.high}.get(gate.verdict or "")
    change = gate.change if sure is None else sure
    if change is None:
        change = math.inf if gate.base.median == 0 else -math.inf
    size = -change if gate.verdict == "improved" else change
    failed = bool(headline.failures_of(answer, gate.benchmark))
    rank = VERDICTS.index(gate.verdict) if gate.verdict else len(VERDICTS)
    equal = gate.verdict == "unchanged" and gate.kind == "exact"
    return rank, not failed, equal, -size


def _rows(answer: SuiteComparison, gates: Sequence[Comparison]) -> list[Row]:
    """One row per gate; the first one of a benchmark holds its metrics that are only shown."""
    shown: dict[str, list[Row]] = {}
    for comparison in answer.comparisons:
        if not _is_gate(comparison):
            shown.setdefault(comparison.benchmark, []).append(row_of(comparison))
    holders: dict[str, str] = {}
    rows = []
    for gate in gates:
        row = row_of(gate)
        if others := shown.get(gate.benchmark):
            holder = holders.setdefault(gate.benchmark, row.anchor)
            held = holder == row.anchor
            row = replace(row, others=tuple(others)) if held else replace(row, others_at=holder)
        rows.append(row)
    return rows


def _unchanged_line(unchanged: Sequence[Comparison]) -> str:
    if not unchanged:
        return ""
    benchmarks = counted(len({gate.benchmark for gate in unchanged}), "benchmark")
    text = f"{len(unchanged)} unchanged in {benchmarks}"
    exact = sum(gate.kind == "exact" for gate in unchanged)
    text += f", {exact} of them counted exactly" if exact else ""
    seen = [gate.detectable for gate in unchanged if gate.kind == "timed" and gate.detectable is not None]
    if not seen:
        return text
    where = "in the others worsenings" if exact else "worsenings"
    return f"{text}; {where} from {share(max(seen))} on would have been found 9 times in 10"


def _failures(answer: SuiteComparison, alarming: Sequence[str]) -> tuple[FailureRow, ...]:
    """Group failures that are alike; every launch keeps its block and its log."""
    place = {benchmark: index for index, benchmark in reversed(list(enumerate(alarming)))}
    groups: dict[tuple[object, ...], list[Failure]] = {}
    for failure in sorted(
        answer.outcomes, key=lambda f: (f.side != "head", place.get(f.benchmark, len(place)), f.block)
    ):
        how = failure.outcome
        key = (failure.side, failure.benchmark, how.kind, how.rank, how.status, how.message)
        groups.setdefault(key, []).append(failure)
    folders = {"base": answer.base.folder, "head": answer.head.folder}
    return tuple(_failure(group, folders.get(group[0].side, "")) for group in groups.values())


def _failure(group: Sequence[Failure], folder: str) -> FailureRow:
    first = group[0]
    blocks = ", ".join(f"{f.block} (alone)" if f.alone else str(f.block) for f in group)
    logs = (clean(f"{folder.rstrip('/')}/{f.outcome.log}") for f in group if f.outcome.log)
    return FailureRow(
        side=clean(first.side),
        benchmark=clean(first.benchmark),
        ended=ended(first.outcome),
        blocks=f"block {blocks}" if len(group) == 1 else f"blocks {blocks}",
        message=clean(first.outcome.message),
        logs=tuple(dict.fromkeys(logs)),
    )


def _differences(kind: str, differences: Iterable[Difference]) -> Iterable[DifferenceRow]:
    for difference in differences:
        yield DifferenceRow(
            kind=kind,
            field=clean(difference.field),
            base=clean(difference.base) or "absent",
            head=clean(difference.head) or "absent",
        )


def _side(role: str, side: Side) -> SideRow:
    return SideRow(
        role=role,
        name=clean(side.name),
        commit=clean(side.commit or "")[:12],
        subject=clean(side.subject),
        run=clean(side.run),
        folder=clean(side.folder),
    )


def _facts(answer: SuiteComparison) -> tuple[tuple[str, str], ...]:
    return (
        ("suite", clean(answer.suite)),
        ("platform", clean(answer.platform)),
        ("started", clean(answer.started)),
        ("took", duration(answer.seconds)),
        ("smallest change worth a verdict", share(answer.min_change)),
        ("worsening that a gate must see", share(answer.must_see)),
        ("false alarms, whole suite", f"1 in {1 / answer.false_alarms:.3g}"),
        ("exit status", str(answer.exit_status)),
    )


def _pairs(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((clean(name), clean(value)) for name, value in pairs)


def _steps(answer: SuiteComparison, failures: Sequence[FailureRow]) -> tuple[tuple[str, str], ...]:
    steps = [("open the log", row.logs[0]) for row in failures if row.side == "head" and row.logs][:1]
    steps += [("the same again", clean(answer.command, limit=1000))] if answer.command else []
    return (
        *steps,
        ("base's launches", clean(answer.base.folder)),
        ("head's launches", clean(answer.head.folder)),
    )
