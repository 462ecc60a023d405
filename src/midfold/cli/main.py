"""The entry point: finds the command, and turns every expected failure into one clear line."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import click

from midfold import __version__
from midfold.cli.terminal import OutputClosed, drop_output, flush_output, own_streams, printable, soften
from midfold.errors import MidfoldError

# A command is loaded when it is asked for, so that none pays for the others, and the list of them for none.
COMMANDS = {
    "chat": "Talk with an agent that uses files and commands.",
    "compact": "Fold a Claude Code or Codex session and resume it.",
    "compress": "Compress transcripts.",
    "config": "Show or check the settings.",
    "demo": "Fold a long coding session and show what survived.",
    "doctor": "Check settings, files and the session store.",
    "eval": "Measure what a compression keeps.",
    "insights": "Show usage, cost and savings of the last days.",
    "inspect": "Show what fills the window.",
    "keys": "Create, list and revoke gateway keys.",
    "mcp": "Serve stored conversations to MCP clients.",
    "models": "List or forget learnt context windows.",
    "plugins": "List the available context engines.",
    "serve": "Serve OpenAI and Anthropic clients through the gateway.",
    "sessions": "List, search, show, move and delete sessions.",
    "trajectories": "Compress finished agent runs for training.",
    "usage": "Show usage and cost of a session.",
    "wrap": "Run a client through its own gateway.",
}
_OBJECTS_OF_A_LOOK = 50_000
_MOST_ERROR_CHARS = 300
# A group without a command shows its help; before click 8.2 that was no error.
_HELP_SHOWN = getattr(click.exceptions, "NoArgsIsHelpError", ())


class _PipeBroke(Exception):
    """A pipe that broke, carried past click."""


class _LazyGroup(click.Group):
    """A group whose commands live in modules of their own."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"midfold.cli.commands.{name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(name.lower(), COMMANDS, n=1)
            advice = f"did you mean midfold {near[0]}?" if near else "see midfold --help"
            raise click.UsageError(f"there is no command {printable(name)!r}; {advice}")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # The commands are the options that matter here; with two more sections they scroll out of sight.
        self.format_commands(ctx, formatter)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Without the usual empty line before it all of the help is in sight on 24 rows.
        formatter.write(f"  {self.epilog}\n")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _raise_past_click():  # prints the help
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        with _raise_past_click():
            return super().invoke(ctx)


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="midfold COMMAND --help explains one; midfold --version prints the version.",
)
@click.version_option(__version__, prog_name="midfold")
def cli() -> None:
    """Keep long LLM conversations in their token budget without losing anything."""


@contextmanager
def _raise_past_click() -> Iterator[None]:
    """Carry a broken pipe past click, which would leave with status 1 and say nothing."""
    try:
        yield
    except BrokenPipeError as error:
        raise _PipeBroke from error


def main() -> None:
    """Run the command line and leave with its status: 0 done, 1 could not, 2 bad usage or bad input."""
    _put_off_collecting()
    own_streams()
    soften(sys.stdout)
    soften(sys.stderr)
    try:
        status = cli.main(prog_name="midfold", standalone_mode=False) or 0
        flush_output()
        sys.exit(status)
    except click.exceptions.Abort:
        _exit_with("interrupted", 130)
    except click.ClickException as error:
        _leave_usage(error)
    except MidfoldError as error:
        _exit_with(str(error), 2)
    except _PipeBroke as broke:
        drop_output()
        if isinstance(broke.__cause__, OutputClosed):
            sys.exit(0)
        _exit_with("a pipe to another process broke before the work was done", 2)
    except OSError as error:
        drop_output()
        where = f"{error.filename}: " if error.filename else ""
        _exit_with(f"{where}{error.strerror or error}", 2)
    except Exception as error:
        if os.environ.get("MIDFOLD_TRACEBACK"):
            raise
        what = printable(f"{type(error).__name__}: {error}", _MOST_ERROR_CHARS - 60)
        _exit_with(f"internal error: {what} (MIDFOLD_TRACEBACK=1 shows where)", 70)


def _put_off_collecting() -> None:
    """Look for garbage more rarely; a tenth of a start is spent on looking through modules.

    It stays so, since nothing may call back from the collector: a signal that is handled there is lost.
    """
    usual = gc.get_threshold()
    if 0 < usual[0] < _OBJECTS_OF_A_LOOK:
        gc.set_threshold(_OBJECTS_OF_A_LOOK, *usual[1:])


def _leave_usage(error: click.ClickException) -> None:
    if isinstance(error, _HELP_SHOWN):
        error.show()
        sys.exit(error.exit_code)
    context = error.ctx if isinstance(error, click.UsageError) else None
    message = error.format_message()
    if context is not None:
        message += f"{'' if message.endswith(('.', '?')) else '.'} Try {context.command_path} --help"
    _exit_with(message, error.exit_code)


def _exit_with(reason: str, status: int) -> None:
    click.echo(f"midfold: {printable(reason, _MOST_ERROR_CHARS)}", err=True)
    sys.exit(status)
