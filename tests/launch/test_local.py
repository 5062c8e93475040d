from __future__ import annotations

import dataclasses
import os
import re
import time
from itertools import pairwise
from pathlib import Path

import pytest

from regress.launch.launcher import Measured, Report
from regress.launch.local import LocalLauncher
from regress.launch.paths import LaunchPaths
from regress.launch.topology import deal_here, listed
from regress.record.outcome import OutcomeKind
from regress.record.series import idle_cores
from regress.spec.plan import Steps
from tests.launch.jobs import HEALTHY, Workshop, cpu_s, ends, fault, leave_a_child_behind, runs

pytestmark = pytest.mark.torch


def ignore(side: str, label: str, done: float) -> None:
    """Watch nothing."""


def only(report: Report) -> Measured:
    (measured,) = report.measured
    return measured


def test_both_sides_take_turns(launcher: LocalLauncher, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"base": HEALTHY, "head": HEALTHY})
    job = workshop.job(["subject", "other"], counted=True)
    hands = deal_here(2, "cpu", {})
    seen: list[tuple[str, str]] = []
    shares: list[float] = []

    def watch(side: str, label: str, done: float) -> None:
        seen.append((side, label))
        shares.append(done)

    reports = tuple(launcher.run(job, watch))

    assert [report.side for report in reports] == ["base", "head"]
    assert seen == [(side, label) for label, sides in job.turns for side in sides]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for report in reports:
        assert [measured.benchmark.name for measured in report.measured] == ["subject", "other"]
        assert report.platform is not None
        assert report.environment is not None
        assert report.environment.backend == "gloo"
        assert report.environment.threads == (len(hands[0]) if hands else 1)
        assert report.seconds > 0
        assert report.foreign_cpu is None or 0 <= report.foreign_cpu <= 1
        for measured in report.measured:
            assert measured.outcome.ok
            assert [rank.rank for rank in measured.ranks] == [0, 1]
            for rank in measured.ranks:
                assert rank.losses == (1.0, 2.0)
                assert [len(burst.steps_s) for burst in rank.bursts] == [2, 2, 2]
                for burst in rank.bursts:
                    assert min(burst.steps_s) > 0
                    ((name, phase_s),) = burst.phases_s
                    assert name == "forward"
                    assert len(phase_s) == 2
                    assert all(0 < phase < step for phase, step in zip(phase_s, burst.steps_s, strict=True))
                assert rank.collective_count == 1
                assert rank.collective_bytes == 16
                assert rank.workload.tokens == 8
    assert workshop.ranks()
    assert not any(map(runs, workshop.ranks()))


def test_alone_one_side_after_the_other(launcher: LocalLauncher, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"head": HEALTHY, "base": HEALTHY})
    alive: list[dict[str, bool]] = []

    def watch(side: str, label: str, done: float) -> None:
        alive.append({name: any(map(runs, workshop.ranks(name))) for name in ("base", "head")})

    reports = tuple(launcher.run(workshop.job(alone=True), watch))

    assert [report.side for report in reports] == ["head", "base"]
    assert alive == [{"base": False, "head": True}] * 3 + [{"base": True, "head": False}] * 3
    assert all(only(report).outcome.ok for report in reports)
    assert only(reports[0]).ranks[0].collective_count is None


FAULTS: dict[str, tuple[str, OutcomeKind, int | None, str]] = {
    "raises in a step": (
        fault("step", "raise ValueError('boom\\nand more')"),
        "raised",
        None,
        "^ValueError: boom$",
    ),
    "raises on rank 0": (
        fault("step", "raise ValueError('boom')", rank=0),
        "raised",
        None,
        "^ValueError: boom$",
    ),
    "raises while building": (
        fault("build", "raise ValueError('boom')"),
        "raised",
        None,
        "^ValueError: boom$",
    ),
    "returns no training step": (
        fault("build", "return True", rank=0),
        "raised",
        None,
        "^TypeError: subject returned NoneType, not a TrainingStep$",
    ),
    "import": (
        fault("build", "import nowhere"),
        "raised",
        None,
        "^ModuleNotFoundError: No module named 'nowhere'$",
    ),
    "sys.exit": (fault("step", "sys.exit(3)"), "raised", None, "^SystemExit: 3$"),
    "exit 7": (fault("step", "os._exit(7)"), "exited", 7, "^exited with status 7 before the end$"),
    "exit 0": (fault("step", "os._exit(0)"), "exited", 0, "^exited with status 0 before the end$"),
    "SIGKILL": (fault("step", "os.kill(os.getpid(), 9)"), "died", -9, "^ended by SIGKILL; perhaps"),
    "SIGSEGV": (fault("step", "ctypes.string_at(0)"), "died", -11, "^ended by SIGSEGV$"),
    "MemoryError": (fault("step", "raise MemoryError"), "out_of_memory", None, "^MemoryError$"),
    "allocation": (
        fault("step", "torch.empty(10**15)"),
        "out_of_memory",
        None,
        "can't allocate memory",
    ),
    "NaN while warming up": (
        fault("step", "return torch.tensor(float('nan'))", step=2),
        "diverged",
        None,
        "the loss is nan$",
    ),
    "infinite in a burst": (
        fault("step", "return torch.tensor(float('inf'))", step=5),
        "diverged",
        None,
        "the loss is inf$",
    ),
}
ON_RANK_0 = {"raises on rank 0", "returns no training step"}


