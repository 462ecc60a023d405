"""The entry point: finds the command, and turns every expected failure into one clear line."""

import os
import sys
from importlib import import_module

import click

from midfold import __version__
from midfold.errors import MidfoldError

# Each command is loaded when it is asked for, so that none pays for the others.
_COMMANDS = {"inspect": "midfold.cli.inspect"}


class _LazyGroup(click.Group):
    """A group whose commands live in modules of their own."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = import_module(_COMMANDS[name]).command
        return command


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Try:  midfold inspect TRANSCRIPT.json",
)
@click.version_option(__version__, prog_name="midfold")
def cli() -> None:
    """Keep long LLM conversations inside their token budget without losing anything."""


def main() -> None:
    """Run the command line and leave with its status: 0 done, 1 could not, 2 bad usage or bad input."""
    try:
        sys.exit(cli.main(standalone_mode=False) or 0)
    except click.exceptions.Abort:
        _leave("interrupted", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except MidfoldError as error:
        _leave(str(error), 2)
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("MIDFOLD_TRACEBACK"):
            raise
        _leave(f"internal error: {type(error).__name__}: {error} (MIDFOLD_TRACEBACK=1 shows where)", 70)


def _leave(reason: str, status: int) -> None:
    click.echo(f"midfold: {reason}", err=True)
    sys.exit(status)
