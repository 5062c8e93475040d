from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("torch")

from regress.errors import LaunchError
from regress.launch.catalogs import read_catalogs
from regress.launch.launcher import Code
from regress.record.codec import from_plain
from regress.spec.benchmark import Catalog, Definition
from regress.worker.catalog import load, mount, read_catalog

SIMPLE = '''
"""A module."""
import regress
from .parts import model

@regress.benchmark(world_size=[2, 4], params={"size": ["tiny", "big"], "shard": [True, False]})
def alpha(ctx, *, size, shard):
    """Trains alpha.

    And more.
    """
    return regress.TrainingStep(lambda: model(size))

@regress.benchmark(world_size=2)
def beta(ctx):
    return regress.TrainingStep(lambda: None)
'''
PARTS = '''
def model(size):
    """Builds."""
    return None  # nothing
'''


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / (name.replace("__in__", "/") + ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(dedent(text))
    return folder


def read(folder: Path) -> Catalog:
    """Read in this process, as if for the first time."""
    for name in [name for name in sys.modules if name.startswith("_regress_benchmarks")]:
        del sys.modules[name]
    return read_catalog(folder)


def definition(folder: Path, name: str) -> Definition:
    (found,) = [definition for definition in read(folder).definitions if definition.name == name]
    return found


def digest(folder: Path, name: str = "alpha") -> str:
    return definition(folder, name).digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "suite", simple=SIMPLE, parts=PARTS)


def test_lists_what_is_declared(folder: Path) -> None:
    write(folder, another="import regress\n@regress.benchmark(world_size=1)\ndef gamma(ctx): ...\n")
    write(folder, _hidden="raise RuntimeError", inner__in__deep="raise RuntimeError")

    catalog = read(folder)

    alpha, beta, gamma = catalog.definitions
    assert alpha.name == "alpha"
    assert alpha.world_sizes == (2, 4)
    assert alpha.params == (("size", ("tiny", "big")), ("shard", (True, False)))
    assert alpha.doc == "Trains alpha."
    assert (alpha.file, alpha.line) == ("simple.py", 6)
    assert (beta.name, beta.doc, beta.params) == ("beta", "", ())
    assert (gamma.name, gamma.file, gamma.line) == ("gamma", "another.py", 2)
    assert catalog.failures == ()
    assert catalog.device == "cpu"
    assert catalog.ranks == len(os.sched_getaffinity(0))


def test_what_is_imported_from_a_sibling_is_listed_once(folder: Path) -> None:
    write(folder, user="from .simple import alpha\nfrom . import simple\n")

    assert [found.name for found in read(folder).definitions] == ["alpha", "beta"]


def test_a_declared_benchmark_is_loaded_by_name(folder: Path) -> None:
    read(folder)
    mount(folder)

    declaration = load("alpha", "simple.py")

    assert declaration.world_sizes == (2, 4)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("import os\n\nraise ValueError('boom\\nmore')", 3, "ValueError: boom"),
        ("def f(:\n", 1, "SyntaxError: invalid syntax (broken.py, line 1)"),
        ("\n\nimport nowhere", 3, "ModuleNotFoundError: No module named 'nowhere'"),
        ("import sys\nsys.exit(3)", 2, "SystemExit: 3"),
        (
            "import regress\n@regress.benchmark(world_size=0)\ndef f(ctx): ...",
            2,
            "ValueError: world_size must hold numbers of at least 1, not 0",
        ),
        ("from ._faulty import x", 1, "ZeroDivisionError: division by zero"),
    ],
)
def test_a_file_that_cannot_be_imported_is_named_with_its_line(
    folder: Path, text: str, line: int, message: str
) -> None:
    write(folder, broken=text, _faulty="1 / 0")

    catalog = read(folder)

    failure = catalog.failures[0]
    assert (failure.file, failure.line, failure.message) == ("broken.py", line, message)
    assert [found.name for found in catalog.definitions] == ["alpha", "beta"]


