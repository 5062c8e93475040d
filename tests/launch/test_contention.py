from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from regress.launch.contention import CpuUse, cpu_use, foreign_share


def use(at_s: float, host_s: float, ours_s: float) -> CpuUse:
    return CpuUse(at_s=at_s, host_s=host_s, ours_s=ours_s)


@pytest.mark.parametrize(
    ("after", "share"),
    [
        (use(20.0, 112.0, 7.0), 0.25),  # 10 s of 4 cores; busy for 12 s, 2 of them ours
        (use(20.0, 102.0, 7.0), 0.0),
        (use(20.0, 101.9, 7.0), 0.0),  # accounts that do not agree to the tick
        (use(20.0, 145.0, 5.0), 1.0),
        (use(20.0, 100.0, 7.0), None),  # a kernel that keeps no account
        (use(10.0, 112.0, 7.0), None),
        (None, None),
    ],
)
def test_foreign_is_what_is_busy_and_not_ours(after: CpuUse | None, share: float | None) -> None:
    assert foreign_share(use(10.0, 100.0, 5.0), after, cores=4) == share
    assert foreign_share(None, after, cores=4) is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_ours_are_this_process_and_the_ended_children_of_a_server() -> None:
    spin = "import time\nwhile time.process_time() < 0.3: pass"
    server = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}]); "
         "print(flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert server.stdout is not None
    with server:
        before = cpu_use([])
        server.stdout.readline()
        start_s = time.process_time()
        while time.process_time() < start_s + 0.1:
            pass
        after = cpu_use([server.pid])
        server.communicate()

    assert before is not None
    assert after is not None
    assert 0.39 <= after.ours_s - before.ours_s <= 1.5
    assert after.host_s > before.host_s
    assert foreign_share(before, after, os.cpu_count() or 1) is not None


def test_a_server_that_is_gone_leaves_the_account_unknown() -> None:
    assert cpu_use([2**22 + 1]) is None
