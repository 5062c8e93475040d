"""Forks fresh ranks from a process that has imported torch and never touched a device.

``python -m regress.worker.server [MODULE...]`` imports the modules and then talks as
`regress.worker.children` says.

What the server has imported is frozen: the garbage collector of the ranks does not walk it, which
keeps its memory shared and is alike on both sides.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from regress.record.codec import from_plain
from regress.worker.children import Children

PRELOADED = ("regress.worker.rank", "torch._dynamo")
"""Imported once by the server, and torch with it, instead of by each rank. torch imports the second
of them by itself with the first optimizer, DDP or dispatch mode, which takes it seconds."""


class Server:
    """Forks, and otherwise converses."""

    def __init__(self, requests: int, replies: int) -> None:
        self._children = Children(requests, replies, self._fork_all)

    def serve(self) -> None:
        """Answer until the requests end."""
        self._children.serve()

    def _fork_all(self, requests: list[dict[str, Any]]) -> list[int]:
        return [self._fork(request) for request in requests]

    def _fork(self, request: dict[str, Any]) -> int:
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
        return pid

    def _become_rank(self, request: dict[str, Any], parent: int) -> None:
        os.setpgid(0, 0)
        self._children.leave()
        from regress.worker.process import RankRequest, prepare
        from regress.worker.rank import run_rank

        own = from_plain(RankRequest, request)
        run_rank(own, prepare(own, parent))


def preload(modules: Sequence[str]) -> None:
    """Import torch and what the benchmarks import of it.

    Raises:
        SystemExit: One of them has touched a CUDA device: no child could use it after a fork.
    """
    # without it looking for a device, as an import may, initialises CUDA: no child could use it either
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    for name in PRELOADED:
        importlib.import_module(name)
        _refuse_a_device(name)
    for name in modules:
        with contextlib.suppress(Exception):  # the benchmark that needs it will say so in its rank
            importlib.import_module(name)
        _refuse_a_device(name)


def _refuse_a_device(module: str) -> None:
    import torch

    if torch.cuda.is_initialized():
        sys.exit(f"importing {module} touches a CUDA device, so no rank can be forked after it")


def main(modules: Sequence[str]) -> None:
    """Import torch and more of it, then serve; whatever libraries print goes to standard error."""
    replies = os.dup(1)
    os.dup2(2, 1)
    preload(modules)
    gc.collect()
    gc.freeze()
    Server(os.dup(0), replies).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
