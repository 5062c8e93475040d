"""One rank: a fresh process that joins its process group and does what it is told.

Commands come as JSON lines over a Unix socket, one at a time; each is answered by one line.
Between commands the rank sleeps in `recv`: it burns no CPU and runs no kernel.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from regress.record.calibration import Slowdown
from regress.record.codec import encode, from_plain, plain
from regress.record.series import SCHEMA
from regress.spec.benchmark import Benchmark
from regress.worker.canary import VERSION, sing
from regress.worker.catalog import load, mount
from regress.worker.cores import Share
from regress.worker.failure import kind_of, line_of
from regress.worker.loop import Place, Session
from regress.worker.probes import probe_environment, probe_platform
from regress.worker.process import RankRequest
from regress.worker.recorder import watch_collectives

FAILED = 70
"""Exit status of a rank that told why it fails (EX_SOFTWARE)."""


def run_rank(request: RankRequest, share: Share) -> None:
    """Join, obey, leave. Does not return: the process ends with a status, whatever still runs in it.

    Args:
        request: Of the rank.
        share: What it has of the cores, as `prepare` made it.
    """
    watch_collectives(Path(request.collectives))
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(request.control)
    channel = connection.makefile("rw", encoding="utf-8")

    def answer(**fields: Any) -> None:
        channel.write(json.dumps(fields) + "\n")
        channel.flush()

    answer(hello=request.rank, torch=str(Path(torch.__file__).parent))
    status = 0
    try:
        _obey(_join(request, share, answer), channel, answer)
    except BaseException as error:
        failed_s = time.monotonic()
        traceback.print_exc()
        answer(failed=kind_of(error), message=line_of(error), at_s=failed_s)
        status = FAILED
    with contextlib.suppress(OSError, ValueError):  # a benchmark may have closed them
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _join(request: RankRequest, share: Share, answer: Callable[..., None]) -> Place:
    sys.path[:0] = request.path
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(share.threads)
    if request.device == "cuda":
        device = torch.device("cuda", request.rank)
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    backend = "nccl" if device.type == "cuda" else "gloo"
    timeout = timedelta(seconds=request.timeout_s)
    dist.init_process_group(
        backend,
        timeout=timeout,
        device_id=device if device.type == "cuda" else None,
        **_meeting(request, timeout),
    )
    mount(Path(request.benchmarks))
    with Path(request.heartbeat).open("r+b") as file:
        beats = memoryview(mmap.mmap(file.fileno(), 8)).cast("q")

    def beat() -> None:
        beats[0] += 1

    answer(
        joined=request.rank,
        environment=plain(probe_environment(backend)),
        platform=plain(replace(probe_platform(device, request.world_size), cores=share.usable)),
        cores=share.pinned,
    )
    return Place(
        rank=request.rank, world_size=request.world_size, device=device, beat=beat, path=request.path
    )


def _meeting(request: RankRequest, timeout: timedelta) -> dict[str, Any]:
    """How the ranks find each other: by a file of the launch, or by the store of torch's agent."""
    if request.rendezvous is None:
        return {"init_method": "env://"}
    os.environ |= {
        "RANK": str(request.rank),
        "LOCAL_RANK": str(request.rank),
        "WORLD_SIZE": str(request.world_size),
        "LOCAL_WORLD_SIZE": str(request.world_size),
    }
    store = dist.FileStore(request.rendezvous, request.world_size)  # type: ignore[attr-defined]
    store.set_timeout(timeout)
    return {"store": store, "rank": request.rank, "world_size": request.world_size}


def _obey(place: Place, channel: Any, answer: Callable[..., None]) -> None:
    session: Session | None = None
    for line in channel:
        command = json.loads(line)
        told: dict[str, Any] = {}
        match command.pop("do"):
            case "build":
                benchmark = from_plain(Benchmark, command["benchmark"])
                declaration = load(benchmark.name, command["file"])
                session = Session.build(place, declaration, benchmark, command["seed"])
            case "warm_up":
                steps_s = _open(session).warm_up(command["steps"], keep_losses=command["losses"])
                told = {"steps_s": steps_s}
            case "plant":
                _open(session).plant(from_plain(Slowdown, command["slowdown"]))
            case "burst":
                _open(session).burst(command["steps"])
            case "count":
                _open(session).count()
            case "finish":
                _write(Path(command["to"][place.rank]), encode(SCHEMA, _open(session).result()))
                _open(session).close()
                session = None
            case "sing":
                told = {"version": VERSION, "reading": plain(sing(place.device))}
            case "leave":
                dist.destroy_process_group()
        answer(done=True, **told)


def _open(session: Session | None) -> Session:
    if session is None:
        raise RuntimeError("no benchmark was built")
    return session


def _write(path: Path, content: bytes) -> None:
    aside = path.with_suffix(".part")
    aside.write_bytes(content)
    aside.rename(path)
