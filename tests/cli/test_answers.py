"""What each command prints, writes and ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import regress
from regress.cli import main, output
from regress.cli.main import run
from regress.cli.output import STDOUT
from regress.launch.fake import Pace, Script, failing, paced
from regress.record.comparison import VERDICTS
from regress.record.outcome import Outcome
from tests.cli.conftest import Installed
from tests.flows.project import BLOCKS, EQUAL, SLOWER, Fakes, git, stored_runs

COMPARE = ["compare", "HEAD~1", "HEAD"]
CRASH = Outcome(kind="died", rank=1, status=-9, message="ended by \x1b[31mSIGKILL")
CRASHED_ONCE = failing(EQUAL, CRASH, sides=["head"], name="ddp", blocks=[3])
CRASHING = failing(EQUAL, CRASH, sides=["head"], name="ddp")
NOISY = paced({"base": Pace(), "head": Pace(step_s=0.0103)}, noise=0.02)
"""Too noisy for `unchanged`, and steady enough that a worsening of ``must_see`` would be seen."""

TOP = {
    "schema", "base", "head", "suite", "platform", "verdict", "exit_status", "false_alarms", "comparisons",
    "outcomes", "platform_diff", "environment_diff",
}  # fmt: skip
COMPARISON = {
    "benchmark", "metric", "unit", "direction", "kind", "verdict", "base", "head", "change", "low", "high",
    "confidence", "p", "p_adjusted", "detectable", "reason", "design", "notes",
}  # fmt: skip
"""The keys that are promised; others may come beside them."""


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The answer that a command prints with ``--json -``, and nothing else."""
    status = run([*arguments, "--json", "-"])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert answer["exit_status"] == status
    return answer


@pytest.mark.parametrize(
    ("script", "options", "verdict", "status"),
    [
        (EQUAL, [], "unchanged", 0),
        (SLOWER, [], "regressed", 1),
        (CRASHING, [], "broken", 1),
        (CRASHED_ONCE, [], "inconclusive", 3),
        (NOISY, [], "inconclusive", 0),
        (NOISY, ["--fail-on", "inconclusive"], "inconclusive", 4),
        (EQUAL, ["--fail-on", "regressed,inconclusive,gone"], "unchanged", 0),
    ],
    ids=["unchanged", "regressed", "broken", "failed once", "inconclusive", "asked for", "asked, unchanged"],
)
def test_exit_statuses(
    project: Path,
    install: Installed,
    capsys: pytest.CaptureFixture[str],
    script: Script,
    options: list[str],
    verdict: str,
    status: int,
) -> None:
    install(Fakes(script))
    answer = answered(capsys, *COMPARE, *options)
    assert (answer["verdict"], answer["exit_status"]) == (verdict, status)


def test_verdict_on_standard_output_and_progress_on_standard_error(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(SLOWER))
    assert run(COMPARE) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("▲ regressed: ")
    assert captured.out.splitlines()[-1].startswith(f"report: {project}/.regress/reports/commit-")
    lines = captured.err.splitlines()
    assert lines[:2] == ["regress: laying out both sides", "regress: reading the benchmarks"]
    assert [line.split(",")[0] for line in lines[2:]] == [
        f"regress: block {block}/{BLOCKS}{' alone' if block == 1 else ''}" for block in range(1, BLOCKS + 1)
    ]
    assert "\x1b" not in captured.out + captured.err


