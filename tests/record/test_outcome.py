from __future__ import annotations

from regress.record.outcome import signal_name


def test_signals_have_names() -> None:
    assert signal_name(9) == "SIGKILL"
    assert signal_name(99) == "signal 99"
