"""Text from outside made plain, and the words for metrics and failures."""

from __future__ import annotations

import re
import unicodedata

from regress.errors import RecordError
from regress.record.comparison import Verdict
from regress.record.metric import metric
from regress.record.outcome import Outcome, signal_name

MARKS: dict[Verdict, str] = {
    "broken": "✕",
    "regressed": "▲",
    "incomparable": "≠",
    "inconclusive": "?",
    "gone": "○",
    "new": "+",
    "improved": "▼",
    "unchanged": "=",
}
"""A sign for each verdict, so that none is told by its colour alone."""

_TITLES = {
    "step_s": "step time",
    "peak_allocated_bytes": "peak memory",
    "peak_reserved_bytes": "reserved memory",
    "collective_count": "collectives",
    "collective_bytes": "collective traffic",
    "flops": "FLOPs",
    "tokens_per_s": "tokens per second",
    "samples_per_s": "samples per second",
    "step_mean_s": "mean step time",
    "step_p95_s": "95th percentile step time",
    "cpu_s": "CPU time",
    "loss": "loss",
}

_ENDED = {
    "ok": "ended well",
    "raised": "raised an error",
    "exited": "exited",
    "died": "died",
    "hung": "hung",
    "out_of_memory": "ran out of memory",
    "diverged": "diverged",
    "unsupported": "is not supported here",
}

_ESCAPE_SEQUENCE = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]|\x1b.?", re.DOTALL)


def clean(text: str, *, limit: int = 300) -> str:
    """Make text from outside one harmless line.

    Terminal sequences go, as do all characters that steer instead of print (controls, changes
    of writing direction, invisible ones); white space of any kind becomes one blank. What is
    longer than ``limit`` characters ends in an ellipsis.
    """
    text = _ESCAPE_SEQUENCE.sub("", text)
    kept = (" " if c.isspace() else "\N{REPLACEMENT CHARACTER}" if _broken(c) else c for c in text)
    line = " ".join("".join(c for c in kept if unicodedata.category(c) not in ("Cc", "Cf")).split())
    if line.startswith("::"):  # a CI runner would take it for a command
        line = line.replace("::", ": :", 1)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def title(name: str) -> str:
    """Name a metric for people: ``step time`` for ``step_s``, ``forward time`` for a phase."""
    if name in _TITLES:
        return _TITLES[name]
    phase, _, unit = name.rpartition("_")
    return f"{phase} time" if unit == "s" and phase.isidentifier() else clean(name)


def meaning(name: str) -> str:
    """Say in one sentence what a metric measures; empty for one that nobody knows."""
    try:
        return metric(name).what
    except RecordError:
        return ""


def ended(outcome: Outcome) -> str:
    """Say how a benchmark ended: ``rank 3 died of SIGKILL``, ``hung``."""
    text = _ENDED[outcome.kind]
    if outcome.status is not None and outcome.status < 0:
        text += f" of {signal_name(-outcome.status)}"
    elif outcome.status is not None and outcome.kind == "exited":
        text += f" with status {outcome.status}"
    return text if outcome.rank is None else f"rank {outcome.rank} {text}"


def counted(number: int, noun: str) -> str:
    """Say how many: ``1 benchmark``, ``3 benchmarks``, ``2 launches``."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def _broken(character: str) -> bool:
    """Whether it is half a surrogate pair, which no output can encode."""
    return unicodedata.category(character) == "Cs"
