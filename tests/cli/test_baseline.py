"""`regress baseline`, as a user types it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from regress.cli.main import run
from regress.errors import RegressError
from regress.flows.baseline import NoBaseline, find_baseline
from regress.flows.workplace import Workplace
from regress.launch.fake import PLATFORM, failing
from regress.record.baseline import bless
from regress.record.outcome import Outcome
from regress.record.run import Launch, Manifest, Run
from regress.report.baseline import render
from regress.store.baselines import baseline_file, read_baseline, write_baseline
from regress.store.writer import create_run
from tests.cli.conftest import Installed
from tests.flows.project import EQUAL, SUITE, Fakes, git, stored_runs

MEASURE = ["run", "--side", "HEAD", "--quiet", "--launches", "7"]
CRASH = Outcome(kind="died", rank=1, status=-9, message="\x1b[31mboom")


@pytest.fixture
def blessable(project: Path, install: Installed, capsys: pytest.CaptureFixture[str]) -> Run:
    """A run of HEAD with seven launches."""
    install(Fakes(EQUAL))
    assert run(MEASURE) == 0
    capsys.readouterr()
    return stored_runs(project)[0]


def told(status: int, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a failure."""
    assert run(arguments) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.isprintable()
    return line.removeprefix("regress: ")


def test_bless_show_and_bless_another(
    project: Path, blessable: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    first = blessable.manifest.run
    assert run(["baseline", "bless", first, "--reason", "Before the upgrade"]) == 0
    out = capsys.readouterr().out
    file = f"baselines/commit/{PLATFORM.key}.json"
    assert out.startswith(f"blessed run {first} of commit on {PLATFORM.key}: HEAD ")
    assert "the first baseline" in out
    assert out.endswith(f"kept in {file}: commit this file\n")
    assert "note: " not in out
    assert "\x1b" not in out
    assert git(project, "status", "--porcelain") == "?? baselines/"

    assert run(["run", "--side", "HEAD~1", "--quiet", "--launches", "7"]) == 0
    (second,) = (each.manifest.run for each in stored_runs(project) if each.manifest.run != first)
    capsys.readouterr()
    assert run(["baseline", "bless", second, "--json", "-"]) == 0
    blessing = json.loads(capsys.readouterr().out)
    assert (blessing["file"], blessing["baseline"]["replaces"]) == (file, first)
    assert run(["baseline", "bless", second]) == 0
    assert f"it replaces run {second}" in capsys.readouterr().out
    assert read_baseline(project / file).replaces == first  # not itself

    for suite in ([], ["commit"]):
        assert run(["baseline", "show", *suite]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"commit on {PLATFORM.key}: HEAD~1 ")
        assert "7 launches" in out
        assert "ddp[world=2]" in out
    assert run(["baseline", "show", "--json", "-"]) == 0
    assert [each["run"] for each in json.loads(capsys.readouterr().out)["baselines"]] == [second]


def test_a_baseline_is_what_head_is_compared_with(
    project: Path, blessable: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["baseline", "bless", blessable.manifest.run]) == 0
    shutil.rmtree(project / ".regress" / "store")  # a fresh clone has the baseline, and no runs
    (project / "configs" / "commit.yaml").write_text(SUITE.replace("count: 6", "count: 7"))
    capsys.readouterr()
    assert run(["compare", "baseline", "HEAD", "--stored", "--quiet", "--markdown", "-"]) == 0
    markdown = capsys.readouterr().out
    assert markdown.startswith("### = unchanged: nothing regressed; ")
    assert f"`baselines/commit/{PLATFORM.key}.json`" in markdown


def test_few_launches_are_blessed_with_a_warning(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(EQUAL))
    assert run(["compare", "HEAD~1", "HEAD", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["baseline", "bless", stored_runs(project)[1].manifest.run]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "has 1 launch that ran alone, and 7 are needed; `regress run --launches 7`" in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["bless"], "bless which run? `regress list` names them (`regress baseline --help` says more)"),
        (["bless", "00000000"], "'00000000' is no stored run; `regress list` names those there are"),
        (["bless", "HEAD"], "'HEAD' is no stored run; `regress list` names those there are"),
        (
            ["bless", "{run}", "--reason", "a\nb\x1b[2J"],
            "--reason 'a\\nb\\x1b[2J' holds control characters; write one plain line",
        ),
        (
            ["bless", "{run}", "--reason", "\u202etxt"],
            "--reason '\\u202etxt' holds control characters; write one plain line",
        ),
        (
            ["bless", "{run}", "--reason", "x" * 301],
            "--reason is longer than 300 characters; put the rest into the commit",
        ),
        (["show", "--reason", "x"], "--reason belongs to `regress baseline bless RUN`"),
        (["show", "--json", "configs"], "configs is a folder; name a file"),
        ([], "the following arguments are required: bless|show (`regress baseline --help` says more)"),
    ],
)
def test_wrong_requests(
    project: Path, blessable: Run, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    words = [word.replace("{run}", blessable.manifest.run) for word in arguments]
    assert told(2, ["baseline", *words], capsys) == line
    assert not (project / "baselines").exists()


def without(launch: Launch) -> Launch:
    return replace(launch, measurements=())


def failed(launch: Launch) -> Launch:
    return replace(
        launch,
        measurements=tuple(replace(each, outcome=CRASH, samples=()) for each in launch.measurements),
    )


def elsewhere(launch: Launch) -> Launch:
    return replace(launch, platform=replace(PLATFORM, cores=64 if launch.block else 8))


def redefined(launch: Launch) -> Launch:
    return replace(
        launch,
        measurements=tuple(replace(each, definition=str(launch.block)) for each in launch.measurements),
    )


def nowhere(launch: Launch) -> Launch:
    return replace(launch, platform=None)


def same(launch: Launch) -> Launch:
    return launch


@pytest.mark.parametrize(
    ("change", "count", "closed", "why"),
    [
        (same, 7, False, "was not finished; type the command that measures it again, and it goes on"),
        (same, 0, True, "has no launches; measure it again"),
        (failed, 7, True, "failed in block 0 (died); a baseline is sound in all launches"),
        (same, 2, True, "has 2 launches; a baseline needs 3, and 7 for times to be judged: "
                        "`regress run --launches 7`"),
        (without, 7, True, "has 0 launches; a baseline needs 3, and 7 for times to be judged: "
                           "`regress run --launches 7`"),
        (elsewhere, 7, True, "was measured on two platforms; bless one that was measured on one"),
        (redefined, 7, True, "was not one and the same in all launches; measure it again"),
        (nowhere, 7, True, "does not tell its platform; measure it again"),
    ],
)  # fmt: skip
def test_runs_that_cannot_be_blessed(
    project: Path,
    blessable: Run,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Launch], Launch],
    count: int,
    closed: bool,
    why: str,
) -> None:
    name = "abcdef01"
    manifest: Manifest = replace(blessable.manifest, run=name, platform=None)
    writer = create_run(project / ".regress" / "store", manifest)
    for launch in blessable.launches[:count]:
        writer.add(change(replace(launch, run=name)))
    if closed:
        writer.close()
    else:
        writer.release()
    line = told(2, ["baseline", "bless", name], capsys)
    assert line.startswith(f"run {name}")
    assert line.endswith(why)
    assert not (project / "baselines").exists()


