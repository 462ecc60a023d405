"""`midfold chat`: the command and its options; what it takes to hold a chat is loaded when one is held."""

import shlex
from pathlib import Path
from typing import TypedDict, Unpack

import click

from midfold.cli.options import complete_model, complete_session, read_tokens
from midfold.cli.terminal import printable_path
from midfold.config import find_home, load_settings
from midfold.wire.apis import APIS

_NO_MODEL = (
    "midfold chat needs a model: set a provider's key, or name a model.",
    "  export ANTHROPIC_API_KEY=...                its key alone is enough",
    "  midfold chat --model openai/gpt-5-mini      a provider's model",
    "  midfold chat --model qwen3 --base-url http://127.0.0.1:8080/v1   a local one",
    "  midfold chat --resume latest                the last conversation",
    "For every chat: model.name in {file}",
)
_EPILOG = """\b
Examples:
  midfold chat --model anthropic/claude-sonnet-4-6
  midfold chat --model qwen3 --base-url http://127.0.0.1:8080/v1
  midfold chat --resume latest
  midfold chat -p "which tests fail, and why?" --yes > answer.md
"""


class ChatOptions(TypedDict):
    """Options of the agent, as the command line has them."""

    model: str | None
    base_url: str | None
    api: str | None
    context_length: int | None
    workspace: Path | None
    allow: tuple[Path, ...]
    env: tuple[str, ...]
    no_tools: bool


def _refuse_words(_context: click.Context, _argument: click.Parameter, words: tuple[str, ...]) -> None:
    if words:
        raise click.UsageError(f"a prompt goes behind -p: midfold chat -p {shlex.quote(' '.join(words))}")


_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command(epilog=_EPILOG)
@click.option("-p", "--prompt", metavar="PROMPT", help="Take one turn and exit; - reads standard input.")
@click.option("--json", "as_json", is_flag=True, help="With -p: print events, one JSON object a line.")
@click.option(
    "--resume",
    "session",
    metavar="ID",
    shell_complete=complete_session,
    help="Continue a session: an id, its beginning, or latest.",
)
@click.option(
    "--model",
    metavar="NAME",
    shell_complete=complete_model,
    help="provider/model, or any name with --base-url.",
)
@click.option("--base-url", metavar="URL", help="Address of the model; default: its provider's.")
@click.option(
    "--api",
    type=click.Choice(sorted(APIS)),
    metavar="NAME",
    help=f"API at that address: {', '.join(sorted(APIS))}.",
)
@click.option(
    "--context-length", type=read_tokens, metavar="N", help="Context window of the model, such as 32k."
)
@click.option("--workspace", type=_FOLDER, metavar="DIR", help="Folder for tools; default: the current one.")
@click.option(
    "--allow",
    type=_FOLDER,
    metavar="DIR",
    multiple=True,
    help="Another folder for file tools; may be repeated.",
)
@click.option(
    "--env",
    metavar="NAME",
    multiple=True,
    help="Pass this variable to commands although its name looks like a credential; may be repeated.",
)
@click.option("--accept-edits", is_flag=True, help="Write plain files without asking; ask for commands.")
@click.option("--yes", "everything", is_flag=True, help="Allow everything without asking. Dangerous.")
@click.option("--no-tools", is_flag=True, help="Offer the model no tools.")
@click.argument("words", nargs=-1, metavar="", callback=_refuse_words, expose_value=False)
def command(
    prompt: str | None,
    as_json: bool,
    session: str | None,
    accept_edits: bool,
    everything: bool,
    **given: Unpack[ChatOptions],
) -> int:
    """Talk with an agent that reads, writes and searches files, runs commands and remembers.

    It asks before it writes a file, runs a command or changes its memory.

    It folds the conversation before it outgrows the model's window, and stores every message. /help lists the
    commands. Exits with status 1 when a turn fails.
    """
    if as_json and prompt is None:
        raise click.UsageError("--json needs -p PROMPT")
    # Help, and a mistake in an option, should not wait for all that an agent needs.
    if session is not None and given["model"] is None and given["base_url"] is None:
        from midfold.cli.chat.resume import restore_model

        restore_model(session, given)
    settings = load_settings(flags={"model.name": given["model"]})
    if settings.model.name is None and given["base_url"] is None:
        from midfold.cli.chat.first_model import choose_model

        settings = load_settings(flags={"model.name": choose_model()})
    if settings.model.name is None:
        for line in _NO_MODEL:
            click.echo(line.format(file=printable_path(find_home() / "config.yaml", 200)), err=True)
        return 2
    from midfold.cli.chat.session import Allowed, start

    allowed = Allowed(edits=accept_edits, everything=everything)
    return start(settings, given, prompt=prompt, as_json=as_json, session=session, allowed=allowed)
