"""`regress` with launches that follow a script; the first to reach a block stays there: to be interrupted.

usage: python slow_compare.py FILE ARGUMENT...      FILE appears when the block is reached
"""

from __future__ import annotations

import signal
import sys
import time
from functools import partial
from pathlib import Path

import regress.flows.compare
from regress.cli.main import main
from regress.launch.launcher import Job
from regress.record.outcome import Outcome
from regress.record.series import RankSeries
from regress.spec.benchmark import Benchmark
from tests.flows.project import EQUAL, Fakes

LAST = 2
"""The block at which the first one stays."""


def stuck(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
    if job.block == LAST and not Path(sys.argv[1]).exists():
        Path(sys.argv[1]).touch()
        time.sleep(60)
    return EQUAL(job, side, benchmark)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    flow = regress.flows.compare.compare
    regress.flows.compare.compare = partial(flow, machinery=Fakes(stuck).machinery)
    main(sys.argv[2:])
