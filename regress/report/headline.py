"""The answer in one sentence, and what a clean answer could have seen."""

from __future__ import annotations

from collections.abc import Sequence

from regress.record.comparison import Comparison, Failure, SuiteComparison, Verdict
from regress.report.words import clean, counted, ended, title
from regress.units import percent, percents, share


def sentence(answer: SuiteComparison, alarming: Sequence[Comparison]) -> str:
    """Say what the verdict of the suite rests on, without the verdict's own word.

    Args:
        answer: The whole comparison.
        alarming: Its gates, most alarming first.
    """
    if not alarming:
        return "nothing was measured that could be judged"
    concerned = [gate for gate in alarming if gate.verdict == answer.verdict]
    if answer.verdict == "unchanged" or not concerned:
        return "; ".join(filter(None, ("nothing regressed", capability(answer.comparisons))))
    total = counted(len({gate.benchmark for gate in alarming}), "benchmark")
    number = len({gate.benchmark for gate in concerned})
    verb = "is" if number == 1 else "are"
    first = concerned[0]
    parts = [f"{number} of {total} {verb} {_predicate(answer.verdict, concerned)}", _worst(answer, first)]
    if answer.verdict in ("improved", "inconclusive", "new"):
        told = answer.exit_status in (0, 4)
        parts.insert(0, "nothing regressed" if told else "could not tell")
    parts += _also(answer.verdict, alarming)
    return "; ".join(parts)


def capability(comparisons: Sequence[Comparison]) -> str:
    """Say which worsening the timed gates would have found; empty where there are none."""
    timed = [c for c in comparisons if c.role == "gate" and c.kind == "timed" and c.verdict is not None]
    seen = [gate.detectable for gate in timed if gate.detectable is not None]
    if not seen:
        return "what could have been found is not known" if timed else ""
    text = f"worsenings of {share(max(seen))} or more would have been found 9 times in 10"
    blind = len(timed) - len(seen)
    return f"{text}, but not where that is unknown ({blind} of {len(timed)})" if blind else text


def suspects(answer: SuiteComparison) -> str:
    """Name the software that differs, to be looked at before any code; empty where none does."""
    if not answer.environment_diff:
        return ""
    named = [
        f"{clean(d.field, limit=40)} {clean(d.base, limit=40) or 'absent'} → "
        f"{clean(d.head, limit=40) or 'absent'}"
        for d in answer.environment_diff[:3]
    ]
    more = len(answer.environment_diff) - len(named)
    rest = f" and {more} more" if more else ""
    return f"The software differs too: {', '.join(named)}{rest}. Suspect it first."


def failures_of(answer: SuiteComparison, benchmark: str) -> list[Failure]:
    """List how a benchmark failed on head."""
    return [f for f in answer.outcomes if f.side == "head" and f.benchmark == benchmark]


def _predicate(verdict: Verdict, concerned: Sequence[Comparison]) -> str:
    metrics = {gate.metric for gate in concerned}
    if verdict == "regressed":
        if metrics == {"step_s"}:
            return "slower"
        return "hungrier" if metrics == {"peak_allocated_bytes"} else "worse"
    if verdict == "improved":
        return "faster" if metrics == {"step_s"} else "better"
    return {
        "broken": "broken by head",
        "incomparable": "not comparable",
        "inconclusive": "undecided",
        "gone": "missing on head",
        "new": "new on head",
    }.get(verdict, verdict)


def _worst(answer: SuiteComparison, gate: Comparison) -> str:
    name = f"{clean(gate.benchmark, limit=80)}"
    if gate.verdict == "broken":
        failures = failures_of(answer, gate.benchmark)
        return f"{name}: {ended(failures[0].outcome)}" if failures else f"{name}: {clean(gate.reason)}"
    if gate.verdict not in ("regressed", "improved"):
        return f"{name} {title(gate.metric)}: {clean(gate.reason)}" if gate.reason else name
    superlative = "worst" if gate.verdict == "regressed" else "most"
    if gate.change is None:
        return f"{superlative} {name} {title(gate.metric)}, from 0"
    bounds = f" ({percents(gate.low, gate.high)})" if gate.low is not None and gate.high is not None else ""
    return f"{superlative} {name} {title(gate.metric)} {percent(gate.change)}{bounds}"


def _also(verdict: Verdict, alarming: Sequence[Comparison]) -> list[str]:
    """Name the other alarms, so that the first one hides none."""
    texts = []
    for other in ("broken", "regressed", "incomparable", "gone"):
        number = len({gate.benchmark for gate in alarming if gate.verdict == other})
        if other != verdict and number:
            texts.append(f"{number} {other}")
    return [f"also {', '.join(texts)}"] if texts else []
