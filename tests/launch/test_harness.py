from __future__ import annotations

import ast
import dataclasses
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import regress
from regress.errors import LaunchError
from regress.launch.harness import PARTS, cannot_run, harness, side_environment
from regress.launch.launcher import Code
from regress.launch.paths import LaunchPaths, file_name

PACKAGE = Path(regress.__file__).parent


def part_files() -> list[Path]:
    return sorted(
        file
        for part in PARTS
        for file in ([PACKAGE / part] if part.endswith(".py") else (PACKAGE / part).rglob("*.py"))
    )


def code(**variables: str) -> Code:
    return Code(python=sys.executable, variables=tuple(variables.items()), path=(), benchmarks="/b")


def test_holds_the_parts_and_nothing_else(tmp_path: Path) -> None:
    copy = harness(tmp_path)

    copied = {file.relative_to(copy / "regress"): file.read_bytes() for file in copy.rglob("*.py")}
    assert copied == {file.relative_to(PACKAGE): file.read_bytes() for file in part_files()}
    assert Path("worker/server.py") in copied
    assert not any(file.parts[0] in ("launch", "flows", "cli", "stats") for file in copied)
    assert list(tmp_path.iterdir()) == [copy]


def test_is_made_once_and_renewed_with_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = harness(tmp_path)
    (first / "mark").touch()
    assert harness(tmp_path) == first
    assert (first / "mark").exists()

    elsewhere = tmp_path / "elsewhere"
    for file in part_files():
        copy = elsewhere / file.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    monkeypatch.setattr(regress, "__file__", str(elsewhere / "__init__.py"))
    assert harness(tmp_path) == first
    with (elsewhere / "worker" / "loop.py").open("a") as file_:
        file_.write("# changed\n")
    assert harness(tmp_path) != first


def test_several_may_make_it_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from regress.launch.harness import harness; "
        "sys.stdin.readline(); print(harness(Path(sys.argv[1])))"
    )
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(PACKAGE.parent)},
        )
        for _ in range(3)
    ]
    with ThreadPoolExecutor() as pool:
        copies = {out for out, _ in pool.map(lambda maker: maker.communicate("go\n"), makers)}

    assert len(copies) == 1
    assert [str(path) for path in tmp_path.iterdir()] == [copies.pop().strip()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_cache_that_cannot_be_written_is_named() -> None:
    with pytest.raises(LaunchError, match=r"cannot write the cache /proc/nowhere: .*REGRESS_CACHE"):
        harness(Path("/proc/nowhere"))


def test_every_part_is_python_3_10_and_imports_the_standard_library_and_torch_alone() -> None:
    """What a side's environment must hold."""
    parts = {f"regress.{part.removesuffix('.py').replace('/', '.')}" for part in PARTS}
    for file in part_files():
        tree = ast.parse(file.read_text(), feature_version=(3, 10))
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, file
                names = [node.module or ""]
            for name in names:
                top = name.split(".")[0]
                known = top in sys.stdlib_module_names or top == "torch" or name == "regress"
                ours = any(name == part or name.startswith(f"{part}.") for part in parts)
                lazy = file == PACKAGE / "__init__.py"
                typing_only = name == "regress.spec.suite" and file == PACKAGE / "spec" / "plan.py"
                assert known or ours or lazy or typing_only, f"{file}: {name}"


def test_the_copy_comes_first_then_the_path_of_the_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/mine")
    monkeypatch.setenv("KEPT", "1")

    assert side_environment(code(), Path("/copy"))["PYTHONPATH"] == "/copy:/mine"
    assert side_environment(code(PYTHONPATH="/its"), Path("/copy"))["PYTHONPATH"] == "/copy:/its"
    assert side_environment(code(ADDED="2"), Path("/copy"))["ADDED"] == "2"
    assert side_environment(code(), Path("/copy"))["KEPT"] == "1"
    monkeypatch.delenv("PYTHONPATH")
    assert side_environment(code(), Path("/copy"))["PYTHONPATH"] == "/copy"


def test_a_refusal_is_the_last_line_of_what_was_said() -> None:
    said = "Traceback\n  somewhere\nModuleNotFoundError: No module named 'torch'\n"
    assert str(cannot_run("py", "run ranks", 1, said)) == (
        "py cannot run ranks: ModuleNotFoundError: No module named 'torch'; install torch there"
    )
    assert str(cannot_run("py", "run ranks", 3, "")) == "py cannot run ranks: it ended with status 3"


def test_a_label_is_a_file_name() -> None:
    paths = LaunchPaths(folder=Path("/scratch/base"))
    assert file_name("fsdp[reshard=true,world=8]") == "fsdp_reshard_true_world_8_"
    assert paths.series("a[x=1.5,world=2]", 1) == Path("/scratch/base/a_x_1.5_world_2_.rank1.json")


def first_frame(python: str, environment: dict[str, str]) -> int:
    """Where the stack of a new process begins, within what environments are padded to."""
    program = "print(open('/proc/self/stat').read().rpartition(')')[2].split()[25])"
    done = subprocess.run(
        ["setarch", "--addr-no-randomize", python, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(shutil.which("setarch") is None, reason="needs setarch")
def test_the_stacks_of_all_sides_begin_at_the_same_place(tmp_path: Path) -> None:
    """Whatever their variables are, and however long the path of their interpreter is."""
    other = tmp_path / "an-interpreter-whose-path-is-much-longer"
    other.symlink_to(Path(sys.executable).resolve())
    sides = [
        (sys.executable, code()),
        (sys.executable, code(ADDED="x" * 1234, MORE="1", OTHER="")),
        (str(other), dataclasses.replace(code(ADDED="y"), python=str(other))),
        (sys.executable, code(PYTHONPATH="/its")),
    ]
    found = {first_frame(python, side_environment(each, Path("/copy"))) for python, each in sides}
    plain = {first_frame(python, dict(os.environ) | dict(each.variables)) for python, each in sides}
    assert len(plain) > 1  # without padding they differ: this test can fail
    assert len(found) == 1
