"""The workflows: what their checkers say, and what must hold of each job."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / ".github" / "scripts").glob("*.sh"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

PINNED = re.compile(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
"""A commit, and for people the version that it is."""

Job = dict[str, Any]


def tool(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a checker of the environment that the tests run in."""
    return subprocess.run(
        [Path(sys.executable).parent / name, *arguments],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def actionlint(*workflows: Path) -> subprocess.CompletedProcess[str]:
    shellcheck = Path(sys.executable).parent / "shellcheck"
    return tool("actionlint", "-shellcheck", shellcheck, "-pyflakes", "", *workflows)


def zizmor(*workflows: Path) -> subprocess.CompletedProcess[str]:
    return tool("zizmor", "--offline", "--no-progress", "--persona=pedantic", *workflows)


def schema(*workflows: Path) -> subprocess.CompletedProcess[str]:
    """It lives in an environment of its own, for it needs another package that is called regress."""
    there = Path(sys.prefix) / "schemas" / "bin" / "check-jsonschema"
    return tool(str(there), "--builtin-schema", "vendor.github-workflows", *workflows)


def read(path: Path) -> dict[str, Any]:
    workflow: dict[str, Any] = yaml.load(path.read_text(), yaml.BaseLoader)  # noqa: S506 - `on` stays a word
    return workflow


def jobs() -> Iterator[tuple[str, Job]]:
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            yield f"{path.name} {name}", job


def steps() -> Iterator[tuple[str, Job]]:
    for place, job in jobs():
        for step in job["steps"]:
            yield f"{place}: {step['name']}", step


def test_there_are_the_three_of_them() -> None:
    assert [path.stem for path in WORKFLOWS] == ["nightly", "performance", "tests"]


@pytest.mark.parametrize("check", [actionlint, zizmor, schema])
def test_the_checkers_find_nothing(check: Any) -> None:
    done = check(*WORKFLOWS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("check", "before", "after"),
    [
        (actionlint, "answer/", "${{ nonsense.here }}"),
        (actionlint, ".github/scripts/compare.sh", "cat $base | .github/scripts/compare.sh"),
        (zizmor, "make setup", "echo ${{ github.event.pull_request.title }}"),
        (zizmor, "@de0fac2e4500dabe0009e67214ff5f5447ce83dd", "@main"),
        (zizmor, "          persist-credentials: false\n", ""),
        (schema, "timeout-minutes", "time-out-minutes"),
    ],
    ids=["expression", "shell", "injection", "unpinned", "credentials", "unknown key"],
)
def test_the_checkers_would_find_something(check: Any, before: str, after: str, tmp_path: Path) -> None:
    text = (ROOT / ".github" / "workflows" / "performance.yml").read_text()
    assert before in text
    spoiled = tmp_path / ".github" / "workflows" / "spoiled.yml"
    spoiled.parent.mkdir(parents=True)
    spoiled.write_text(text.replace(before, after))
    assert check(spoiled).returncode != 0


def test_scripts_pass_shellcheck() -> None:
    done = tool("shellcheck", *SCRIPTS, ".ci/run")
    assert done.returncode == 0, done.stdout


def test_nothing_is_ignored() -> None:
    for path in [*WORKFLOWS, *SCRIPTS]:
        assert not re.search(r"zizmor: *ignore|shellcheck disable", path.read_text()), path
    assert not list(ROOT.glob(".github/*zizmor*")) + list(ROOT.glob(".github/actionlint*"))


def test_workflows_may_do_nothing_but_what_a_job_asks_for() -> None:
    for path in WORKFLOWS:
        assert read(path)["permissions"] == {}, path
    for place, job in jobs():
        assert job["permissions"] == {"contents": "read"}, place


def test_pull_requests_run_without_secrets() -> None:
    for path in WORKFLOWS:
        assert "pull_request_target" not in path.read_text(), path
        assert "secrets." not in path.read_text(), path


def test_every_job_ends() -> None:
    for place, job in jobs():
        assert 0 < int(job["timeout-minutes"]) <= 60, place


def test_every_action_is_pinned() -> None:
    for path in WORKFLOWS:
        for line in path.read_text().splitlines():
            if "uses:" in line:
                assert PINNED.fullmatch(line.partition("uses:")[2].strip()), f"{path.name}: {line}"


def test_no_checkout_leaves_a_token_behind() -> None:
    checkouts = [step for _, step in steps() if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) == len(list(jobs()))
    assert all(step["with"]["persist-credentials"] == "false" for step in checkouts)


def test_no_text_from_outside_becomes_a_command() -> None:
    for place, step in steps():
        assert "${{" not in step.get("run", ""), place


def test_a_step_stops_at_its_first_failure() -> None:
    for path in WORKFLOWS:
        assert read(path)["defaults"] == {"run": {"shell": "bash"}}, path
    for place, step in steps():
        assert "run" not in step or step["run"].startswith("set -euo pipefail\n"), place


def test_what_is_run_is_there() -> None:
    """Scripts and targets by the names that the workflows use."""
    commands = "\n".join(step.get("run", "") for _, step in steps())
    for script in re.findall(r"\.(?:github|ci)/[a-z/.-]+\w", commands):
        assert (ROOT / script).stat().st_mode & 0o111, script
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^make (?:--silent )?(\S+)", commands, re.MULTILINE)
    assert sorted(set(targets)) == ["calibration", "setup"]
    assert all(f"\n{target}: " in makefile for target in targets)
