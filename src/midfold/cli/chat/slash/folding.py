"""Commands about folding: now, for show, back, and what stays word for word."""

import re
from dataclasses import dataclass

from rich.text import Text

from midfold.agent import CompressionFinished, Event, Preview, Why
from midfold.cli.chat.slash.base import Choice, Command, Desk, Form, UsageProblem
from midfold.cli.chat.turns import stoppable
from midfold.cli.chat.view.lines import remark, tell_compression
from midfold.cli.finding import ID_CHARS
from midfold.cli.folds import index_bar, stretch_table
from midfold.cli.plain import printable
from midfold.cli.preview import print_preview

_HERE = re.compile(r"here\s+(\d{1,6})(?:\s+|$)")
_PREVIEW = re.compile(r"--preview(?:\s+|$)")
_MOST_PIN_CHARS = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `/compress` is asked for."""

    focus: str | None
    keep_last: int | None
    is_preview: bool


def read_wanted(argument: str) -> Wanted:
    """Read `[--preview] [here N] [focus]`."""
    rest = argument.strip()
    preview = _PREVIEW.match(rest)
    rest = rest[preview.end() :] if preview else rest
    here = _HERE.match(rest)
    rest = rest[here.end() :] if here else rest
    return Wanted(rest.strip() or None, int(here[1]) if here else None, bool(preview))


def compress(desk: Desk, argument: str) -> None:
    wanted = read_wanted(argument)
    if wanted.is_preview:
        _show_preview(desk, desk.agent.preview(wanted.focus, keep_last=wanted.keep_last))
        return
    told: list[Event] = []

    def hear(event: Event) -> None:
        told.append(event)
        desk.view.show(event)

    with desk.view.working("compressing"), stoppable(desk.agent, desk.view):
        result = desk.agent.compress(wanted.focus, keep_last=wanted.keep_last, on_event=hear)
        if not any(isinstance(event, CompressionFinished) for event in told):
            desk.view.say(*tell_compression(result, Why.COMMAND))


def undo(desk: Desk, _argument: str) -> None:
    if not desk.agent.undo():
        desk.say(remark("there is no fold to take back"))
        return
    status = desk.agent.status()
    size = f"{status.messages:,} messages, ~{status.tokens:,} tokens"
    desk.say(
        Text(f"The newest fold was taken back: {size}", style="magenta"),
        remark(f"goes on in session {status.session_id[:ID_CHARS]}"),
    )


def pin(desk: Desk, argument: str) -> None:
    if not argument:
        raise UsageProblem("/pin needs a sentence, which is then kept word for word through every fold")
    desk.agent.pin(argument)
    desk.say(Text(f"pinned: {printable(argument, _MOST_PIN_CHARS)}"))


def unpin(desk: Desk, argument: str) -> None:
    if not argument:
        raise UsageProblem("/unpin needs the sentence, or its number in /pins")
    found = _find_pin(desk.agent.pins, argument)
    was_pinned = desk.agent.unpin(found)
    words = "no longer pinned" if was_pinned else "was not pinned; it will not be taken for a rule"
    desk.say(Text(f"{words}: {printable(found, _MOST_PIN_CHARS)}"))


def pins(desk: Desk, _argument: str) -> None:
    found = desk.agent.pins
    if not found:
        desk.say(remark("nothing is pinned by hand; /pin SENTENCE keeps one through every fold"))
    for number, text in enumerate(found, 1):
        desk.say(Text(f"{number}  {printable(text, _MOST_PIN_CHARS)}"))


def _find_pin(pinned: tuple[str, ...], argument: str) -> str:
    """Return the pin that is meant by its number, or the text itself."""
    is_number = argument.isdecimal() and 1 <= int(argument) <= len(pinned)
    return pinned[int(argument) - 1] if is_number else argument


def _show_preview(desk: Desk, preview: Preview) -> None:
    result, console = preview.result, desk.console
    console.print(result.headline)
    console.print(f"Request size: ~{preview.tokens_before:,} → ~{preview.tokens_after:,} tokens")
    if not preview.changed:
        console.print(remark(preview.reason))
        return
    console.print(index_bar(result.spelled(result.originals)))
    console.print()
    console.print(stretch_table(result.spelled(result.originals)))
    print_preview(preview.forecast, result.spelled(result.originals), 0, console)


def _list_pins(desk: Desk) -> list[Choice]:
    return [Choice(text) for text in desk.agent.pins]


COMMANDS = (
    Command(
        "compress",
        (
            Form("[FOCUS]", "fold now, with most of the summary about FOCUS"),
            Form("here N [FOCUS]", "the same, but the last N exchanges stay"),
            Form("--preview", "show what would be folded, its price and time"),
        ),
        compress,
        choices=lambda _desk: (
            Choice("--preview", "show what would be folded, its price and time"),
            Choice("here ", "keep the last N exchanges"),
        ),
    ),
    Command("undo", (Form("", "take the newest fold back"),), undo),
    Command("pin", (Form("SENTENCE", "keep it word for word through every fold"),), pin),
    Command("unpin", (Form("SENTENCE", "let go of it; its number will do"),), unpin, choices=_list_pins),
    Command("pins", (Form("", "list what is pinned"),), pins),
)
