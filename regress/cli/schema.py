"""`regress schema`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from regress.cli.arguments import Parser
from regress.cli.output import STDOUT, check_writable, write
from regress.errors import RequestError

KINDS = {
    "suite": "configs/<suite>.yaml: what is measured, and what counts as a regression",
    "project": "configs/project.yaml: store, benchmarks, environments",
    "comparison": "what `regress compare --json` writes",
    "foresight": "what `regress compare --plan --json` writes",
    "history": "what `regress history --json` writes",
    "calibration": "what `regress calibrate --json` writes",
    "diagnosis": "what `regress doctor --json` writes",
    "launch": "a launch file of a stored run",
    "manifest": "plan.json of a stored run",
    "baseline": "baselines/<suite>/<platform>.json",
}
"""What each schema describes, by its name."""

DESCRIPTION = """Print the JSON Schema (draft 2020-12) of one of our files; without NAME list them.

Editors complete and check a suite that begins with the line
# yaml-language-server: $schema=PATH/suite.schema.json"""


def add_arguments(parser: Parser) -> None:
    """Declare what can be asked for."""
    parser.add_argument("name", metavar="NAME", nargs="?", help=", ".join(KINDS))
    parser.add_argument(
        "--write", metavar="DIR", help="write NAME.schema.json there, or all; made if missing"
    )


def run(arguments: argparse.Namespace) -> int:
    """List, print or write."""
    name = arguments.name
    if name is not None and name not in KINDS:
        from regress.spec.benchmark import alternatives

        raise RequestError(f"unknown schema {name!r:.80}{alternatives(name, KINDS)}")
    if arguments.write is not None:
        return _write(Path(arguments.write), [name] if name else list(KINDS))
    if name is not None:
        write(STDOUT, _text(name))
        return 0
    write(STDOUT, "".join(f"{kind:11} {what}\n" for kind, what in KINDS.items()))
    return 0


def _write(folder: Path, names: list[str]) -> int:
    """Write files that editors can be told of; those that are there are replaced."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"{str(folder)!r:.80} cannot be made: {error.strerror}; name another with --write"
        ) from None
    files = {name: str(folder / f"{name}.schema.json") for name in names}
    check_writable(*files.values())
    texts = {name: _text(name) for name in names}
    for name, file in files.items():
        write(file, texts[name])
        write(STDOUT, f"{file}\n")
    return 0


def _text(name: str) -> str:
    from regress.flows.schema import json_schema

    return json.dumps(json_schema(name), indent=2) + "\n"
