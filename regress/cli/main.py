"""`regress`: the command group, and how every command ends.

Each command lives in a module of its own, imported when it is called: `regress --help` and
a wrong argument answer without numpy, scipy or torch.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Sequence

import regress
from regress.cli.arguments import Parser
from regress.errors import RegressError, RequestError

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

CANNOT_TELL = 3
"""Exit status when the tool itself failed: never that of a regression."""

COMMANDS = {
    "compare": ("regress.cli.compare", "Measure two sides and say whether head is slower."),
    "run": ("regress.cli.run", "Measure one side and keep it."),
    "report": ("regress.cli.report", "Show a stored run, or two of them side by side."),
    "history": ("regress.cli.history", "Show how stored runs moved, and at which commits."),
    "calibrate": ("regress.cli.calibrate", "Measure how small a slowdown this machine can see."),
    "list": ("regress.cli.list", "List benchmarks, suites and stored runs."),
    "baseline": ("regress.cli.baseline", "Say which run others are compared with."),
    "doctor": ("regress.cli.doctor", "Say what this machine can measure, and what will disturb it."),
    "init": ("regress.cli.init", "Write a first benchmark, suite and project file."),
    "schema": ("regress.cli.schema", "Print the JSON Schema of our files."),
}
"""Module and one line for each command, in the order of the help."""


MEASURING = ("compare", "run", "calibrate")
"""Commands that go on where they were interrupted."""

DESCRIPTION = """Tell whether distributed training got slower, by how much, and how sure that is.

exit status: 0 nothing regressed, 1 regressed or broken, 2 wrong request, 3 could not tell,
4 inconclusive (with --fail-on inconclusive), 130 interrupted"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without our signs shows others, not a traceback
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status; every known failure is one line."""
    try:
        return _command(arguments)
    except SystemExit as end:  # --help and --version have said all
        return end.code if isinstance(end.code, int) else 0
    except RegressError as error:
        return _fail(str(error), error.exit_status)
    except KeyboardInterrupt:
        measuring = bool(arguments) and (arguments[0] in MEASURING or "--confirm" in arguments)
        kept = "; launches that had ended are kept, and the same command goes on" if measuring else ""
        return _fail(f"interrupted{kept}", INTERRUPTED)
    except BrokenPipeError:
        from regress.cli.output import discard_output

        discard_output()
        return CANNOT_TELL
    except Exception:
        import traceback

        traceback.print_exc()
        return _fail("this is a defect of regress, not a result", CANNOT_TELL)


def _command(arguments: Sequence[str]) -> int:
    """Import the command that is called, and leave the rest of the line to it."""
    name, *rest = arguments or [""]
    if name in COMMANDS:
        module = importlib.import_module(COMMANDS[name][0])
        parser = Parser(f"regress {name}", module.DESCRIPTION)
        module.add_arguments(parser)
        status: int = module.run(parser.parse_args(rest))
        return status
    if not name:
        raise RequestError(f"no command; known: {', '.join(COMMANDS)} (`regress --help` says what each does)")
    if not name.startswith("-"):
        import difflib

        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(COMMANDS)}"
        raise RequestError(f"unknown command {name!r:.80}; {hint}")
    parser = Parser("regress", DESCRIPTION)
    parser.usage = "regress COMMAND ..."
    parser.epilog = "commands:\n" + "\n".join(f"  {name:9} {line}" for name, (_, line) in COMMANDS.items())
    parser.add_argument("--version", action="version", version=f"regress {regress.__version__}")
    parser.parse_args(arguments)
    raise RequestError("no command comes after these options (`regress --help` says more)")


def _fail(message: str, status: int) -> int:
    from regress.report.words import clean

    for line in message.splitlines():
        print(f"regress: {clean(line, limit=1000)}", file=sys.stderr)
    return status
