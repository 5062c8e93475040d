"""Has torch's own elastic agent start the ranks, as ``torchrun`` does.

``python -m regress.worker.agent`` talks as `regress.worker.children` says, and starts ranks once.

The agent makes the rendezvous, its store and the variables, and starts the processes. It is not
asked how they fare: it names the wrong rank for a hang, a stopped process and an early ``exit(0)``,
and when one rank fails it terminates the others before they can say what they saw. So the ranks are
watched, blamed and ended here and in the launcher, as those of a fork server are; and nothing
looks at processes while something is timed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from torch.distributed.elastic.agent.server.api import WorkerGroup, WorkerSpec
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler

from regress.worker.children import Children

NEVER_S = 1e8
"""After how long the agent looks how its ranks fare."""


class Agent(LocalElasticAgent):
    """Tells the process ids of the ranks it has started, by rank."""

    def __init__(self, spec: WorkerSpec, logs: DefaultLogsSpecs, tell: Callable[[list[int]], None]) -> None:
        super().__init__(spec, logs)
        self._tell = tell

    def _start_workers(self, worker_group: WorkerGroup) -> dict[int, Any]:
        pids: dict[int, Any] = super()._start_workers(worker_group)
        self._tell([pids[rank] for rank in sorted(pids)])
        return pids


def run_agent(requests: list[dict[str, Any]], tell: Callable[[list[int]], None]) -> None:
    """Start the ranks and sleep.

    Args:
        requests: One `RankRequest` per rank.
        tell: Told the process ids.
    """
    folder = Path(requests[0]["log"]).parent  # the launch's own
    file = folder / "ranks.json"
    file.write_text(json.dumps(requests))
    rendezvous = RendezvousParameters(
        backend="c10d",
        endpoint="localhost:0",
        run_id=f"regress-{os.getpid()}",
        min_nodes=1,
        max_nodes=1,
        local_addr="localhost",
    )
    spec = WorkerSpec(
        role="default",
        local_world_size=len(requests),
        rdzv_handler=get_rendezvous_handler(rendezvous),
        entrypoint=sys.executable,
        args=("-m", "regress.worker.process", str(file), str(os.getpid())),
        max_restarts=0,
        monitor_interval=NEVER_S,
        local_addr="localhost",
    )
    Agent(spec, DefaultLogsSpecs(log_dir=str(folder / "agent")), tell).run()


def main() -> None:
    """Converse in a thread: the agent wants the main one, which alone may handle signals."""
    replies = os.dup(1)
    os.dup2(2, 1)
    asked: SimpleQueue[list[dict[str, Any]]] = SimpleQueue()
    started: SimpleQueue[list[int]] = SimpleQueue()

    def start(requests: list[dict[str, Any]]) -> list[int]:
        asked.put(requests)
        return started.get()

    children = Children(os.dup(0), replies, start)

    def converse() -> None:
        try:
            children.serve()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    threading.Thread(target=converse, daemon=True).start()
    run_agent(asked.get(), started.put)


if __name__ == "__main__":
    main()
