"""The launcher's end of a fork server; see `regress.worker.server` for the other one."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regress.errors import LaunchError
from regress.launch.harness import side_environment
from regress.launch.launcher import Code

START_S = 120.0
"""Longest time that importing torch may take."""


class ForkServer:
    """A process that forks ranks in milliseconds because torch is imported already."""

    def __init__(self, code: Code, modules: Sequence[str], harness: Path, log: Path) -> None:
        self._python = code.python
        self._log = log
        self._pending = b""
        self._forked: dict[int, int] = {}
        self.statuses: dict[int, int] = {}
        """Exit status by process id, minus the signal's number when one ended it."""
        try:
            with log.open("ab") as errors:
                self._process = subprocess.Popen(
                    [code.python, "-m", "regress.worker.server", *modules],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=harness,
                    env=side_environment(code, harness),
                    start_new_session=True,
                )
        except OSError as error:
            raise LaunchError(f"cannot start {code.python}: {error.strerror}") from None
        assert self._process.stdin is not None  # noqa: S101 - Popen was asked for pipes
        assert self._process.stdout is not None  # noqa: S101
        self._requests = self._process.stdin
        self._replies = self._process.stdout
        os.set_blocking(self._replies.fileno(), False)
        self._ready = False

    def fork(self, request: Mapping[str, Any]) -> int:
        """Fork one rank and return its process id.

        Raises:
            LaunchError: The server has ended.
        """
        self._await_ready()
        rank = request["rank"]
        self._forked.pop(rank, None)
        try:
            self._requests.write((json.dumps({"fork": request}) + "\n").encode())
            self._requests.flush()
        except OSError:
            raise self._ended() from None
        self._wait(lambda: rank in self._forked)
        return self._forked[rank]

    def poll(self) -> None:
        """Take in what the server has said: exit statuses."""
        while True:
            try:
                chunk = os.read(self._replies.fileno(), 65536)
            except BlockingIOError:
                return
            if not chunk:
                raise self._ended()
            *lines, self._pending = (self._pending + chunk).split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def close(self) -> None:
        """End the server and every rank it forked."""
        with contextlib.suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._replies.close()

    def _take(self, reply: Mapping[str, int]) -> None:
        if "ready" in reply:
            self._ready = True
        elif "forked" in reply:
            self._forked[reply["rank"]] = reply["forked"]
        else:
            self.statuses[reply["exited"]] = reply["status"]

    def _await_ready(self) -> None:
        self._wait(lambda: self._ready)

    def _wait(self, done: Any) -> None:
        limit = time.monotonic() + START_S
        with selectors.DefaultSelector() as selector:
            selector.register(self._replies, selectors.EVENT_READ)
            while True:
                self.poll()
                if done():
                    return
                if time.monotonic() > limit:
                    raise LaunchError(
                        f"{self._python} did not import torch within {START_S:.0f} s; see {self._log}"
                    )
                selector.select(0.2)

    def _ended(self) -> LaunchError:
        self._process.wait()
        lines = self._log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        hint = "; install torch there" if "No module named 'torch'" in lines[-1] else f"; see {self._log}"
        return LaunchError(f"{self._python} cannot run ranks: {lines[-1][:300]}{hint}")
