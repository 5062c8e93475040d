"""A wrong request is answered with its lines on standard error, status 2, and nothing written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from regress.cli.main import run
from regress.spec.benchmark import ImportFailure
from tests.cli.conftest import Installed
from tests.flows.project import CATALOG, EQUAL, ONLY_DDP, SUITE, Fakes, git, stored_runs

COMPARE = ["compare", "HEAD~1", "HEAD", "--quiet"]
KNOWN = "compare, run, report, history, calibrate, list, baseline, doctor, init, schema"


@pytest.fixture(autouse=True)
def fakes(install: Installed) -> Fakes:
    return install(Fakes(EQUAL))


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of a refusal, without what each starts with."""
    status = run(arguments)
    captured = capsys.readouterr()
    assert (status, captured.out) == (2, "")
    lines = captured.err.removesuffix("\n").split("\n")
    assert all(line.startswith("regress: ") for line in lines)
    assert captured.err.replace("\n", "").isprintable()
    return [line.removeprefix("regress: ") for line in lines]


def nothing_written(project: Path) -> bool:
    return not (project / ".regress").exists() and git(project, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], f"no command; known: {KNOWN} (`regress --help` says what each does)"),
        (["comapre", "a", "b"], "unknown command 'comapre'; did you mean 'compare'?"),
        (["\x1b[31mx"], f"unknown command '\\x1b[31mx'; known: {KNOWN}"),
        (["compare", "HEAD"],
         "the following arguments are required: HEAD (`regress compare --help` says more)"),
        (["report"],
         "the following arguments are required: RUN|BASE (`regress report --help` says more)"),
        ([*COMPARE, "--fail-on", "slow"],
         "argument --fail-on: unknown verdict 'slow'; allowed: regressed, inconclusive, gone "
         "(`regress compare --help` says more)"),
        ([*COMPARE, "--json", "nowhere/x.json"],
         "nowhere/x.json cannot be written: there is no writable folder nowhere"),
        ([*COMPARE, "--html", "configs"], "configs is a folder; name a file"),
        ([*COMPARE, "--json", "x" * 300], f"{'x' * 80} cannot be written: File name too long"),
        ([*COMPARE, "--benchmarks-from", "mian"],
         "unknown revision 'mian' in {project}; `git log` lists what there is"),
        ([*COMPARE, "--suite", "comit"], "unknown suite 'comit'; did you mean 'commit'?"),
        ([*COMPARE, "--suite", "nowhere.yaml"], "no suite file 'nowhere.yaml'"),
        (["compare", "mian", "HEAD"],
         "'mian' is no git revision, no stored run and no path of one (`regress list` names the runs)"),
        (["compare", "HEAD", "x" * 5000],
         f"'{'x' * 79} is no git revision, no stored run and no path of one (`regress list` names the runs)"),
        (["compare", "HEAD", "HE\x1b[2JAD"],
         "'HE\\x1b[2JAD' holds control characters; no side is called that"),
        (["compare", "HEAD", "HEAD\udcff"],
         "'HEAD\\udcff' holds control characters; no side is called that"),
        (["compare", "", "HEAD"], "a side is empty; name a revision, a stored run or its folder"),
        (["compare", "HEAD@stable", "HEAD"],
         "unknown environment 'stable'; known: none (configs/project.yaml names them)"),
        (["compare", "HEAD", "baseline"], "a baseline is what others are compared with; write it as BASE"),
        (["compare", "nccl-tests:log.txt", "HEAD"],
         "'nccl-tests:log.txt': files of other tools (FORMAT:PATH, CSV) are not supported yet; "
         "name a revision or a stored run"),
        (["compare", "baseline:x", "HEAD"],
         "'x' after baseline: means nothing; write baseline:, and name the suite with --suite"),
        ([*COMPARE, "--stored"],
         "--stored: neither side is stored; name a stored run or `baseline`"),
        (["calibrate", "--planted", "kernle:2%"],
         "--planted: unknown slowdown 'kernle'; did you mean 'kernel'?"),
        (["calibrate", "--blocks", "1"],
         "argument --blocks: expected a whole number of at least 2; got '1' "
         "(`regress calibrate --help` says more)"),
        (["calibrate", "comit"], "unknown suite 'comit'; did you mean 'commit'?"),
        (["calibrate", "--resident", "--quiet"],
         "--resident is for GPUs; on CPU both sides are resident anyway"),
        ([*COMPARE, "--wait", "1d"],
         "argument --wait: expected a time such as 90s, 30m or 2h; got '1d' "
         "(`regress compare --help` says more)"),
        (["report", "00000000"], "'00000000' is no stored run; `regress list` names those there are"),
        (["report", "HEAD"], "'HEAD' is no stored run; `regress list` names those there are"),
        (["report", "x", "y"], "'x' is no stored run; `regress list` names those there are"),
        (["report", "configs"], "'configs' is no stored run; `regress list` names those there are"),
        (["report", "x", "--html", "y.html"],
         "one run has no page of its own; name BASE and HEAD, or omit --html"),
        (["run", "comit"], "unknown suite 'comit'; did you mean 'commit'?"),
        (["run", "--side", "mian"],
         "'mian' is no git revision, no stored run and no path of one (`regress list` names the runs)"),
        (["list", "--side", "mian"], "unknown revision 'mian' in {project}; `git log` lists what there is"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)  # fmt: skip
