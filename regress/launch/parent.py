"""The launcher's end of the conversation with the process that starts ranks.

See `regress.worker.children` for the other end.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regress.errors import LaunchError
from regress.launch.harness import cannot_run, side_environment
from regress.launch.launcher import Code
from regress.record.outcome import signal_name

START_S = 120.0
"""Longest time that importing torch may take."""

RANKS_S = 60.0
"""Longest time that starting the processes of all ranks may take."""

END_S = 5.0
"""Longest time that ranks, or their parent, may take to end once they are told to."""


class Parent:
    """A process that starts ranks, sees them end, and ends with its launcher."""

    def __init__(self, name: str, code: Code, command: Sequence[str], harness: Path, log: Path) -> None:
        """Start it; importing torch goes on in the background.

        Args:
            name: What it is, for people.
            code: Of the side whose ranks it starts.
            command: Module of `regress.worker` that it runs, and that module's arguments.
            harness: Copy of what runs there.
            log: File that takes what it prints.

        Raises:
            LaunchError: The interpreter cannot be started.
        """
        self._name = name
        self._python = code.python
        self._log = log
        self._pending = b""
        self._ready = False
        self._started: list[list[int]] = []
        self.statuses: dict[int, int] = {}
        """Exit status by process id, minus the signal's number when one ended it."""
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    [code.python, "-m", *command],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=output,
                    cwd=harness,
                    env=side_environment(code, harness),
                    start_new_session=True,
                )
        except OSError as error:
            raise LaunchError(f"cannot start {code.python}: {error.strerror}: {error.filename}") from None
        assert self._process.stdin is not None  # noqa: S101 - Popen was asked for pipes
        assert self._process.stdout is not None  # noqa: S101
        self._requests = self._process.stdin
        self._replies = self._process.stdout
        os.set_blocking(self._replies.fileno(), False)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def start(self, requests: Sequence[Mapping[str, Any]]) -> list[int]:
        """Start one rank per request and return their process ids, in the same order.

        Raises:
            LaunchError: The process has ended, or does not answer.
        """
        self.await_ready()
        self._ask(start=requests)
        self._wait(lambda: bool(self._started), RANKS_S, "start its ranks")
        return self._started.pop()

    def await_ready(self) -> None:
        """Wait until torch is imported.

        Raises:
            LaunchError: The process has ended, or takes too long.
        """
        self._wait(lambda: self._ready, START_S, "import torch")

    def kill(self, pids: Sequence[int]) -> None:
        """Kill ranks that still run, with all that they started, and wait until they are gone.

        Raises:
            LaunchError: The process has ended (and its ranks with it), or a rank does not die.
        """
        self.poll()
        for pid in self._running(pids):
            self._ask(kill=pid)
        self._wait(lambda: not self._running(pids), END_S, "end its ranks")

    def poll(self) -> None:
        """Take in what it has said.

        Raises:
            LaunchError: The process has ended.
        """
        while True:
            try:
                chunk = os.read(self._replies.fileno(), 65536)
            except BlockingIOError:
                return
            if not chunk:
                raise self._ended()
            *lines, self._pending = (self._pending + chunk).split(b"\n")
            for line in lines:
                self._take(line)

    def close(self) -> None:
        """End it and every rank it started."""
        with contextlib.suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._replies.close()

    def _take(self, line: bytes) -> None:
        if not self._ready:  # before that, whatever starts with the interpreter may print
            self._ready = line == b'{"ready": true}'
            return
        reply = json.loads(line)
        if "started" in reply:
            self._started.append(reply["started"])
            for pid in reply["started"]:
                self.statuses.pop(pid, None)  # of an earlier rank whose number it has
        else:
            self.statuses[reply["exited"]] = reply["status"]

    def _running(self, pids: Iterable[int]) -> list[int]:
        return [pid for pid in pids if pid not in self.statuses]

    def _ask(self, **request: Any) -> None:
        try:
            self._requests.write((json.dumps(request) + "\n").encode())
            self._requests.flush()
        except OSError:
            raise self._ended() from None

    def _wait(self, done: Callable[[], bool], limit_s: float, what: str) -> None:
        limit = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._replies, selectors.EVENT_READ)
            while True:
                self.poll()
                if done():
                    return
                if time.monotonic() > limit:
                    raise LaunchError(
                        f"{self._python}: its {self._name} did not {what} within {limit_s:.0f} s"
                    )
                selector.select(0.2)

    def _ended(self) -> LaunchError:
        status = self._process.wait()
        if status < 0:
            return LaunchError(f"{self._python}: its {self._name} was ended by {signal_name(-status)}")
        return cannot_run(self._python, "run ranks", status, self._log.read_text(errors="replace"))


def fork_server(code: Code, modules: Sequence[str], harness: Path, log: Path) -> Parent:
    """A process that forks ranks in milliseconds, because torch is imported already."""
    return Parent("fork server", code, ["regress.worker.server", *modules], harness, log)


def torch_agent(code: Code, harness: Path, log: Path) -> Parent:
    """An elastic agent of torch's own, which starts ranks once, as processes that share nothing."""
    return Parent("torchrun agent", code, ["regress.worker.agent"], harness, log)
