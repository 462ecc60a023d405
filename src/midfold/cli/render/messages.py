"""One stored message for a terminal: its words, calls and results, indented."""

from collections.abc import Iterator
from typing import assert_never

from rich.console import Console
from rich.text import Text

from midfold.cli.terminal import printable
from midfold.messages import Media, Message, Opaque, Part, Reasoning, Removed, ToolCall, ToolResult
from midfold.messages import Text as Words
from midfold.redact import redact
from midfold.store import StoredMessage
from midfold.wire import parse

_INDENT = "    "
_MOST_LINES = 12
_MOST_LINE_CHARS = 400
_UNLIMITED = 1 << 30


def print_message_text(
    record: StoredMessage, dialect: str | None, console: Console, *, full: bool = False
) -> None:
    """Print what a message says, indented; of a long one its beginning, unless `full`."""
    for line in _lines(parse([record.item], dialect)[0], full=full):
        for piece in line.wrap(console, max(20, console.width - len(_INDENT))):
            piece.rstrip()
            console.print(Text(_INDENT).append_text(piece), soft_wrap=True)


def _lines(message: Message, *, full: bool) -> Iterator[Text]:
    most_lines, most_chars = (_UNLIMITED, _UNLIMITED) if full else (_MOST_LINES, _MOST_LINE_CHARS)
    for part in message.parts:
        style, text = _say(part)
        lines = redact(text).strip("\n").split("\n")
        for line in lines[:most_lines]:
            yield Text(printable(line.expandtabs(4).rstrip(), most_chars), style=style)
        if len(lines) > most_lines:
            yield Text(f"… and {len(lines) - most_lines:,} lines more; --full shows all", style="dim")


def _say(part: Part) -> tuple[str, str]:
    """Return the style and the text of a part."""
    match part:
        case Words(text):
            return "", text
        case Reasoning(text):
            return "dim italic", f"(thinking) {text or 'hidden'}"
        case ToolCall(_, name, arguments):
            return "yellow", f"→ {name} {arguments}"
        case ToolResult(_, text, _, media):
            return "", "\n".join([text, *(f"[{item.kind}]" for item in media)])
        case Media(kind):
            return "dim", f"[{kind}]"
        case Opaque(kind, text):
            return "dim", f"[{kind}] {text}"
        case Removed():
            return "dim", ""
        case _:
            assert_never(part)
