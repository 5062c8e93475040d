"""Forks fresh ranks from a process that has imported torch and never touched a device.

``python -m regress.worker.server [MODULE...]`` imports the modules, says ``{"ready": true}`` and
then reads JSON lines from standard input: ``{"fork": RankRequest}`` is answered by
``{"forked": pid}``; ``{"kill": pid}`` ends a rank. When a rank has ended, by itself or not, that
is ``{"exited": pid, "status": s}`` (minus the signal's number when one ended it). What a rank has
started ends with it. When standard input closes, the server ends its ranks and itself.

What the server has imported is frozen: the garbage collector of the ranks does not walk it, which
keeps its memory shared and is alike on both sides.
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

PRELOADED = ("regress.worker.rank", "torch._dynamo")
"""Imported once by the server, and torch with it, instead of by each rank. torch imports the second
of them by itself with the first optimizer, DDP or dispatch mode, which takes it seconds."""

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
        os.write(self._replies, b"\n")  # ends whatever was printed while the interpreter started
        self._say(ready=True)
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
                        self._end()
                        return
                    *lines, pending = (pending + chunk).split(b"\n")
                    for line in lines:
                        self._obey(json.loads(line))

    def _obey(self, request: dict[str, Any]) -> None:
        if "kill" in request:
            self._kill(request["kill"])
        else:
            self._fork(request["fork"])

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
        with contextlib.suppress(OSError):  # the child does it too: whoever comes first
            os.setpgid(pid, pid)
        self._children.add(pid)
        self._say(forked=pid)

    def _become_rank(self, request: dict[str, Any], parent: int) -> None:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        with contextlib.suppress(OSError, AttributeError):  # no such call outside Linux
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        os.close(self._requests)
        os.close(self._replies)
        from regress.worker.rank import RankRequest, run_rank

        run_rank(from_plain(RankRequest, request))

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


def main(modules: Sequence[str]) -> None:
    """Import torch and more of it, then serve; whatever libraries print goes to standard error."""
    replies = os.dup(1)
    os.dup2(2, 1)
    for name in PRELOADED:
        importlib.import_module(name)
    for name in modules:
        with contextlib.suppress(Exception):  # the benchmark that needs it will say so in its rank
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    Server(os.dup(0), replies).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