def test_quiet_says_nothing_on_standard_error(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(EQUAL))
    assert run([*COMPARE, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_json_has_the_promised_keys(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(CRASHED_ONCE))
    answer = answered(capsys, *COMPARE)
    assert answer["schema"] == "regress.comparison/1"
    assert answer.keys() >= TOP
    assert answer["comparisons"]
    for comparison in answer["comparisons"]:
        assert comparison.keys() >= COMPARISON
        assert comparison["verdict"] in {*VERDICTS, None}
        for side in ("base", "head"):
            assert comparison[side].keys() >= {"median", "launches", "values"}
            assert len(comparison[side]["values"]) == comparison[side]["launches"]
    (failure,) = answer["outcomes"]
    assert failure["outcome"]["message"] == CRASH.message  # as it was; whoever prints it makes it plain
    assert answer["head"]["subject"] == "Train \x1b[31mwider"


def test_positive_is_worse_in_json(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(SLOWER))
    changes = {each["metric"]: each["change"] for each in answered(capsys, *COMPARE)["comparisons"]}
    assert changes["step_s"] == pytest.approx(0.2, abs=0.01)
    assert changes["tokens_per_s"] == pytest.approx(1 / 6, abs=0.01)  # fewer, and so positive


def test_files_are_written_where_they_were_asked_for(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(SLOWER))
    assert run([*COMPARE, "--json", "a.json", "--html", "b.html"]) == 1
    assert json.loads((project / "a.json").read_text())["verdict"] == "regressed"
    assert (project / "b.html").read_text().lstrip().startswith("<!doctype html>")
    assert capsys.readouterr().out.endswith("report: b.html\n")
    assert not (project / ".regress" / "reports").exists()
    assert sorted(path.name for path in project.iterdir() if path.suffix in (".json", ".html")) == [
        "a.json", "b.html",
    ]  # fmt: skip


def test_the_page_can_be_printed(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(EQUAL))
    assert run([*COMPARE, "--html", "-"]) == 0
    out = capsys.readouterr().out
    assert out.lstrip().startswith("<!doctype html>")
    assert out.rstrip().endswith("</html>")


def test_devices_are_written_to_and_not_replaced(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(EQUAL))
    (project / "link.json").symlink_to("target.json")
    assert run([*COMPARE, "--json", "link.json", "--html", "/dev/null"]) == 0
    assert json.loads((project / "target.json").read_text())["verdict"] == "unchanged"
    assert (project / "link.json").is_symlink()
    assert Path("/dev/null").is_char_device()


def test_a_project_stays_clean_for_git(project: Path, install: Installed) -> None:
    (project / ".gitignore").unlink()
    git(project, "commit", "--quiet", "--all", "--message", "Nothing ignored")
    install(Fakes(EQUAL))
    assert run([*COMPARE, "--quiet"]) == 0
    assert any((project / ".regress" / "reports").glob("*.html"))
    assert git(project, "status", "--porcelain") == ""


def test_hostile_texts_cannot_steer_the_terminal(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(CRASHING))
    assert run(COMPARE) == 1
    runs = [kept.manifest.run for kept in stored_runs(project)]
    assert run(["report", *runs]) == 1
    assert run(["report", runs[1]]) == 0
    assert run(["list"]) == 0
    captured = capsys.readouterr()
    assert "SIGKILL" in captured.out
    assert "wider" in captured.out
    assert "\x1b" not in captured.out + captured.err


def test_report_of_two_runs_answers_as_compare_did(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(SLOWER))
    first = answered(capsys, *COMPARE)
    again = answered(capsys, "report", first["base"]["run"], first["head"]["run"])
    assert again.pop("command") == f"regress report {first['base']['run']} {first['head']['run']}"
    assert str(first.pop("command")).startswith(f"regress compare {first['base']['commit'][:12]} ")
    assert again == first


def test_run_and_report_of_one_run(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(EQUAL))
    assert run(["run", "--side", "HEAD", "--launches", "2", "--quiet"]) == 0
    said = capsys.readouterr().out
    (kept,) = stored_runs(project)
    assert said.startswith(
        f"run {kept.manifest.run} of commit: HEAD {git(project, 'rev-parse', 'HEAD')[:12]}"
    )
    assert said.endswith(f"kept in {kept.folder}\n")
    assert [launch.block for launch in kept.launches] == [0, 1]
    assert run(["report", kept.manifest.run]) == 0
    assert capsys.readouterr().out == said.removesuffix(f"kept in {kept.folder}\n")
    assert run(["report", kept.manifest.run, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["manifest"]["run"] == kept.manifest.run


def test_a_run_that_measured_nothing_is_no_success(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(failing(EQUAL, CRASH, sides=["only"])))
    assert run(["run", "--launches", "1", "--quiet"]) == 3
    assert "failed" in capsys.readouterr().out


def test_list_names_benchmarks_suites_and_runs(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(EQUAL))
    assert run([*COMPARE, "--quiet"]) == 0
    capsys.readouterr()
    assert run(["list"]) == 0
    out = capsys.readouterr().out
    runs = [kept.manifest.run for kept in stored_runs(project)]
    assert all(word in out for word in ["ddp", "fsdp", "commit", "smoke", *runs])
    assert run(["list", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found["benchmarks"]] == ["ddp", "fsdp"]
    assert {each["run"] for each in found["runs"]} == set(runs)


def test_list_names_a_damaged_run_and_goes_on(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(EQUAL))
    assert run([*COMPARE, "--quiet"]) == 0
    base, head = stored_runs(project)
    (Path(base.folder) / "plan.json").write_text("{}")
    capsys.readouterr()
    assert run(["list"]) == 0
    out = capsys.readouterr().out
    assert "cannot be read" in out
    assert head.manifest.run in out
    assert run(["report", base.manifest.run, head.manifest.run]) == 3
    assert "plan.json: not a record" in capsys.readouterr().err


def test_a_defect_is_no_regression(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    def defect(*_: object) -> Outcome:
        raise ZeroDivisionError("division by zero")

    install(Fakes(defect))
    assert run([*COMPARE, "--quiet"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Traceback")  # for whoever mends it
    assert captured.err.endswith("regress: this is a defect of regress, not a result\n")


def test_a_store_that_cannot_be_written(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(EQUAL))
    (project / ".regress").write_text("a file")
    assert run([*COMPARE, "--quiet"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"regress: {project}/.regress/store/commit/")
    assert "cannot be written: Not a directory" in line


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "--help"], ["--version"]])
def test_help_is_no_failure(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(arguments) == 0
    captured = capsys.readouterr()
    assert captured.out
    assert captured.err == ""


def test_every_command_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out and line in out for name, (_, line) in main.COMMANDS.items())


def started(project: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """The tool as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "from regress.cli.main import main; main()", *arguments],
        cwd=project,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        **options,
    )


@pytest.fixture
def stored(project: Path, install: Installed, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two stored runs, the second slower."""
    install(Fakes(SLOWER))
    assert run([*COMPARE, "--quiet"]) == 1
    monkeypatch.setenv("PYTHONPATH", str(Path(regress.__file__).parent.parent))
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # with it every write would be flushed at once
    return [kept.manifest.run for kept in stored_runs(project)]


def test_nobody_reads_the_answer(project: Path, stored: list[str]) -> None:
    process = started(project, "report", *stored, "--json", "-", stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_the_answer_finds_no_room(project: Path, stored: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        process = started(project, "report", *stored, stdout=full)
        _, errors = process.communicate()
    assert errors == "regress: standard output cannot be written: No space left on device\n"
    assert process.returncode == 3


def test_an_ascii_terminal_gets_an_answer(
    project: Path, stored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    process = started(project, "report", *stored, stdout=subprocess.PIPE)
    out, errors = process.communicate()
    assert (process.returncode, errors) == (1, "")
    assert out.startswith("? regressed: ")


def test_comparing_stored_runs_needs_no_torch(project: Path, stored: list[str]) -> None:
    code = (
        "import sys; from regress.cli.main import run; status = run(sys.argv[1:]);"
        " print(sorted({'torch', 'pandas'} & set(sys.modules)), status, file=sys.stderr)"
    )
    for arguments in (["report", *stored], ["compare", *stored], ["report", stored[0]]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], cwd=project, capture_output=True, text=True, check=True
        )
        assert done.stderr == f"[] {0 if len(arguments) == 2 else 1}\n"


def test_a_reader_that_has_seen_enough_changes_neither_files_nor_status(
    project: Path, install: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `head` does in ``regress compare BASE HEAD | head``."""
    install(Fakes(SLOWER))
    real = output.write

    def closed(name: str, text: str) -> None:
        if name == STDOUT:
            raise BrokenPipeError
        real(name, text)

    monkeypatch.setattr("regress.cli.answer.write", closed)
    monkeypatch.setattr("regress.cli.answer.discard_output", lambda: None)
    assert run(["compare", "HEAD~1", "HEAD", "--quiet", "--json", "answer.json", "--html", "page.html"]) == 1
    assert json.loads((project / "answer.json").read_text())["exit_status"] == 1
    assert (project / "page.html").exists()
