"""Every mistake in a YAML file is one line that names the place, the value and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from regress.errors import RequestError, SpecError
from regress.spec.load import find_suite, load_project, load_suite, shipped
from regress.spec.project import Project
from regress.spec.suite import Suite

WRONG = {
    "a number for a list": (
        "benchmarks:\n  - name: ddp\n    world_size: 2\n",
        ["bad.yaml:3: benchmarks[0].world_size: expected a list, as in [2]; got 2"],
    ),
    "a text for a list": (
        "benchmarks:\n  - name: ddp\n    params: {size: tiny}\n",
        ["bad.yaml:3: benchmarks[0].params.size: expected a list, as in ['tiny']; got 'tiny'"],
    ),
    "an empty list": (
        "benchmarks:\n  - {name: ddp, world_size: []}\n",
        ["bad.yaml:2: benchmarks[0].world_size: expected at least one entry; got []"],
    ),
    "no rank": (
        "benchmarks:\n  - name: ddp\n    world_size:\n      - 2\n      - 0\n",
        ["bad.yaml:5: benchmarks[0].world_size[1]: expected at least 1; got 0"],
    ),
    "a union of types": (
        "benchmarks:\n  - {name: ddp, params: {size: [null]}}\n",
        [
            "bad.yaml:2: benchmarks[0].params.size[0]: "
            "expected true or false, a whole number, a number or a text; got nothing"
        ],
    ),
    "a missing key": (
        "benchmarks:\n  - world_size: [2]\n",
        ["bad.yaml:2: benchmarks[0]: 'name' is missing: Name of the benchmark's function."],
    ),
    "a missing key at the top": (
        "description: x\n",
        ["bad.yaml:1: 'benchmarks' is missing: What is measured."],
    ),
    "an unknown key like a known one": (
        "benchmarks:\n  - name: ddp\nsteps:\n  burst: 2\n  warm_up: 3\n",
        ["bad.yaml:5: steps: unknown key 'warm_up'; did you mean 'warmup'?"],
    ),
    "an unknown key like none": (
        "benchmarks:\n  - name: ddp\nsteps:\n  xyz: 3\n",
        ["bad.yaml:4: steps: unknown key 'xyz'; known: burst, turns, warmup, warmup_most"],
    ),
    "a search for the warm-up that ends before it begins": (
        "benchmarks:\n  - name: ddp\nsteps:\n  warmup: 8\n  warmup_most: 7\n",
        ["bad.yaml:5: steps.warmup_most: must be at least warmup, which is 8; got 7"],
    ),
    "caches that are neither": (
        "benchmarks:\n  - name: ddp\ncaches: hot\n",
        ["bad.yaml:3: caches: expected 'warm' or 'cold'; got 'hot'"],
    ),
    "an unknown key of a list's entry": (
        "benchmarks:\n  - name: ddp\n    parms: {}\n",
        ["bad.yaml:3: benchmarks[0]: unknown key 'parms'; did you mean 'params'?"],
    ),
    "a text for a number": (
        "benchmarks:\n  - name: ddp\npolicy:\n  min_change: 3%\n",
        ["bad.yaml:4: policy.min_change: expected a number; got '3%'"],
    ),
    "percent for a fraction": (
        "benchmarks:\n  - name: ddp\npolicy:\n  min_change: 3\n",
        ["bad.yaml:4: policy.min_change: expected a number below 1; got 3"],
    ),
    "a number for a text": (
        "benchmarks:\n  - name: 7\n",
        ["bad.yaml:2: benchmarks[0].name: expected a text, as in \"7\"; got 7"],
    ),
    "true for a number": (
        "benchmarks:\n  - name: ddp\nblocks: {count: yes}\n",
        ["bad.yaml:3: blocks.count: expected a whole number; got true"],
    ),
    "an infinite number": (
        "benchmarks:\n  - name: ddp\nlimits:\n  step_s: .inf\n",
        ["bad.yaml:4: limits.step_s: expected a finite number; got inf"],
    ),
    "a negative limit": (
        "benchmarks:\n  - name: ddp\nlimits:\n  build_s: -1\n",
        ["bad.yaml:4: limits.build_s: expected a number above 0; got -1"],
    ),
    "nothing where keys belong": (
        "benchmarks:\n  - name: ddp\nblocks:\n",
        ["bad.yaml:3: blocks: expected keys with values; got nothing"],
    ),
    "a tolerance for no exact metric": (
        "benchmarks:\n  - name: ddp\npolicy:\n  tolerances: {flopz: 0.1}\n",
        ["bad.yaml:4: policy.tolerances.flopz: only an exact metric has a tolerance; did you mean 'flops'?"],
    ),
    "a key twice": (
        "benchmarks:\n  - name: ddp\nsteps:\n  burst: 0\n  burst: 2\n",
        [
            "bad.yaml:4: steps.burst: expected at least 1; got 0",
            "bad.yaml:5: the key 'burst' stands twice, first in line 4",
        ],
    ),
    "a key that is a list": (
        "benchmarks:\n  - name: ddp\n? [a]\n: 1\n",
        ["bad.yaml:3: a key must be a name, not a list or a mapping"],
    ),
    "more digits than Python reads": (
        f"benchmarks:\n  - name: ddp\nsteps:\n  burst: {'9' * 5000}\n",
        [f"bad.yaml:4: '{'9' * 79} is too large a number"],
    ),
    "a number of 65 bits": (
        "benchmarks:\n  - name: ddp\nsteps:\n  burst: 0xfffffffffffffffff\n",
        ["bad.yaml:4: '0xfffffffffffffffff' is too large a number"],
    ),
    "a long value": (
        f"benchmarks:\n  - name: ddp\nsteps: {'x' * 1000}\n",
        [f"bad.yaml:3: steps: expected keys with values; got '{'x' * 27}...{'x' * 28}'"],
    ),
    "control characters in a value": (
        'benchmarks:\n  - name: ddp\nsteps: "\\e[31m\\nred"\n',
        ["bad.yaml:3: steps: expected keys with values; got '\\x1b[31m\\nred'"],
    ),
    "control characters in a key": (
        'benchmarks:\n  - name: ddp\n"\\e[31m": 1\n',
        ["bad.yaml:3: unknown key '\\x1b[31m'; "
         "known: benchmarks, blocks, caches, description, limits, policy, steps"],
    ),
    "control characters in the file": (
        "benchmarks:\n  - name: \x1b[31m\n",
        ["bad.yaml:2: not valid YAML: the character '\\x1b'"],
    ),
    "a tag": (
        "benchmarks:\n  - name: !!python/object/apply:os.system ['true']\n",
        ["bad.yaml:2: the tag '!!python/object/apply:os.system' is not supported"],
    ),
    "an alias": (
        "benchmarks: &all\n  - name: ddp\nsteps: *all\n",
        ["bad.yaml:3: not valid YAML: aliases are not supported; write the value out"],
    ),
    "no YAML": (
        "benchmarks:\n  - name: [ddp\n",
        [
            "bad.yaml:3: not valid YAML: while parsing a flow sequence, "
            "expected ',' or ']', but got '<stream end>'"
        ],
    ),
    "a tab": (
        "benchmarks:\n\t- name: ddp\n",
        [
            "bad.yaml:2: not valid YAML: while scanning for the next token, "
            "found character '\\t' that cannot start any token"
        ],
    ),
    "two documents": (
        "benchmarks: []\n---\nbenchmarks: []\n",
        ["bad.yaml:2: not valid YAML: expected a single document in the stream, but found another document"],
    ),
    "endless nesting": ("[\n" * 2000, ["bad.yaml:1: nested too deeply"]),
    "a list at the top": ("- name: ddp\n", ["bad.yaml:1: expected keys with values; got [{'name': 'ddp'}]"]),
    "all at once, in the order of the lines": (
        "steps: {burst: 0}\nbenchmarks:\n  - name: ddp\nextra: 1\nlimits: {step_s: 0}\n",
        [
            "bad.yaml:1: steps.burst: expected at least 1; got 0",
            "bad.yaml:4: unknown key 'extra'; "
            "known: benchmarks, blocks, caches, description, limits, policy, steps",
            "bad.yaml:5: limits.step_s: expected a number above 0; got 0",
        ],
    ),
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("text", "lines"), WRONG.values(), ids=WRONG)
def test_each_mistake_is_one_line(here: Path, text: str, lines: list[str]) -> None:
    Path("bad.yaml").write_text(text)
    with pytest.raises(SpecError) as refused:
        load_suite(Path("bad.yaml"))
    assert str(refused.value).splitlines() == lines


def test_what_cannot_be_read_is_one_line(here: Path) -> None:
    Path("folder.yaml").mkdir()
    Path("empty.yaml").write_text("# nothing\n")
    Path("latin.yaml").write_bytes(b"description: ok\n# caf\xe9\n")
    Path("no suite.yaml").write_text("benchmarks: [{name: ddp}]")
    expected = {
        "absent.yaml": "absent.yaml: no such file",
        "folder.yaml": "folder.yaml: is a folder; name a YAML file",
        "empty.yaml": "empty.yaml: empty suite; say what to measure, as in 'benchmarks: [{name: ddp}]'",
        "latin.yaml": "latin.yaml:2: is not UTF-8; save the file as UTF-8",
        "no suite.yaml": "no suite.yaml: 'no suite' cannot name a suite; use letters, digits, '.', '_' "
        "and '-', 64 at most, with a letter or digit first",
    }
    for name, line in expected.items():
        with pytest.raises(RequestError) as refused:
            load_suite(Path(name))
        assert str(refused.value) == line


def test_a_suite_knows_the_line_of_every_value(here: Path) -> None:
    Path("s.yaml").write_text(
        "description: x\nbenchmarks:\n  - name: ddp\n    world_size:\n    - 2\n    - 4\n"
        "policy:\n  min_change: 2e-2\n"
    )
    loaded = load_suite(here / "s.yaml")
    assert (loaded.name, loaded.file) == ("s", here / "s.yaml")
    assert loaded.suite.policy.min_change == 0.02
    assert loaded.where(("benchmarks", 0, "name")) == "s.yaml:3"
    assert loaded.where(("benchmarks", 0, "world_size", 1)) == "s.yaml:6"
    assert loaded.where(("benchmarks", 0, "params", "size")) == "s.yaml:3"  # the entry: params is not there
    assert loaded.where(("policy", "must_see")) == "s.yaml:7"
    assert loaded.where(()) == "s.yaml:1"


def test_a_number_with_an_exponent_is_a_number_and_a_date_is_a_text(here: Path) -> None:
    Path("s.yaml").write_text(
        "description: 2024-01-31\nbenchmarks: [{name: ddp, params: {lr: [1e-3, '1e-3']}}]\n"
    )
    suite = load_suite(Path("s.yaml")).suite
    assert suite.description == "2024-01-31"
    assert suite.benchmarks[0].params == {"lr": [0.001, "1e-3"]}


def test_suites_are_found_by_path_then_in_the_project_then_among_ours(here: Path) -> None:
    (here / "configs").mkdir()
    for name in ("commit", "own", "project"):
        (here / "configs" / f"{name}.yaml").write_text("benchmarks: [{name: ddp}]")
    assert find_suite("configs/own.yaml", None) == Path("configs/own.yaml")
    assert find_suite("own", here) == here / "configs" / "own.yaml"
    assert find_suite("commit", here) == here / "configs" / "commit.yaml"
    assert find_suite("commit", None) == shipped() / "configs" / "commit.yaml"
    assert find_suite("smoke", here) == shipped() / "configs" / "smoke.yaml"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("comit", "unknown suite 'comit'; did you mean 'commit'?"),
        ("zzz", "unknown suite 'zzz'; known: commit, own, smoke"),
        ("project", "unknown suite 'project'; known: commit, own, smoke"),
        ("../own", "unknown suite '../own'; did you mean 'own'?"),
        ("\x1b[31m", "unknown suite '\\x1b[31m'; known: commit, own, smoke"),
        ("none.yaml", "no suite file 'none.yaml'"),
    ],
)
def test_an_unknown_suite_is_refused_with_the_known_ones(
    here: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    (here / "configs").mkdir()
    (here / "ours" / "configs").mkdir(parents=True)
    for path in (
        "configs/own.yaml",
        "configs/project.yaml",
        "ours/configs/commit.yaml",
        "ours/configs/smoke.yaml",
    ):
        Path(path).write_text("benchmarks: [{name: ddp}]")
    monkeypatch.setattr("regress.spec.load.shipped", lambda: here / "ours")
    with pytest.raises(RequestError) as refused:
        find_suite(name, here)
    assert str(refused.value) == line


@pytest.mark.parametrize("path", sorted((shipped() / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_what_we_ship_loads(path: Path) -> None:
    if path.stem == "project":
        assert load_project(shipped()).project == Project()  # the file documents the defaults
    else:
        assert isinstance(load_suite(path).suite, Suite)
    assert path.read_text().startswith("# ")


def test_a_wheel_carries_its_suites_inside_the_package(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = here / "site-packages" / "regress"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setattr("regress.__file__", str(package / "__init__.py"))
    with pytest.raises(RequestError, match=r"^the shipped suites are missing; install regress again$"):
        shipped()
    for folder in ("configs", "benchmarks"):
        (package / "suite" / folder).mkdir(parents=True)
    assert shipped() == package / "suite"
