"""How far a rank came with its collectives: torch's flight recorder, read from beside a hang.

The recorder has no public reader that works from within, so this module alone knows its private
one, and does without where a torch has none.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import torch


def watch_collectives(path: Path) -> None:
    """Write, on SIGUSR1, the number of the last collective of each process group, as JSON.

    The main thread may hang in a collective and never run a handler again, so a thread that sleeps
    on a pipe does it. Call it from the main thread, when SIGUSR1 has a handler.
    """
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    def watch() -> None:
        while signal.SIGUSR1 not in os.read(wake, 4096):  # other signals of the benchmark pass
            pass
        aside = path.with_suffix(".part")
        aside.write_text(json.dumps(last_collectives()))
        aside.rename(path)

    threading.Thread(target=watch, daemon=True, name="regress-recorder").start()


def last_collectives() -> dict[str, int]:
    """Number of the last collective that this rank began, by process group; empty when unknown."""
    try:
        text = torch._C._distributed_c10d._dump_fr_trace_json(True, False)  # type: ignore[attr-defined]
        last: dict[str, int] = {}
        for entry in json.loads(text).get("entries", ()):
            if not entry["is_p2p"]:
                group = str(entry["process_group"][0])
                last[group] = max(last.get(group, 0), int(entry["collective_seq_id"]))
    except (AttributeError, RuntimeError, KeyError, TypeError, ValueError):  # another torch
        return {}
    return last
