"""A run is read whole or not at all, whoever writes beside it and whenever a writer dies."""

from __future__ import annotations

import dataclasses
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from regress.errors import RequestError, StoreError
from regress.record.codec import encode
from regress.record.outcome import Outcome
from regress.record.run import Launch, Manifest, Measurement
from regress.record.sample import Sample
from regress.store.runs import LAUNCH, find_run, list_runs, read_run
from regress.store.writer import LOG_BYTES, create_run

TraceFunction = Callable[[FrameType, str, Any], Any]

MANIFEST = Manifest(
    run="0badcafe",
    comparison="c0ffee00",
    suite="commit",
    side="HEAD~1",
    role="base",
    commit="0123456789abcdef0123456789abcdef01234567",
    subject="Speed \x1b[31m up",
    benchmarks_from="benchmarks",
    started="2024-01-31T11:12:13+01:00",
    plan="{}",
    regress="0.1.0",
)
FOLDER = "20240131T101213Z-0123456789ab-0badcafe"


def launch(block: int = 0, world_size: int = 2, attempt: int = 0, run: str = MANIFEST.run) -> Launch:
    return Launch(
        run=run,
        block=block,
        attempt=attempt,
        world_size=world_size,
        alone=block == 0,
        started="2024-01-31T10:12:14+00:00",
        seconds=1.5,
        platform=None,
        environment=None,
        measurements=(
            Measurement(
                benchmark="ddp[size=tiny,world=2]",
                definition="d1",
                outcome=Outcome(kind="ok"),
                samples=(Sample(metric="step_s", value=0.25, steps=(0.2, 0.25, 0.3)),),
            ),
        ),
    )


def test_a_run_comes_back_as_it_was_written(tmp_path: Path) -> None:
    writer = create_run(tmp_path, MANIFEST)
    assert writer.folder == tmp_path / "commit" / FOLDER
    launches = [launch(10), launch(2, 4), launch(2), launch(2, 2, 1)]
    for one in launches:
        writer.add(one)
    opened = read_run(writer.folder)
    assert (opened.manifest, opened.complete, opened.folder) == (MANIFEST, False, str(writer.folder))
    assert opened.launches == (launches[2], launches[3], launches[1], launches[0])
    writer.close()
    assert read_run(writer.folder) == dataclasses.replace(opened, complete=True)
    assert sorted(path.name for path in writer.folder.iterdir()) == [
        "done.json",
        "launch-10-w2-0.json",
        "launch-2-w2-0.json",
        "launch-2-w2-1.json",
        "launch-2-w4-0.json",
        "plan.json",
    ]


def test_a_run_without_a_commit_says_so_in_its_name(tmp_path: Path) -> None:
    writer = create_run(tmp_path, dataclasses.replace(MANIFEST, commit=None))
    assert writer.folder.name == "20240131T101213Z-none-0badcafe"
    assert list_runs(tmp_path) == (writer.folder,)


def test_nothing_is_replaced(tmp_path: Path) -> None:
    writer = create_run(tmp_path, MANIFEST)
    writer.add(launch())
    before = (writer.folder / "launch-0-w2-0.json").read_bytes()
    other = dataclasses.replace(launch(), seconds=9.0)
    with pytest.raises(StoreError, match=r"launch-0-w2-0\.json: exists already, and stored files are never"):
        writer.add(other)
    assert (writer.folder / "launch-0-w2-0.json").read_bytes() == before
    with pytest.raises(StoreError, match=f"{FOLDER}: exists already, and stored runs are never replaced"):
        create_run(tmp_path, MANIFEST)
    writer.close()
    acts: list[Callable[[], object]] = [
        writer.close,
        lambda: writer.add(launch(1)),
        lambda: writer.keep_log(tmp_path, "x.log"),
    ]
    for act in acts:
        with pytest.raises(StoreError, match=r": the run is closed, and closed runs never change$"):
            act()
    assert read_run(writer.folder).launches == (launch(),)
    assert not list(tmp_path.rglob(".aside*"))


