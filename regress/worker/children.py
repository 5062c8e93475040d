"""The ranks' parent in conversation with the launcher, whichever way it starts them.

It says ``{"ready": true}`` and then reads JSON lines: ``{"start": [RankRequest, ...]}`` is answered by
``{"started": [pid, ...]}``; ``{"kill": pid}`` ends a rank. When a rank has ended, by itself or not,
that is ``{"exited": pid, "status": s}`` (minus the signal's number when one ended it). What a rank has
started ends with it. When the requests end, all ranks do.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
from collections.abc import Callable
from typing import Any


class Children:
    """The ranks, each in a process group of its own, and the two ends of the conversation."""

    def __init__(
        self, requests: int, replies: int, start: Callable[[list[dict[str, Any]]], list[int]]
    ) -> None:
        """Call it in the main thread, which alone may say where signals go.

        Args:
            requests: Descriptor that is read.
            replies: Descriptor that is written.
            start: Starts one rank per request and returns their process ids.
        """
        self._requests = requests
        self._replies = replies
        self._start = start
        self._children: set[int] = set()
        self._wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Answer until the requests end."""
        os.write(self._replies, b"\n")  # ends whatever was printed while the interpreter started
        self._say(ready=True)
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fd == self._wake:
                        os.read(self._wake, 4096)
                        self._reap()
                        continue
                    chunk = os.read(self._requests, 65536)
                    if not chunk:
                        self._end()
                        return
                    *lines, pending = (pending + chunk).split(b"\n")
                    for line in lines:
                        self._obey(json.loads(line))

    def leave(self) -> None:
        """Close the conversation in a child that was forked."""
        signal.set_wakeup_fd(-1)
        os.close(self._requests)
        os.close(self._replies)

    def _obey(self, request: dict[str, Any]) -> None:
        if "kill" in request:
            self._kill(request["kill"])
            return
        pids = self._start(request["start"])
        self._children.update(pids)
        self._say(started=pids)
        self._reap()  # of one that ended at once, the signal may have passed already

    def _reap(self) -> None:
        """Take leave of ranks that have ended.

        Until its status is taken, a rank's number belongs to nobody else: its group can be killed.
        """
        for pid in sorted(self._children):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                self._kill(pid)
                _, status = os.waitpid(pid, 0)
                self._children.discard(pid)
                self._say(exited=pid, status=os.waitstatus_to_exitcode(status))

    def _kill(self, pid: int) -> None:
        """Kill a rank that was not taken leave of, and what it started."""
        if pid in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def _end(self) -> None:
        for pid in self._children:
            self._kill(pid)
        for pid in self._children:
            os.waitpid(pid, 0)

    def _say(self, **fields: Any) -> None:
        os.write(self._replies, (json.dumps(fields) + "\n").encode())
