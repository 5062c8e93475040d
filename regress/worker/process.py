"""What a rank's process owns before torch comes into it: its request, its end, its log, its cores.

``python -m regress.worker.process FILE PARENT`` is a rank that torch's agent has started: it finds
its request in the file, by the number in ``RANK``.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from regress.record.codec import from_plain
from regress.worker.cores import Share, take_cores

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, kw_only=True)
class RankRequest:
    """Everything a rank needs to know to join its launch."""

    rank: int
    """In the process group."""

    world_size: int
    """Ranks in it, all on this host."""

    device: str
    """``cpu`` or ``cuda``; with CUDA the rank takes the device of its own number."""

    path: tuple[str, ...]
    """Folders of the side's code, first on the import path."""

    benchmarks: str
    """Folder of the benchmark files."""

    work: str
    """Working directory, shared by the ranks of the launch and empty at its start."""

    rendezvous: str | None
    """File that does not exist yet: where the ranks of the launch find each other. ``None``: as the
    variables of torch's agent say."""

    caches: str
    """Folder of what torch compiles; the ranks of a launch share it."""

    cores: tuple[tuple[int, ...], ...]
    """The CPUs of each physical core that the rank is to keep to; empty: of all."""

    control: str
    """Unix socket that commands come from."""

    log: str
    """File that takes standard output and standard error."""

    stacks: str
    """File that takes the stacks of all threads on SIGUSR1."""

    collectives: str
    """File that takes how far the rank came with the collectives of each process group, on SIGUSR1."""

    heartbeat: str
    """File of 8 bytes: a number that grows whenever a step ends."""

    timeout_s: float
    """Longest time a collective may wait; longer than any limit of whoever watches."""


def prepare(request: RankRequest, parent: int) -> Share:
    """Make this process the rank's own, before it imports torch or starts a thread.

    Args:
        request: Of the rank.
        parent: Process whose end ends this one.

    Returns:
        Its share of the cores.
    """
    with contextlib.suppress(OSError, AttributeError):  # no such call outside Linux
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    _redirect(request)
    caches = Path(request.caches)
    os.environ |= {
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "TRITON_CACHE_DIR": str(caches / "triton"),
    }
    return take_cores(request.cores, request.world_size)


def _redirect(request: RankRequest) -> None:
    """Own log, own stacks, own working directory, and no inheritance of the parent's signals."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = os.open(request.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin, sys.stdout, sys.stderr = (
        open(0, closefd=False),  # noqa: SIM115 - they live as long as the process
        open(1, "w", buffering=1, closefd=False),  # noqa: SIM115
        open(2, "w", buffering=1, closefd=False),  # noqa: SIM115
    )
    stacks = Path(request.stacks).open("w")  # noqa: SIM115 - open for the signal handler
    signal.signal(signal.SIGUSR1, lambda *_: None)  # goes on to the recorder's pipe: see `chain`
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True, chain=True)
    faulthandler.enable(file=sys.stderr)
    os.chdir(request.work)


def main(file: str, parent: str) -> None:
    """Become the rank that the agent's variables name."""
    requests = json.loads(Path(file).read_text())
    request = from_plain(RankRequest, requests[int(os.environ["RANK"])])
    share = prepare(request, int(parent))

    from regress.worker.rank import run_rank  # imports torch, which is to find its cores

    run_rank(request, share)


if __name__ == "__main__":
    main(*sys.argv[1:])