@pytest.mark.parametrize("change", [{"run": "11111111"}, {"block": -1}, {"world_size": 10**10}])
def test_a_launch_of_another_run_or_of_no_place_is_not_taken(tmp_path: Path, change: dict[str, int]) -> None:
    writer = create_run(tmp_path, MANIFEST)
    with pytest.raises(StoreError, match=r"has no place here$"):
        writer.add(launch(**change))  # type: ignore[arg-type]  # one field of any type
    assert read_run(writer.folder).launches == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("suite", "../elsewhere"),
        ("suite", ".hidden"),
        ("suite", "a/b"),
        ("suite", "x\n"),
        ("suite", ""),
        ("run", "../../xx"),
        ("run", "0BADCAFE"),
        ("commit", "HEAD"),
        ("commit", "../" * 14),
        ("started", "yesterday"),
        ("started", "2024-01-31T11:12:13"),
    ],
)
def test_names_from_outside_lead_nowhere(tmp_path: Path, field: str, value: str) -> None:
    store = tmp_path / "store"
    with pytest.raises(StoreError) as refused:
        create_run(store, dataclasses.replace(MANIFEST, **{field: value}))  # type: ignore[arg-type]
    assert str(refused.value).isprintable()
    assert list(tmp_path.iterdir()) == []


def damaged(folder: Path) -> tuple[Path, str]:
    path = folder / "launch-0-w2-0.json"
    path.write_bytes(path.read_bytes().replace(b"0.25", b"0.15"))
    return path, "damaged: its checksum does not match its content"


def cut(folder: Path) -> tuple[Path, str]:
    path = folder / "launch-0-w2-0.json"
    path.write_bytes(path.read_bytes()[:50])
    return path, "not JSON: Unterminated string starting at: line 1 column 42 (char 41)"


def of_another_version(folder: Path) -> tuple[Path, str]:
    path = folder / "plan.json"
    path.write_bytes(encode("regress.manifest/9", MANIFEST))
    return path, "it is a 'regress.manifest/9', and 'regress.manifest/1' was expected"


def under_another_name(folder: Path) -> tuple[Path, str]:
    path = folder / "launch-7-w2-0.json"
    (folder / "launch-0-w2-0.json").rename(path)
    return path, "it is a launch of another run or of another name"


def of_another_run(folder: Path) -> tuple[Path, str]:
    path = folder / "launch-7-w2-0.json"
    path.write_bytes(encode(LAUNCH, launch(7, run="11111111")))
    return path, "it is a launch of another run or of another name"


def without_a_manifest(folder: Path) -> tuple[Path, str]:
    (folder / "plan.json").unlink()
    return folder, "not a run, it has no plan.json; name the folder of a run"


def with_a_foreign_file(folder: Path) -> tuple[Path, str]:
    path = folder / "launch-0.json"
    path.write_text("{}")
    return path, "no file of a run; move it away"


REPAIR = "; move the run's folder out of the store and measure again"


@pytest.mark.parametrize(
    "harm",
    [
        damaged,
        cut,
        of_another_version,
        under_another_name,
        of_another_run,
        without_a_manifest,
        with_a_foreign_file,
    ],
)
def test_what_is_damaged_or_foreign_is_named(
    tmp_path: Path, harm: Callable[[Path], tuple[Path, str]]
) -> None:
    writer = create_run(tmp_path, MANIFEST)
    writer.add(launch())
    path, why = harm(writer.folder)
    with pytest.raises(StoreError) as refused:
        read_run(writer.folder)
    assert str(refused.value).removesuffix(REPAIR) == f"{path}: {why}"


def exchanged(folder: Path) -> str:
    (folder / "launch-0-w2-0.json").write_bytes(encode(LAUNCH, dataclasses.replace(launch(), seconds=9.0)))
    return "launch-0-w2-0.json: it is not the file that done.json lists"


def lost(folder: Path) -> str:
    (folder / "launch-0-w2-0.json").unlink()
    return "done.json: it lists 'launch-0-w2-0.json', which is missing"


def added(folder: Path) -> str:
    (folder / "launch-1-w2-0.json").write_bytes(encode(LAUNCH, launch(1)))
    return "launch-1-w2-0.json: it came after the run was closed"


@pytest.mark.parametrize("harm", [exchanged, lost, added])
def test_a_closed_run_is_what_it_was_closed_with(tmp_path: Path, harm: Callable[[Path], str]) -> None:
    writer = create_run(tmp_path, MANIFEST)
    writer.add(launch())
    writer.close()
    line = f"{writer.folder}/{harm(writer.folder)}{REPAIR}"
    with pytest.raises(StoreError) as refused:
        read_run(writer.folder)
    assert str(refused.value) == line


