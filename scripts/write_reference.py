"""Write the reference parts of the docs from the code: `python scripts/write_reference.py`.

They are the help of all commands in docs/cli.md, the commands of the chat in docs/chat.md, and the table of
settings in docs/configuration.md, each between two marks.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from midfold.cli.chat.slash import COMMANDS
from midfold.cli.commands.config import format_value
from midfold.cli.main import cli
from midfold.config import SETTINGS

_DOCS = Path(__file__).parents[1] / "docs"
_BEGIN = "<!-- scripts/write_reference.py writes what follows. -->\n"
_END = "<!-- It ends here. -->\n"
_WIDTH = 80


def write_pages() -> dict[Path, str]:
    """Return every page that has such a part, as it should be."""
    parts = {
        "cli.md": _describe_commands(),
        "chat.md": _list_chat_commands(),
        "configuration.md": _list_settings(),
    }
    return {_DOCS / name: _put_in((_DOCS / name).read_text("utf-8"), part) for name, part in parts.items()}


def _put_in(page: str, part: str) -> str:
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    return f"{before}{begin}\n{part}\n{end}{after}"


def _describe_commands() -> str:
    settings = {**cli.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    top = click.Context(cli, info_name="midfold", **settings)
    return "\n".join(
        section for name, command in _list(cli, top) for section in _describe(command, name, top, 2)
    )


def _describe(command: click.Command, name: str, parent: click.Context, level: int) -> Iterator[str]:
    """Yield the sections of a command and of its own commands."""
    context = click.Context(command, info_name=name, parent=parent)
    yield f"{'#' * level} {context.command_path}\n\n```text\n{command.get_help(context).strip()}\n```\n"
    if isinstance(command, click.Group):
        for each, its_command in _list(command, context):
            yield from _describe(its_command, each, context, level + 1)


def _list(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            yield name, command


def _list_chat_commands() -> str:
    rows = [
        f"| `/{command.name}{' ' if form.usage else ''}{form.usage}` | {form.does} |".replace("\\", "")
        for command in COMMANDS
        for form in command.forms
    ]
    return "\n".join(["| command | does |", "|---|---|", *rows, ""])


def _list_settings() -> str:
    rows = [
        f"| `{setting.key}{'.*' if setting.kind.depth else ''}` | `{format_value(setting.default)}` "
        f"| {setting.kind.allowed} | {setting.meaning} |"
        for setting in SETTINGS
    ]
    return "\n".join(["| key | default | allowed | what |", "|---|---|---|---|", *rows, ""])


if __name__ == "__main__":
    for path, text in write_pages().items():
        path.write_text(text, "utf-8")
        sys.stdout.write(f"written: {path}\n")
