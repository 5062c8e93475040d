"""Progress on standard error: a bar on a terminal, a line per block elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from regress.flows.progress import Progress, Silence


class Lines:
    """One line whenever something new begins; for logs."""

    def __init__(self) -> None:
        self._start_s: float | None = None
        self._start_done = 0.0
        self._last = ""

    def say(self, text: str) -> None:
        """See `Progress`."""
        print(f"regress: {text}", file=sys.stderr, flush=True)

    def at(self, done: float, what: str) -> None:
        """See `Progress`."""
        block = what.split(" · ")[0]
        if block == self._last:
            return
        self._last = block
        now_s = time.monotonic()
        if self._start_s is None:  # what came before is no measure of what is left
            self._start_s, self._start_done = now_s, done
        elapsed_s, share = now_s - self._start_s, done - self._start_done
        left = f", about {elapsed_s * (1 - done) / share:.0f} s left" if share > 0.1 else ""
        print(f"regress: {block}, {elapsed_s:.0f} s so far{left}", file=sys.stderr, flush=True)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress]:
    """Show how far a measurement is, in the way that standard error allows."""
    if quiet:
        yield Silence()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        with _Bar() as bar:
            yield bar


class _Bar:
    """What runs, how far, how long still."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,  # a thread of its own would run beside the timed steps
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """See `Progress`."""
        self._bar.update(self._task, description=text, refresh=True)

    def at(self, done: float, what: str) -> None:
        """See `Progress`."""
        self._bar.update(self._task, description=what, total=1.0, completed=done, refresh=True)
