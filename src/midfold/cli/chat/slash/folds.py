"""Commands about folding: now, for show, back, and what stays word for word."""

import re

from rich.text import Text

from midfold.agent import CompressionFinished, Event, Preview, Why
from midfold.cli.chat.slash.base import ChatContext, CommandForm, SlashCommand, Suggestion, UsageProblem
from midfold.cli.chat.turns import stoppable
from midfold.cli.chat.view.lines import compression_lines, remark
from midfold.cli.conversations import ID_CHARS
from midfold.cli.render.compression import index_bar, stretch_table
from midfold.cli.render.preview import print_preview
from midfold.cli.terminal import printable
from midfold.late_dataclasses import dataclass

_HERE = re.compile(r"here\s+(\d{1,6})(?:\s+|$)")
_PREVIEW = re.compile(r"--preview(?:\s+|$)")
_MOST_PIN_CHARS = 300


@dataclass(frozen=True, slots=True)
class CompressRequest:
    """The arguments of `/compress`."""

    focus: str | None
    keep_last: int | None
    is_preview: bool


def read_compress_request(argument: str) -> CompressRequest:
    """Read `[--preview] [here N] [focus]`."""
    rest = argument.strip()
    preview = _PREVIEW.match(rest)
    rest = rest[preview.end() :] if preview else rest
    here = _HERE.match(rest)
    rest = rest[here.end() :] if here else rest
    return CompressRequest(rest.strip() or None, int(here[1]) if here else None, bool(preview))


def compress(chat: ChatContext, argument: str) -> None:
    wanted = read_compress_request(argument)
    if wanted.is_preview:
        _show_preview(chat, chat.agent.preview(wanted.focus, keep_last=wanted.keep_last))
        return
    shown: list[Event] = []

    def show(event: Event) -> None:
        shown.append(event)
        chat.view.show(event)

    with chat.view.working("compressing"), stoppable(chat.agent, chat.view):
        result = chat.agent.compress(wanted.focus, keep_last=wanted.keep_last, on_event=show)
        if not any(isinstance(event, CompressionFinished) for event in shown):
            chat.view.say(*compression_lines(result, Why.COMMAND))


def undo(chat: ChatContext, _argument: str) -> None:
    if not chat.agent.undo():
        chat.say(remark("there is no fold to undo"))
        return
    status = chat.agent.status()
    size = f"{status.messages:,} messages, ~{status.tokens:,} tokens"
    chat.say(
        Text(f"Undone: the newest fold or correction: {size}", style="magenta"),
        remark(f"continues in session {status.session_id[:ID_CHARS]}"),
    )


def pin(chat: ChatContext, argument: str) -> None:
    if not argument:
        raise UsageProblem("/pin needs a sentence; every fold keeps it word for word")
    chat.agent.pin(argument)
    chat.say(Text(f"pinned: {printable(argument, _MOST_PIN_CHARS)}"))


def unpin(chat: ChatContext, argument: str) -> None:
    if not argument:
        raise UsageProblem("/unpin needs the sentence, or its number in /pins")
    found = _find_pin(chat.agent.pins, argument)
    was_pinned = chat.agent.unpin(found)
    words = "no longer pinned" if was_pinned else "was not pinned; it will not be taken for a rule"
    chat.say(Text(f"{words}: {printable(found, _MOST_PIN_CHARS)}"))


def pins(chat: ChatContext, _argument: str) -> None:
    found = chat.agent.pins
    if not found:
        chat.say(remark("no pins; /pin SENTENCE keeps a sentence through every fold"))
    for number, text in enumerate(found, 1):
        chat.say(Text(f"{number}  {printable(text, _MOST_PIN_CHARS)}"))
    rules = chat.agent.rules
    if rules:
        chat.say(remark("rules found in your messages, kept as well; /unpin drops one:"))
    for rule in rules:
        where = "" if rule.index is None else f" [{rule.index}]"
        chat.say(Text(f"-  {printable(rule.text, _MOST_PIN_CHARS)}{where}"))


def _find_pin(pinned: tuple[str, ...], argument: str) -> str:
    """Return the pin that is meant by its number, or the text itself."""
    is_number = argument.isdecimal() and 1 <= int(argument) <= len(pinned)
    return pinned[int(argument) - 1] if is_number else argument


def _show_preview(chat: ChatContext, preview: Preview) -> None:
    result, console = preview.result, chat.console
    console.print(result.headline)
    console.print(f"Request size: ~{preview.tokens_before:,} → ~{preview.tokens_after:,} tokens, counted")
    if not preview.changed:
        console.print(remark(preview.reason))
        return
    console.print(index_bar(result.with_messages([*result.originals])))
    console.print()
    console.print(stretch_table(result.with_messages([*result.originals])))
    print_preview(preview.forecast, result.with_messages([*result.originals]), 0, console)


def _list_pins(chat: ChatContext) -> list[Suggestion]:
    return [Suggestion(text) for text in chat.agent.pins]


COMMANDS = (
    SlashCommand(
        "compress",
        (
            CommandForm("[FOCUS]", "fold now; FOCUS gets most of the summary"),
            CommandForm("here N [FOCUS]", "fold, but keep the last N exchanges"),
            CommandForm("--preview", "show the plan, its price and time"),
        ),
        compress,
        choices=lambda _chat: (
            Suggestion("--preview", "show the plan, its price and time"),
            Suggestion("here ", "keep the last N exchanges"),
        ),
    ),
    SlashCommand("undo", (CommandForm("", "undo the newest fold"),), undo),
    SlashCommand("pin", (CommandForm("SENTENCE", "keep a sentence word for word through every fold"),), pin),
    SlashCommand(
        "unpin",
        (CommandForm("SENTENCE", "unpin a sentence, by its text or number"),),
        unpin,
        choices=_list_pins,
    ),
    SlashCommand("pins", (CommandForm("", "list pins, and the rules found"),), pins),
)
