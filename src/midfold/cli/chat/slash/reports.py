"""Commands that only look: what was used, how things stand, what fills the window, what is remembered."""

import time

from rich.text import Text

from midfold.agent import Status
from midfold.cli.chat.slash.base import ChatContext, CommandForm, SlashCommand, UsageProblem
from midfold.cli.chat.view.lines import describe_window_source, format_times, remark
from midfold.cli.chat.view.text import clean
from midfold.cli.render.context import context_bar, section_grid
from midfold.cli.render.format import format_cost
from midfold.cli.render.grid import Grid, print_grid
from midfold.cli.render.usage import print_insights, print_session_usage, tool_grid
from midfold.cli.terminal import printable
from midfold.config import CacheTtl
from midfold.engines import ContextBreakdown, section_breakdown
from midfold.errors import SessionNotFound
from midfold.tokens import TokenCounter
from midfold.usage import MOST_DAYS, read_insights, read_session_usage

_DAYS = 30
_MOST_CHARS = 200
_MOST_BAR_CELLS = 64


def usage(chat: ChatContext, _argument: str) -> None:
    try:
        report = read_session_usage(chat.agent.store, chat.agent.session_id, whole_chain=True)
    except SessionNotFound:
        chat.say(remark("there are no messages yet"))
        return
    print_session_usage(report, chat.console)


def insights(chat: ChatContext, argument: str) -> None:
    is_number = argument.isdecimal() and len(argument) <= len(str(MOST_DAYS))
    if argument and not (is_number and 1 <= int(argument) <= MOST_DAYS):
        raise UsageProblem(
            f"/insights takes a number of days up to {MOST_DAYS:,}, not {printable(argument, _MOST_CHARS)}"
        )
    found = read_insights(chat.agent.store, now=time.time(), days=int(argument or _DAYS))
    print_insights(found, "day", chat.console)


def status(chat: ChatContext, _argument: str) -> None:
    found = chat.agent.status()
    rows = [
        [Text(name, style="dim"), Text(printable(words, _MOST_CHARS))]
        for name, words in _describe(found, format_cost(chat.agent.usage().cost))
        if words
    ]
    for line in Grid(("", ""), rows, words=(0, 1)).lines(chat.console.width)[1:]:
        chat.console.print(line, soft_wrap=True)


def context(chat: ChatContext, _argument: str) -> None:
    agent, console = chat.agent, chat.console
    found = agent.status()
    remembered = agent.memory.show()
    memory_tokens = TokenCounter(found.model).count_text(remembered) if remembered in agent.system else 0
    parts = section_breakdown(
        agent.messages,
        agent.context(),
        chat.settings.policy(found.window_tokens),
        memory_tokens=memory_tokens,
    )
    console.print(context_bar(parts, min(_MOST_BAR_CELLS, console.width)))
    console.print(_format_room(parts), soft_wrap=True)
    if found.tokens_from != "counted":
        console.print(f"{found.tokens:,} by the last report and what came after it", style="dim")
    print_grid(section_grid(parts), console)
    if parts.tools:
        print_grid(tool_grid(parts.tools), console)


def _format_room(parts: ContextBreakdown) -> Text:
    line = Text(f"{parts.tokens:,} tokens counted", style="bold")
    facts = (
        f" of {parts.context_length:,}, {parts.free_tokens:,} free; next fold at {parts.threshold_tokens:,}"
    )
    return line.append(facts, style="not bold")


def memory(chat: ChatContext, _argument: str) -> None:
    found = chat.agent.memory
    words = clean(found.show())
    if words:
        from midfold.cli.chat.view.markdown import render  # a hundred modules, which few chats need here

        for line in render(words, chat.console):
            chat.console.print(Text.assemble(*((part.text, part.style or "") for part in line)))
    else:
        chat.say(remark("the memory is empty; ask the agent to remember something"))
    chat.say(*(remark(str(path)) for path in found.files))


def _describe(status: Status, cost: str) -> list[tuple[str, str]]:
    return [
        ("session", status.session_id),
        ("conversation", status.conversation_id if status.conversation_id != status.session_id else ""),
        ("model", f"{status.model} at {status.base_url} ({status.api})"),
        ("window", f"{status.window_tokens:,} tokens ({describe_window_source(status)})"),
        ("next request", _format_request(status)),
        ("next fold", _format_threshold(status)),
        ("compressed", format_times(status.compressions) if status.compressions else "not yet"),
        ("preparation", status.preparation if status.preparation != "idle" else ""),
        ("put off", status.waits),
        ("messages", f"{status.messages:,}"),
        ("caching", _format_caching(status)),
        ("cost", cost.removeprefix("cost ")),
        ("workspace", str(status.workspace)),
    ]


def _format_request(status: Status) -> str:
    return f"{status.tokens:,} tokens, {status.percent:.0f}% of the window ({status.tokens_from})"


def _format_caching(status: Status) -> str:
    words = status.caching
    if status.cache_hit_rate:
        words += f", {status.cache_hit_rate:.0%} read"
    if status.cache_busts:
        causes = ", ".join(dict.fromkeys(bust.cause.value for bust in status.cache_busts))
        words += f", went cold {format_times(len(status.cache_busts))}: {causes}"
    lasts_minutes = status.caching.endswith(f"{CacheTtl.FIVE_MINUTES})")
    return f"{words}; for talks with breaks, model.cache_ttl: 1h" if lasts_minutes else words


def _format_threshold(status: Status) -> str:
    if not status.enabled:
        return "only when you ask for it: compression.enabled is false"
    return f"at {status.threshold_tokens:,} tokens"


COMMANDS = (
    SlashCommand("usage", (CommandForm("", "show usage and cost of this conversation"),), usage),
    SlashCommand(
        "insights", (CommandForm("[DAYS]", "show usage, cost and savings of the last days"),), insights
    ),
    SlashCommand("status", (CommandForm("", "show model, session and window"),), status),
    SlashCommand("context", (CommandForm("", "show what fills the window"),), context),
    SlashCommand("memory", (CommandForm("", "show the memory"),), memory),
)