def test_files_of_writers_at_work_are_not_read(tmp_path: Path) -> None:
    writer = create_run(tmp_path, MANIFEST)
    (writer.folder / ".aside-0000").write_text("half")
    (tmp_path / "commit" / ".aside-1111").mkdir()
    (tmp_path / "commit" / "notes").mkdir()
    (tmp_path / "README").touch()
    assert read_run(writer.folder).launches == ()
    assert list_runs(tmp_path) == (writer.folder,)


def test_runs_are_listed_oldest_first_and_found_by_identity(tmp_path: Path) -> None:
    def begin(run: str, suite: str, day: int) -> Path:
        started = f"2024-01-{day}T00:00:00+00:00"
        return create_run(
            tmp_path, dataclasses.replace(MANIFEST, run=run, suite=suite, started=started)
        ).folder

    assert list_runs(tmp_path / "none") == ()
    young, old, other = begin("11111111", "a", 20), begin("22222222", "a", 10), begin("33333333", "b", 15)
    assert list_runs(tmp_path) == (old, other, young)
    assert list_runs(tmp_path, "a") == (old, young)
    assert list_runs(tmp_path, "../a") == ()
    assert find_run(tmp_path, "33333333") == other
    for absent in ("44444444", "3333333", "", "*", "\x1b[31m"):
        with pytest.raises(RequestError) as refused:
            find_run(tmp_path, absent)
        assert str(refused.value) == f"no run {absent!r} in {tmp_path}"
    twin = begin("33333333", "c", 16)
    with pytest.raises(StoreError) as doubled:
        find_run(tmp_path, "33333333")
    assert str(doubled.value) == f"run 33333333 is there twice, as {other} and {twin}; move one away"


def test_a_fresh_store_in_its_usual_place_is_kept_out_of_git(tmp_path: Path) -> None:
    store = tmp_path / ".regress" / "store"
    create_run(store, MANIFEST)
    assert (store / ".gitignore").read_text() == "*\n"
    (store / ".gitignore").unlink()
    create_run(store, dataclasses.replace(MANIFEST, run="11111111"))
    assert not (store / ".gitignore").exists(), "whoever removed it meant it"
    create_run(tmp_path / "elsewhere", MANIFEST)
    assert not (tmp_path / "elsewhere" / ".gitignore").exists()


def test_logs_are_kept_in_the_run(tmp_path: Path) -> None:
    writer = create_run(tmp_path / "store", MANIFEST)
    log = tmp_path / "rank0.log"
    log.write_bytes(b"\x1b[31mTraceback\xff\n")
    kept = writer.keep_log(log, "launch-0-w2-0/fsdp[reshard=true,world=8]/rank-0.log")
    assert kept == "logs/launch-0-w2-0/fsdp[reshard=true,world=8]/rank-0.log"
    assert (writer.folder / kept).read_bytes() == log.read_bytes()
    assert writer.keep_log(log, "launch-0-w2-0/fsdp[reshard=true,world=8]/rank-0.log") == kept  # the same
    other = tmp_path / "other.log"
    other.write_bytes(b"another attempt, after an interruption\n")
    numbered = writer.keep_log(other, "launch-0-w2-0/fsdp[reshard=true,world=8]/rank-0.log")
    assert numbered == f"{kept}.2"
    assert (writer.folder / numbered).read_bytes() == other.read_bytes()
    assert (writer.folder / kept).read_bytes() == log.read_bytes()
    with pytest.raises(StoreError, match=r"absent\.log: the log cannot be read: No such file or directory$"):
        writer.keep_log(tmp_path / "absent.log", "absent.log")
    assert read_run(writer.folder).launches == ()


def test_of_a_long_log_the_end_is_kept(tmp_path: Path) -> None:
    writer = create_run(tmp_path / "store", MANIFEST)
    log = tmp_path / "rank0.log"
    with log.open("wb") as stream:
        stream.truncate(LOG_BYTES)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\nlast line\n")
    content = (writer.folder / writer.keep_log(log, "rank-0.log")).read_bytes()
    note = b"[11 earlier bytes left out]\n"
    assert content.startswith(note)
    assert content.endswith(b"\nlast line\n")
    assert len(content) == len(note) + LOG_BYTES


@pytest.mark.parametrize(
    "name", ["", "/etc/x", "../x", "a/../../x", "a//b", ".x", "a/.x", "a\nb", "a\0b", "x/"]
)
def test_a_log_stays_in_the_run(tmp_path: Path, name: str) -> None:
    writer = create_run(tmp_path / "store", MANIFEST)
    log = tmp_path / "rank0.log"
    log.touch()
    with pytest.raises(StoreError) as refused:
        writer.keep_log(log, name)
    assert str(refused.value).startswith(f"{name!r} cannot name a log; ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank0.log", "store"]
    assert not (writer.folder / "logs").exists()


