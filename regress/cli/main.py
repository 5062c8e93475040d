"""`regress`: the command group, and how every command ends.

Each command lives in a module of its own, imported when it is called: `regress --help` and
a wrong argument answer without numpy, scipy or torch.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Sequence

import click

import regress
from regress.cli.output import discard_output
from regress.errors import RegressError, RequestError

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

CANNOT_TELL = 3
"""Exit status when the tool itself failed: never that of a regression."""

COMMANDS = {
    "compare": ("regress.cli.compare", "Measure two sides and say whether head is slower."),
    "run": ("regress.cli.run", "Measure one side and keep it."),
    "report": ("regress.cli.report", "Show a stored run, or two of them side by side."),
    "list": ("regress.cli.list", "List benchmarks, suites and stored runs."),
}
"""Module and one line for each command, in the order of the help."""


class Commands(click.Group):
    """Imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that holds the command; it is called ``command`` there."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a call that names no command."""
        if not args:
            raise RequestError(
                f"no command; known: {', '.join(COMMANDS)} (`regress --help` says what each does)"
            )
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one may be meant."""
        if args and args[0] not in COMMANDS:
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(COMMANDS)}"
            raise RequestError(f"unknown command {args[0]!r:.80}; {hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=Commands)
@click.version_option(regress.__version__, message="regress %(version)s")
def cli() -> None:
    """Tell whether distributed training got slower, by how much, and how sure that is.

    Exit status: 0 nothing regressed, 1 regressed or broken, 2 wrong request,
    3 could not tell, 4 inconclusive (with --fail-on inconclusive).
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without our signs shows others, not a traceback
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status; every known failure is one line.

    Not by `click.Command.main`: that ends with status 1, which is a regression's, when nobody
    reads the output any more.
    """
    try:
        with cli.make_context("regress", list(arguments)) as context:
            status = cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "regress"
        message = error.format_message().rstrip(".")
        return _fail(f"{message} (`{command} --help` says more)", RequestError.exit_status)
    except RegressError as error:
        return _fail(str(error), error.exit_status)
    except KeyboardInterrupt:
        return _fail("interrupted; what was measured is kept in the store", INTERRUPTED)
    except BrokenPipeError:
        discard_output()
        return CANNOT_TELL
    except Exception:
        import traceback

        traceback.print_exc()
        return _fail("this is a defect of regress, not a result", CANNOT_TELL)
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int) -> int:
    from regress.report.words import clean

    for line in message.splitlines():
        print(f"regress: {clean(line, limit=1000)}", file=sys.stderr)
    return status
