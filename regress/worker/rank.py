"""One rank: a fresh process that joins its process group and does what it is told.

Commands come as JSON lines over a Unix socket, one at a time; each is answered by one line.
Between commands the rank sleeps in `recv`: it burns no CPU and runs no kernel.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import mmap
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from regress.record.codec import encode, from_plain, plain
from regress.record.series import SCHEMA
from regress.spec.benchmark import Benchmark
from regress.worker.catalog import load, mount
from regress.worker.cores import usable_cores
from regress.worker.failure import kind_of, line_of
from regress.worker.loop import Place, Session
from regress.worker.probes import probe_environment, probe_platform

FAILED = 70
"""Exit status of a rank that told why it fails (EX_SOFTWARE)."""


@dataclass(frozen=True, kw_only=True)
class RankRequest:
    """Everything a rank needs to know to join its launch."""

    rank: int
    """In the process group."""

    world_size: int
    """Ranks in it."""

    device: str
    """``cpu`` or ``cuda``; with CUDA the rank takes the device of its own number."""

    path: tuple[str, ...]
    """Folders of the side's code, first on the import path."""

    benchmarks: str
    """Folder of the benchmark files."""

    work: str
    """Working directory, shared by the ranks of the launch and empty at its start."""

    rendezvous: str
    """File that does not exist yet: where the ranks of the launch find each other."""

    control: str
    """Unix socket that commands come from."""

    log: str
    """File that takes standard output and standard error."""

    stacks: str
    """File that takes the stacks of all threads on SIGUSR1."""

    heartbeat: str
    """File of 8 bytes: the number of steps that have ended."""

    timeout_s: float
    """Longest time a collective may wait; longer than any limit of whoever watches."""


def run_rank(request: RankRequest) -> None:
    """Join, obey, leave. Does not return: the process ends with a status, whatever still runs in it."""
    _redirect(request)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(request.control)
    channel = connection.makefile("rw", encoding="utf-8")

    def answer(**fields: Any) -> None:
        channel.write(json.dumps(fields) + "\n")
        channel.flush()

    answer(hello=request.rank, torch=str(Path(torch.__file__).parent))
    status = 0
    try:
        _obey(_join(request, answer), channel, answer)
    except BaseException as error:
        failed_s = time.monotonic()
        traceback.print_exc()
        answer(failed=kind_of(error), message=line_of(error), at_s=failed_s)
        status = FAILED
    with contextlib.suppress(OSError, ValueError):  # a benchmark may have closed them
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _redirect(request: RankRequest) -> None:
    """Own log, own stacks, own working directory, and no inheritance of the server's signals."""
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
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
    faulthandler.enable(file=sys.stderr)
    os.chdir(request.work)


def _join(request: RankRequest, answer: Callable[..., None]) -> Place:
    os.environ |= {
        "RANK": str(request.rank),
        "LOCAL_RANK": str(request.rank),
        "WORLD_SIZE": str(request.world_size),
        "LOCAL_WORLD_SIZE": str(request.world_size),
    }
    sys.path[:0] = request.path
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, usable_cores() // request.world_size))
    if request.device == "cuda":
        device = torch.device("cuda", request.rank)
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    backend = "nccl" if device.type == "cuda" else "gloo"
    timeout = timedelta(seconds=request.timeout_s)
    store = dist.FileStore(request.rendezvous, request.world_size)  # type: ignore[attr-defined]
    store.set_timeout(timeout)
    dist.init_process_group(
        backend,
        store=store,
        rank=request.rank,
        world_size=request.world_size,
        timeout=timeout,
        device_id=device if device.type == "cuda" else None,
    )
    mount(Path(request.benchmarks))
    with Path(request.heartbeat).open("r+b") as file:
        beats = memoryview(mmap.mmap(file.fileno(), 8)).cast("q")

    def beat() -> None:
        beats[0] += 1

    answer(
        joined=request.rank,
        environment=plain(probe_environment(backend)),
        platform=plain(probe_platform(device, request.world_size)),
    )
    return Place(
        rank=request.rank, world_size=request.world_size, device=device, beat=beat, path=request.path
    )


def _obey(place: Place, channel: Any, answer: Callable[..., None]) -> None:
    session: Session | None = None
    for line in channel:
        command = json.loads(line)
        match command.pop("do"):
            case "build":
                benchmark = from_plain(Benchmark, command["benchmark"])
                declaration = load(benchmark.name, command["file"])
                session = Session.build(place, declaration, benchmark, command["seed"])
            case "warm_up":
                _open(session).warm_up(command["steps"])
            case "burst":
                _open(session).burst(command["steps"])
            case "count":
                _open(session).count()
            case "finish":
                _write(Path(command["to"][place.rank]), encode(SCHEMA, _open(session).result()))
                _open(session).close()
                session = None
            case "leave":
                dist.destroy_process_group()
        answer(done=True)


def _open(session: Session | None) -> Session:
    if session is None:
        raise RuntimeError("no benchmark was built")
    return session


def _write(path: Path, content: bytes) -> None:
    aside = path.with_suffix(".part")
    aside.write_bytes(content)
    aside.rename(path)
