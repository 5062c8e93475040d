"""Forks fresh ranks from a process that has imported torch and never touched a device.

``python -m regress.worker.server [MODULE...]`` imports the modules, then reads JSON lines
from standard input, ``{"fork": RankRequest}``, and writes ``{"forked": pid, "rank": r}`` and,
when a rank has ended, ``{"exited": pid, "status": s}`` (minus the signal's number when one
ended it). When standard input closes, the server kills what still runs and ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from regress.record.codec import from_plain

RANK = "regress.worker.rank"
"""Imported once by the server, and torch with it, instead of by each rank."""

PR_SET_PDEATHSIG = 1


class Server:
    """The children and the two ends of the conversation."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests = requests
        self._replies = replies
        self._children: set[int] = set()

    def serve(self) -> None:
        """Answer until standard input closes."""
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._say(ready=os.getpid())
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fd == wake:
                        os.read(wake, 4096)
                        self._reap()
                        continue
                    chunk = os.read(self._requests, 65536)
                    if not chunk:
                        self._kill()
                        return
                    *lines, pending = (pending + chunk).split(b"\n")
                    for line in lines:
                        self._fork(json.loads(line)["fork"])

    def _fork(self, request: dict[str, Any]) -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                self._become_rank(request, parent)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        self._children.add(pid)
        self._say(forked=pid, rank=request["rank"])

    def _become_rank(self, request: dict[str, Any], parent: int) -> None:
        signal.set_wakeup_fd(-1)
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        os.close(self._requests)
        os.close(self._replies)
        from regress.worker.rank import RankRequest, run_rank

        run_rank(from_plain(RankRequest, request))

    def _reap(self) -> None:
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._children.discard(pid)
            self._say(exited=pid, status=os.waitstatus_to_exitcode(status))

    def _kill(self) -> None:
        for pid in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _say(self, **fields: Any) -> None:
        os.write(self._replies, (json.dumps(fields) + "\n").encode())


def main(modules: Sequence[str]) -> None:
    """Import torch and more of it, then serve; whatever libraries print goes to standard error."""
    replies = os.dup(1)
    os.dup2(2, 1)
    importlib.import_module(RANK)
    for name in modules:
        with contextlib.suppress(ImportError):  # the benchmark that needs it will say so in its rank
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    Server(os.dup(0), replies).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