def test_refusals(project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str) -> None:
    assert refused(arguments, capsys) == [line.replace("{project}", str(project))]
    assert nothing_written(project)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*COMPARE, "--seed", "-1"], ["--seed", "-1", "(`regress compare --help` says more)"]),
        ([*COMPARE, "--seed", "x"], ["--seed", "'x'"]),
        (["run", "--launches", "0"], ["--launches", "at least 1", "'0'"]),
        ([*COMPARE, "extra"], ["extra", "(`regress compare --help` says more)"]),
        ([*COMPARE, "--siut", "x"], ["unrecognized", "--siut"]),
        ([*COMPARE, "--sui", "x"], ["unrecognized", "--sui"]),
        (["--verison"], ["--verison", "(`regress --help` says more)"]),
    ],
)
def test_refusals_in_the_words_of_argparse(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    (line,) = refused(arguments, capsys)
    assert all(word in line for word in words)
    assert nothing_written(project)


@pytest.mark.parametrize("arguments", [["compare", "HEAD", "HEAD"], ["run", "--side", "HEAD"]])
def test_outside_of_git(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(arguments, capsys) == [
        f"{tmp_path} is not in the working tree of a git repository; change into one, "
        "or measure the shipped suite with `regress run`"
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [COMPARE, ["run", "--quiet"]])
@pytest.mark.parametrize(
    ("suite", "lines"),
    [
        ("", ["empty suite; say what to measure, as in 'benchmarks: [{name: ddp}]'"]),
        ("benchmarks: [{name: dpp}]\n", [":1: unknown benchmark 'dpp'; did you mean 'ddp'?"]),
        (
            "benchmarks:\n  - name: ddp\n    world_size: [2, 16]\n",
            [":3: world_size 16 is above the 4 ranks that this machine holds; use at most 4"],
        ),
        (
            "benchmarks:\n  - nme: ddp\nblocks: {count: 0}\npolicy:\n  min_change: 5\nwarmup: 3\n",
            [":2: ", ":2: ", ":3: ", ":5: ", ":6: "],
        ),
        ("benchmarks: [\n", [":2: not valid YAML: "]),
    ],
    ids=["empty", "unknown benchmark", "world size", "several", "no YAML"],
)  # fmt: skip
def test_wrong_suites(
    project: Path, capsys: pytest.CaptureFixture[str], command: list[str], suite: str, lines: list[str]
) -> None:
    (project / "configs" / "commit.yaml").write_text(suite)
    git(project, "commit", "--quiet", "--all", "--message", "wrong")
    told = refused(command, capsys)
    assert len(told) == len(lines)
    for said, line in zip(told, lines, strict=True):
        assert said.startswith("configs/commit.yaml:")
        assert line in said
    assert nothing_written(project)


def test_benchmark_files_that_cannot_be_imported(
    project: Path, capsys: pytest.CaptureFixture[str], fakes: Fakes
) -> None:
    failure = ImportFailure(file="train.py", line=3, message="ImportError: \x1b[31mno torch")
    fakes.head = replace(CATALOG, failures=(failure, failure))
    (line,) = refused(COMPARE, capsys)
    assert line.endswith(
        "benchmarks/train.py:3: cannot be imported: ImportError: no torch (first of 2 files)"
    )
    assert nothing_written(project)


def test_a_benchmark_that_head_lacks(project: Path, capsys: pytest.CaptureFixture[str], fakes: Fakes) -> None:
    fakes.head = ONLY_DDP
    assert refused(COMPARE, capsys) == ["configs/commit.yaml:4: unknown benchmark 'fsdp'; known: ddp"]
    assert nothing_written(project)


def test_two_readings_are_both_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMPARE) == 0
    capsys.readouterr()
    base = stored_runs(project)[0].manifest.run
    git(project, "branch", base)
    assert refused(["compare", base, "HEAD"], capsys) == [
        f"'{base}' can mean git:{base} or run:{base}; write the one that is meant"
    ]


def test_a_project_file_with_a_wrong_value(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "configs" / "project.yaml").write_text("store: s3://bucket\n")
    (line,) = refused(COMPARE, capsys)
    assert line.startswith("configs/project.yaml:1: ")
    assert "s3://bucket" in line


def test_the_suite_of_these_tests_is_right(project: Path) -> None:
    assert (project / "configs" / "commit.yaml").read_text() == SUITE
    assert run(COMPARE) == 0
