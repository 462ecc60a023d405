"""`/model`: going on with another model."""

import shlex
from dataclasses import dataclass

from rich.text import Text

from midfold.cli.chat.slash.base import Choice, Command, Desk, Form, UsageProblem
from midfold.cli.chat.turns import stoppable
from midfold.cli.chat.view.lines import remark
from midfold.cli.chat.view.status import start_line
from midfold.cli.plain import printable
from midfold.errors import StillTooLarge

_USAGE = "/model NAME [--base-url URL] [--context-length N]"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which model is meant."""

    name: str
    base_url: str | None = None
    context_length: int | None = None


def read_wanted(argument: str) -> Wanted:
    """Read a name with its options; raises `UsageProblem`."""
    try:
        words = shlex.split(argument)
    except ValueError as error:
        raise UsageProblem(f"{_USAGE}: {error}") from None
    names: list[str] = []
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            options[word] = next(rest, "")
        else:
            names.append(word)
    length = options.pop("--context-length", "")
    base_url = options.pop("--base-url", None)
    is_number = not length or (length.isdecimal() and int(length) > 0)
    if len(names) != 1 or options or not is_number or base_url == "":
        raise UsageProblem(_USAGE)
    return Wanted(names[0], base_url, int(length) if length else None)


def switch(desk: Desk, argument: str) -> None:
    agent = desk.agent
    if not argument:
        desk.say(start_line(agent.status()), remark(f"{_USAGE} goes on with another one"))
        return
    wanted = read_wanted(argument)
    base_url = wanted.base_url or _address_so_far(desk, wanted.name)
    is_done = False
    try:
        with desk.view.working(f"switching to {printable(wanted.name)}"), stoppable(agent, desk.view):
            is_done = agent.set_model(
                wanted.name, base_url=base_url, context_length=wanted.context_length, on_event=desk.view.show
            )
    except StillTooLarge:
        if not agent.status().enabled:
            desk.say(remark("compression.enabled is false, so nothing was folded; /compress makes room"))
        raise
    if not is_done:
        desk.say(Text("stopped; the model stays as it is", style="yellow"))
    desk.say(start_line(agent.status()))


def _address_so_far(desk: Desk, name: str) -> str | None:
    """Return where the model so far is, for a name that says nothing else.

    A provider that nobody knows is a slip of the pen, unless the model so far is named after it, too: servers
    of one's own have models such as `Qwen/Qwen3-8B`.
    """
    status = desk.agent.status()
    prefix, slash, _ = name.partition("/")
    provider = desk.providers.get(prefix)
    if not slash or (provider is not None and not provider.base_url):
        return status.base_url
    is_neighbour = provider is None and status.model.startswith(f"{prefix}/")
    return status.base_url if is_neighbour else None


def _list_models(desk: Desk) -> list[Choice]:
    return [Choice(f"{name}/") for name, provider in desk.providers.items() if provider.base_url]


COMMANDS = (Command("model", (Form("NAME", "go on with another model"),), switch, choices=_list_models),)