@pytest.mark.parametrize("name", FAULTS)
def test_a_failure_is_a_typed_outcome_with_its_culprit(
    launcher: LocalLauncher, tmp_path: Path, name: str
) -> None:
    code, kind, status, message = FAULTS[name]
    workshop = Workshop(tmp_path, {"base": HEALTHY, "head": code})

    base, head = launcher.run(workshop.job(["subject", "other"]), ignore)

    outcome = only(head).outcome
    assert (outcome.kind, outcome.rank, outcome.status) == (kind, 0 if name in ON_RANK_0 else 1, status)
    assert re.search(message, outcome.message)
    assert Path(outcome.log).name == f"rank{outcome.rank}.log"
    assert Path(outcome.log).is_file()
    assert only(base).outcome.ok  # the other side finishes the benchmark at hand, and no other
    assert [len(rank.bursts) for rank in only(base).ranks] == [3, 3]
    assert len(workshop.ranks()) == 4
    assert not any(map(runs, workshop.ranks()))


@pytest.mark.parametrize(
    ("deed", "where"),
    [
        ("os.kill(os.getpid(), signal.SIGSTOP)", "it gives no stack"),
        ("time.sleep(1000)", r"it stands in .*sidecode\.py:\d+ \(fault\)"),
        ("torch.futures.Future().wait()", r"it stands in .*torch/futures/__init__\.py:\d+ \(wait\)"),
    ],
)
def test_a_hang_is_blamed_on_the_rank_that_does_not_wait_for_others(
    launcher: LocalLauncher, tmp_path: Path, deed: str, where: str
) -> None:
    workshop = Workshop(tmp_path, {"base": HEALTHY, "head": fault("step", deed)})
    start_s = time.monotonic()

    base, head = launcher.run(workshop.job(step_s=1.0), ignore)

    outcome = only(head).outcome
    assert (outcome.kind, outcome.rank) == ("hung", 1)
    assert re.search("^no step ended for 1 s; " + where, outcome.message)
    assert only(base).outcome.ok
    assert not any(map(runs, workshop.ranks()))
    assert time.monotonic() - start_s < 20


def test_a_hang_while_building(launcher: LocalLauncher, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"only": fault("build", "time.sleep(1000)", rank=0)})
    job = workshop.job()
    job = dataclasses.replace(job, limits=dataclasses.replace(job.limits, build_s=1.0))

    (report,) = launcher.run(job, ignore)

    outcome = only(report).outcome
    assert (outcome.kind, outcome.rank) == ("hung", 0)
    assert outcome.message.startswith("no answer to 'build' for 1 s; it stands in ")