def test_an_old_run_has_the_platform_of_its_launches(
    project: Path, blessable: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = create_run(
        project / ".regress" / "store", replace(blessable.manifest, run="abcdef01", platform=None)
    )
    for launch in blessable.launches:
        writer.add(replace(launch, run="abcdef01"))
    writer.close()
    assert run(["baseline", "bless", "abcdef01"]) == 0
    assert baseline_file(project, "commit", PLATFORM).exists()


def test_a_damaged_baseline_is_named_and_not_replaced(
    project: Path, blessable: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    file = baseline_file(project, "commit", PLATFORM)
    file.parent.mkdir(parents=True)
    file.write_text("<<<<<<< HEAD\n")
    for arguments in (
        ["baseline", "bless", blessable.manifest.run],
        ["baseline", "show"],
        ["compare", "baseline", "HEAD", "--stored", "--quiet"],
    ):
        assert told(3, arguments, capsys).startswith(f"{file}: not JSON: ")
    assert file.read_text() == "<<<<<<< HEAD\n"


def test_without_a_baseline_the_command_that_makes_one_is_named(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(failing(EQUAL, CRASH, sides=["only"], name="ddp", blocks=[3])))
    line = told(3, ["baseline", "show"], capsys)
    assert line == f"{project} has no baseline; `regress baseline bless RUN` makes a stored run one"
    assert told(3, ["baseline", "show", "smoke"], capsys).startswith("suite 'smoke' has no baseline; ")
    workplace = Workplace.around(project)
    missing = f"suite commit has no baseline on {PLATFORM.key}"
    assert (
        absent(workplace)
        == f"{missing}; type `regress run commit --side HEAD`, then `regress baseline bless RUN`"
    )
    run(MEASURE)  # a benchmark in it failed: it could not be blessed
    assert "regress run commit" in absent(workplace)
    install(Fakes(EQUAL))
    assert run(MEASURE) == 0
    sound = next(
        each
        for each in stored_runs(project)
        if all(m.outcome.ok for launch in each.launches for m in launch.measurements)
    )
    assert absent(workplace) == f"{missing}; type `regress baseline bless {sound.manifest.run}`"
    other = replace(PLATFORM, cores=64)
    write_baseline(project, bless(sound, other, blessed="2026-01-01T00:00:00+00:00"))
    assert absent(workplace).startswith(f"{missing} (there are baselines for {other.key}); type ")


def absent(workplace: Workplace) -> str:
    with pytest.raises(NoBaseline) as refused:
        find_baseline(workplace, "commit", PLATFORM)
    assert isinstance(refused.value, RegressError)
    assert refused.value.exit_status == 3
    return str(refused.value)


def test_hostile_texts_and_times_do_no_harm(blessable: Run) -> None:
    manifest = replace(blessable.manifest, subject="\x1b[31m\u202eevil", side="x\ny", started="never")
    kept = bless(replace(blessable, manifest=manifest), PLATFORM, blessed="2026-01-01T00:00:00+00:00")
    now = datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(hours=3)
    out = render([kept, kept], now, width=100, color=False)
    assert out.replace("\n", "").isprintable()
    assert "measured — ago" not in out
    assert "measured —, blessed 3 h 0 m ago" in out


def test_markdown_is_written_where_it_was_asked_for(
    project: Path, install: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    install(Fakes(EQUAL))
    assert run(["compare", "HEAD~1", "HEAD", "--quiet", "--markdown", "a.md"]) == 0
    assert capsys.readouterr().out.startswith("= unchanged: ")
    first = (project / "a.md").read_text()
    assert first.startswith("### = unchanged: ")
    runs = [each.manifest.run for each in stored_runs(project)]
    assert run(["report", *runs, "--markdown", "-"]) == 0
    shown = capsys.readouterr().out
    assert shown.split("#### Next")[0] == first.split("#### Next")[0]
    line = "only one of the files can be standard output"
    assert told(2, ["report", *runs, "--markdown", "-", "--json", "-"], capsys) == line
    line = "--markdown writes the answer of a comparison; name BASE and HEAD, or omit it"
    assert told(2, ["report", runs[0], "--markdown", "x.md"], capsys) == line