WAY_OUT = "; make room or permission there, or set another 'store' in configs/project.yaml"


def test_a_store_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as refused:
        create_run(tmp_path / "file", MANIFEST)
    expected = f"{tmp_path / 'file' / 'commit' / FOLDER}: cannot be written: Not a directory{WAY_OUT}"
    assert str(refused.value) == expected


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    writer = create_run(tmp_path, MANIFEST)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))  # the kernel's own refusal in mid-file
    try:
        with pytest.raises(StoreError) as refused:
            writer.add(launch())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    expected = f"{writer.folder / 'launch-0-w2-0.json'}: cannot be written: File too large{WAY_OUT}"
    assert str(refused.value) == expected
    assert [path.name for path in writer.folder.iterdir()] == ["plan.json"]
    writer.add(launch())
    assert read_run(writer.folder).launches == (launch(),)


WRITER = """
import dataclasses, sys
from pathlib import Path
from regress.errors import StoreError
from tests.store.test_runs import MANIFEST, launch
from regress.store.writer import create_run

store, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
won = lost = 0
for number in range(first, first + count):
    run = f"{number:08x}"
    try:
        writer = create_run(store, dataclasses.replace(MANIFEST, run=run))
        for block in range(3):
            writer.add(launch(block, run=run))
        writer.close()
        won += 1
    except StoreError:
        lost += 1
print(won, lost)
"""


def start_writer(store: Path, first: int, count: int) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(store), str(first), str(count)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer


def test_of_two_writers_of_one_run_exactly_one_succeeds(tmp_path: Path) -> None:
    writers = [start_writer(tmp_path, first=0, count=60) for _ in range(2)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    counts = [[int(word) for word in writer.communicate(timeout=60)[0].split()] for writer in writers]
    assert [won + lost for won, lost in counts] == [60, 60]
    assert sum(won for won, _ in counts) == 60
    runs = [read_run(folder) for folder in list_runs(tmp_path)]
    assert len(runs) == 60
    assert all(run.complete and len(run.launches) == 3 for run in runs)
    assert not list(tmp_path.rglob(".aside*"))


def test_a_writer_killed_at_any_moment_leaves_nothing_half_true(tmp_path: Path) -> None:
    draw = random.Random(2024)
    for first in range(0, 5000, 1000):
        writer = start_writer(tmp_path, first, count=1000)
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
        while not any(folder.name.endswith(f"{first:08x}") for folder in list_runs(tmp_path)):
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.05))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        assert writer.returncode == -signal.SIGKILL, "it ended before it was killed"
    runs = [read_run(folder) for folder in list_runs(tmp_path)]
    assert len(runs) >= 5
    for run in runs:
        assert run.launches == tuple(
            launch(block, run=run.manifest.run) for block in range(len(run.launches))
        )
        assert not run.complete or len(run.launches) == 3
    assert sum(not run.complete for run in runs) <= 5, "only the run that was being written is open"


def write_and_die(store: Path, fatal: int) -> bool:
    """Write a run in a process that kills itself at its ``fatal``-th line of code; False if it had fewer."""
    child = os.fork()
    if child == 0:
        passed = 0

        def trace(frame: FrameType, event: str, _: object) -> TraceFunction | None:
            nonlocal passed
            ours = frame.f_globals["__name__"].startswith("regress.store")
            if not ours and frame.f_code.co_name not in ("write_bytes", "write_text"):
                return None
            if event == "line":
                passed += 1
                if passed == fatal:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        writer = create_run(store, MANIFEST)
        writer.add(launch())
        writer.close()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return status != 0


def test_a_writer_killed_at_each_line_leaves_nothing_half_true(tmp_path: Path) -> None:
    states: list[tuple[int, bool]] = []
    while write_and_die(tmp_path / str(len(states)), fatal=len(states) + 1):
        runs = [read_run(folder) for folder in list_runs(tmp_path / str(len(states)))]
        assert [run.manifest for run in runs] in ([], [MANIFEST])
        assert all(run.launches in ((), (launch(),)) for run in runs)
        states.append((sum(1 + len(run.launches) for run in runs), any(run.complete for run in runs)))
    assert states == sorted(states), "what was there once stays"
    assert set(states) == {(0, False), (1, False), (2, False), (2, True)}
