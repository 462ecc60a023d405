"""`/model`: going on with another model."""

import shlex

from rich.text import Text

from midfold.cli.chat.slash.base import ChatContext, CommandForm, SlashCommand, Suggestion, UsageProblem
from midfold.cli.chat.turns import stoppable
from midfold.cli.chat.view.lines import remark, start_line
from midfold.cli.options import read_token_count
from midfold.cli.terminal import printable
from midfold.errors import StillTooLarge
from midfold.late_dataclasses import dataclass
from midfold.providers import tidy_base_url
from midfold.providers.summarizers import ModelRef

_USAGE = "/model NAME [--base-url URL] [--context-length N]"


@dataclass(frozen=True, slots=True)
class ModelTarget:
    """The model that `/model` asks for."""

    name: str
    base_url: str | None = None
    context_length: int | None = None


def read_model_target(argument: str) -> ModelTarget:
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
    tokens = read_token_count(length) if length else None
    is_number = not length or (tokens is not None and tokens > 0)
    if len(names) != 1 or options or not is_number or base_url == "":
        raise UsageProblem(_USAGE)
    return ModelTarget(names[0], base_url, tokens)


def switch(chat: ChatContext, argument: str) -> None:
    agent = chat.agent
    if not argument:
        chat.say(start_line(agent.status()), remark(f"{_USAGE} switches to another one"))
        return
    wanted = read_model_target(argument)
    reference = _resolve_model(chat, wanted)
    is_done = False
    try:
        with chat.view.working(f"switching to {printable(wanted.name)}"), stoppable(agent, chat.view):
            is_done = agent.set_model(
                reference, context_length=wanted.context_length, on_event=chat.view.show
            )
    except StillTooLarge:
        if not agent.status().enabled:
            chat.say(remark("compression.enabled is false, so nothing was folded; /compress makes room"))
        raise
    if not is_done:
        chat.say(Text("stopped; the model stays as it is", style="yellow"))
    chat.say(start_line(agent.status()))


def _resolve_model(chat: ChatContext, wanted: ModelTarget) -> ModelRef:
    """Say where and how a model is asked: at the address of the model so far, just as that one is.

    Its provider is who has the key. A name with another provider that has an address says itself how.
    """
    status = chat.agent.status()
    base_url = wanted.base_url or _address_so_far(chat, wanted.name)
    if base_url is None or tidy_base_url(base_url) != status.base_url:
        return ModelRef(wanted.name, base_url)
    so_far, has_provider, _ = status.model.partition("/")
    prefix, slash, _ = wanted.name.partition("/")
    provider = chat.providers.get(prefix)
    if slash and provider is not None and provider.base_url and prefix != so_far:
        return ModelRef(wanted.name, base_url)
    is_bare = not slash and has_provider and so_far in chat.providers
    return ModelRef(f"{so_far}/{wanted.name}" if is_bare else wanted.name, base_url, api=status.api)


def _address_so_far(chat: ChatContext, name: str) -> str | None:
    """Return where the model so far is, for a name that says nothing else.

    A provider that nobody knows is a slip of the pen, unless the model so far is named after it, too: servers
    of one's own have models such as `Qwen/Qwen3-8B`.
    """
    status = chat.agent.status()
    prefix, slash, _ = name.partition("/")
    provider = chat.providers.get(prefix)
    if not slash or (provider is not None and not provider.base_url):
        return status.base_url
    is_neighbour = provider is None and status.model.startswith(f"{prefix}/")
    return status.base_url if is_neighbour else None


def _list_models(chat: ChatContext) -> list[Suggestion]:
    return [Suggestion(f"{name}/") for name, provider in chat.providers.items() if provider.base_url]


COMMANDS = (
    SlashCommand("model", (CommandForm("NAME", "switch to another model"),), switch, choices=_list_models),
)