def test_a_launch_that_cannot_start_costs_one_benchmark(
    launcher: LocalLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks again for the rest comes to an end."""
    workshop = Workshop(tmp_path, {"base": HEALTHY, "head": HEALTHY})
    job = workshop.job(["subject", "other"])
    stacks = LaunchPaths.stacks

    def nowhere(paths: LaunchPaths, rank: int) -> Path:
        bad = paths.folder.name == "head" and rank == 1
        return Path("/nowhere/stacks") if bad else stacks(paths, rank)

    monkeypatch.setattr(LaunchPaths, "stacks", nowhere)

    base, head = launcher.run(job, ignore)

    outcome = only(head).outcome
    assert (outcome.kind, outcome.rank, outcome.status) == ("exited", 1, 1)
    assert "FileNotFoundError" in Path(outcome.log).read_text()
    assert only(head).benchmark.name == "subject"
    assert only(base).benchmark.name == "subject"
    assert only(base).outcome.ok


def test_the_idle_side_burns_no_cpu_and_its_sleep_is_not_measured(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    busy = "import time\ndef fault(where, rank, step): time.sleep(0.2)"
    workshop = Workshop(tmp_path, {"base": busy, "head": busy})
    job = workshop.job(steps=Steps(warmup=1, burst=4, turns=2))
    spent: list[tuple[str, dict[str, float]]] = []

    def watch(side: str, label: str, done: float) -> None:
        spent.append((side, {name: sum(map(cpu_s, workshop.ranks(name))) for name in ("base", "head")}))

    reports = tuple(launcher.run(job, watch))

    assert len(spent) == 4
    for (_, before), (side, after) in pairwise(spent):
        idle = "head" if side == "base" else "base"
        assert after[idle] - before[idle] <= 0.03  # of one second, in ticks of 10 ms
    for report in reports:
        for rank in only(report).ranks:
            assert all(0.2 <= step_s < 0.9 for burst in rank.bursts for step_s in burst.steps_s)


AFFINITY = """
from pathlib import Path

def fault(where, rank, step):
    if step == 6:  # the last: whatever starts threads has started them
        for task in Path("/proc/self/task").iterdir():
            for line in (task / "status").read_text().splitlines():
                if line.startswith("Cpus_allowed_list"):
                    print("cores", line.split()[1])
"""


def test_all_threads_of_a_rank_keep_to_the_cores_that_are_recorded(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    workshop = Workshop(tmp_path, {"base": AFFINITY, "head": AFFINITY})
    job = workshop.job()
    hands = deal_here(2, "cpu", {})

    for report in launcher.run(job, ignore):
        assert only(report).outcome.ok
        assert report.cores == tuple(listed(cpu for core in hand for cpu in core.cpus) for hand in hands)
        assert report.platform is not None
        assert report.platform.cores == len(os.sched_getaffinity(0))  # the host's, not a rank's
        for rank, cores in enumerate(report.cores or (listed(os.sched_getaffinity(0)),) * 2):
            log = (job.scratch / report.side / f"rank{rank}.log").read_text()
            assert set(re.findall(r"^cores (\S+)$", log, re.MULTILINE)) == {cores}


RUDE = """
import os, signal, sys, threading, time

def fault(where, rank, step):
    if where == "build":
        print("printed by", rank)
        os.system("echo from a child")
        print("to stderr", file=sys.stderr)
        assert sys.stdin.read() == ""
        os.chdir("/")
        for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        threading.Thread(target=time.sleep, args=(1000,)).start()
        child = os.fork()
        if child == 0:
            time.sleep(1000)
        print("child", child)
"""


def test_what_a_benchmark_does_to_its_process_stays_there(
    launcher: LocalLauncher, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    workshop = Workshop(tmp_path, {"only": RUDE})
    job = workshop.job()

    (report,) = launcher.run(job, ignore)

    assert only(report).outcome.ok
    assert capfd.readouterr() == ("", "")
    log = (job.scratch / "only" / "rank1.log").read_text()
    assert "printed by 1" in log
    assert "from a child" in log
    assert "to stderr" in log
    assert not any(map(runs, workshop.ranks()))
    children = [int(pid) for pid in re.findall(r"^child (\d+)$", log, re.MULTILINE)]
    assert len(children) == 1
    assert all(map(ends, children))


def test_what_a_rank_has_started_ends_with_it(launcher: LocalLauncher, tmp_path: Path) -> None:
    leave_a_child_behind(launcher, tmp_path)


def test_a_relative_path_leads_into_the_launch_s_own_folder(launcher: LocalLauncher, tmp_path: Path) -> None:
    writes = "def fault(where, rank, step): open(f'left-by-{rank}', 'w').close()"
    workshop = Workshop(tmp_path, {"only": writes})
    job = workshop.job()

    tuple(launcher.run(job, ignore))

    assert sorted(path.name for path in (job.scratch / "only" / "work").iterdir()) == [
        "left-by-0",
        "left-by-1",
    ]


SPINNING = """
import threading

def spin():
    while True:
        pass

def fault(where, rank, step):
    if where == "build" and rank == 1:
        threading.Thread(target=spin, daemon=True).start()
"""


def test_a_side_that_does_not_sleep_while_the_other_has_its_turn_is_seen(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    workshop = Workshop(tmp_path, {"base": HEALTHY, "head": SPINNING})
    base, head = launcher.run(workshop.job(steps=Steps(warmup=2, burst=2, turns=10)), ignore)
    asleep, awake = (idle_cores(only(report).ranks) for report in (base, head))
    assert asleep is not None
    assert awake is not None
    assert awake > 0.2  # of a core that may be shared with others
    assert asleep < awake / 2
