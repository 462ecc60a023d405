"""One answer made of several: a model asks tools that its client knows nothing of, and goes on.

Whoever answers those calls gets a new answer each time. The client gets one, as if the model had known all
along: the calls are left out, blocks and items are numbered through, and usage is that of all together.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from midfold.errors import ConfigError
from midfold.wire import anthropic, openai_chat, openai_responses
from midfold.wire.dialect import Item, plain
from midfold.wire.joiners.chat_joiner import ChatJoiner
from midfold.wire.joiners.joiner import Joiner
from midfold.wire.joiners.message_joiner import MessageJoiner
from midfold.wire.joiners.response_joiner import ResponseJoiner

__all__ = ["Joiner", "add_items", "add_tools", "can_join", "name_tools", "open_joiner"]

_JOINERS: Mapping[str, Callable[[frozenset[str]], Joiner]] = MappingProxyType(
    {
        openai_chat.DIALECT.name: ChatJoiner,
        anthropic.DIALECT.name: MessageJoiner,
        openai_responses.DIALECT.name: ResponseJoiner,
    }
)


def open_joiner(dialect: str, hidden: frozenset[str]) -> Joiner:
    """Return what joins answers of an API, without the calls of the tools named; raises `ConfigError`."""
    if dialect not in _JOINERS:
        raise ConfigError("api", dialect, hint=f"one of {', '.join(_JOINERS)}")
    return _JOINERS[dialect](hidden)


def can_join(body: Mapping[str, object], dialect: str) -> bool:
    """Whether the answers to a request can be joined: not several at once, nor one that is fetched later."""
    several = body.get("n")
    return dialect in _JOINERS and several in (None, 1) and not body.get("background")


def name_tools(tools: Iterable[object]) -> frozenset[str]:
    """Return the names of tools, as any API writes them."""
    named = [tool.get("function", tool) if isinstance(tool, dict) else {} for tool in map(plain, tools)]
    return frozenset(name for tool in named if isinstance(tool, dict) and (name := tool.get("name")))


def add_tools(body: Item, tools: list[object]) -> Item:
    """Return a request with more tools, behind those that it has."""
    own = body.get("tools")
    return {**body, "tools": [*(own if isinstance(own, list) else []), *tools]}


def add_items(body: Item, dialect: str, items: list[object]) -> Item:
    """Return a request that goes on with more messages."""
    name = "messages"
    if dialect == openai_responses.DIALECT.name:
        name = "input"
        items = [item for item in items if body.get("store") is not False or _is_whole(item)]
    own = body.get(name)
    return {**body, name: [*(own if isinstance(own, list) else []), *items]}


def _is_whole(item: object) -> bool:
    """Whether an item says all; of reasoning that is not kept a request may only repeat the sealed form."""
    return not isinstance(item, dict) or item.get("type") != "reasoning" or "encrypted_content" in item
