"""Messages as a person reads them: who, when, and what, a part after the other."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from rich.console import Console
from rich.text import Text

from midfold.cli.finding import ID_CHARS
from midfold.cli.plain import printable
from midfold.cli.session_tables import role_text
from midfold.cli.when import tell_date
from midfold.messages import Media, Message, Opaque, Part, Reasoning, Removed, ToolCall, ToolResult
from midfold.messages import Text as Words
from midfold.redact import redact
from midfold.store import StoredMessage
from midfold.wire import parse

_INDENT = "    "
_MOST_LINES = 12
_MOST_LINE_CHARS = 400
_UNLIMITED = 1 << 30
_ORIGINS = {"summary": "summary", "copy": "shortened", "stub": "shortened"}


def print_messages(
    records: Sequence[StoredMessage], dialect: str, console: Console, *, full: bool = False
) -> None:
    """Print messages; of a long one its beginning, unless `full`."""
    home = records[-1].session_id if records else ""
    for record in records:
        console.print(_heading(record, home), soft_wrap=True)
        message = parse([record.item], dialect)[0]
        for line in _lines(message, full=full):
            for piece in line.wrap(console, max(20, console.width - len(_INDENT))):
                piece.rstrip()
                console.print(Text(_INDENT).append_text(piece), soft_wrap=True)


def _heading(record: StoredMessage, home: str) -> Text:
    place = f"#{record.seq}" if record.session_id == home else f"{record.session_id[:ID_CHARS]} #{record.seq}"
    line = Text.assemble((place, "bold"), "  ").append_text(role_text(record.role))
    facts = [tell_date(record.created_at)]
    facts += [f"{record.tokens:,} tokens"] if record.tokens is not None else []
    facts += [_ORIGINS[record.origin]] if record.origin in _ORIGINS else []
    line.append("  " + " · ".join(facts), style="dim")
    return line.append(f"  {record.condition}", style="bold red") if record.is_damaged else line


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
    """Return how a part is coloured and what it says."""
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