def test_the_digest_ignores_comments_docstrings_and_layout(folder: Path) -> None:
    before = digest(folder)

    write(
        folder,
        simple=SIMPLE.replace("Trains alpha.", "Does.")
        .replace('"""A module."""', "")
        .replace("lambda: model(size)", "  # because\n        lambda: model(\n            size)"),
        parts=PARTS.replace("Builds.", "Makes.").replace("# nothing", ""),
    )

    assert digest(folder) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("simple", "model(size)", "model(shard)"),
        ("simple", '"big"', '"large"'),
        ("simple", "import regress", "import regress, os"),
        ("parts", "return None", "return 0"),
    ],
)
def test_the_digest_changes_with_the_code(folder: Path, name: str, old: str, new: str) -> None:
    before = digest(folder)
    text = (folder / f"{name}.py").read_text()
    assert old in text

    write(folder, **{name: text.replace(old, new)})

    assert digest(folder) != before


def test_the_digest_leaves_out_what_the_benchmark_does_not_use(folder: Path, tmp_path: Path) -> None:
    before = digest(folder)

    write(folder, simple=SIMPLE.replace("lambda: None", "lambda: 0"), unused="x = 1")
    write(tmp_path, outside="x = 1")

    assert digest(folder) == before
    assert digest(folder, "beta") != before


def test_the_digest_follows_a_benchmark_that_the_benchmark_calls(folder: Path) -> None:
    calls = SIMPLE.replace("lambda: model(size)", "beta(ctx).step")
    write(folder, simple=calls)
    before = digest(folder)

    write(folder, simple=calls.replace("lambda: None", "lambda: 0"))

    assert digest(folder) != before


def test_the_digest_covers_packages_of_the_folder(folder: Path) -> None:
    write(
        folder,
        simple=SIMPLE.replace(".parts", ".kit.shapes"),
        kit__in____init__="",
        kit__in__shapes="from ..parts import model\nfrom . import sizes",
        kit__in__sizes="x = 1",
    )
    digests = [digest(folder)]

    for change in (
        {"kit__in____init__": "y = 1"},
        {"kit__in__sizes": "x = 2"},
        {"parts": PARTS.replace("None", "0")},
        {"kit__in__shapes": "from ..parts import model\nfrom . import sizes\nz = 1"},
    ):
        write(folder, **change)
        digests.append(digest(folder))

    assert len(set(digests)) == 5


def test_modules_of_torch_are_named_for_the_server(folder: Path) -> None:
    write(
        folder,
        simple="import torch.nn.functional as F\nfrom torch.distributed.fsdp import fully_shard\n" + SIMPLE,
        parts="import os, torch\n" + PARTS,
    )

    assert definition(folder, "alpha").torch_modules == (
        "torch",
        "torch.distributed.fsdp",
        "torch.nn.functional",
    )


NOISY = """
import os, subprocess, threading, time
print("printed")
os.write(1, b"written\\n")
subprocess.run(["echo", "from a child"])
threading.Thread(target=time.sleep, args=(1000,)).start()
"""


@pytest.mark.torch
def test_what_files_print_and_start_disturbs_nobody(folder: Path) -> None:
    write(folder, noisy=NOISY)

    ended = subprocess.run(
        [sys.executable, "-m", "regress.worker.catalog", str(folder), str(folder / "first")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )

    catalog = from_plain(Catalog, json.loads(ended.stdout))
    assert [found.name for found in catalog.definitions] == ["alpha", "beta"]
    assert "printed" in ended.stderr
    assert "from a child" in ended.stderr


@pytest.mark.torch
def test_a_file_that_ends_the_process_is_a_refusal(folder: Path, tmp_path: Path) -> None:
    write(folder, fatal="import os\nos._exit(0)")
    code = Code(python=sys.executable, variables=(), path=(), benchmarks=str(folder))

    with pytest.raises(LaunchError, match=r"gave no catalog: a file in .*/suite ended it"):
        read_catalogs([code, code], tmp_path / "cache")
