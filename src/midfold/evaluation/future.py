"""The part of a fold that the future needed: names that the agent used after a cut.

A real conversation is cut, the part before the cut is folded, and the agent's own words and calls after it
say what it still needed. Only names that were rare before count: the rest is known anyhow.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from midfold.evaluation.baselines import DIGEST, fold_by_digest
from midfold.evaluation.conversations import MeasuredConversation, make_conversation
from midfold.evaluation.names import has_name, read_names
from midfold.evaluation.scores import Tally, ceiling_of
from midfold.evaluation.texts import SEPARATOR, index_context, read_strings, read_texts
from midfold.messages import Message, ToolCall, ToolResult
from midfold.wire import parse

CUTS = (0.5, 0.75)
FUTURE_RATIOS = (0.1, 0.2)
NEWEST = "newest only"
NO_OUTPUT = "no tool output"
NAME_LIST = "newest and names"
_FEW_MESSAGES = 5
"""A name is rare when it stands in at most so many messages before the cut."""
_LIST_PART = 0.5
_LANGUAGES = frozenset(("ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr", "vi", "zh"))


@dataclass(frozen=True, slots=True)
class ReadableContext:
    """The words that a method leaves, and their size."""

    text: str
    tokens: int


ContextMethod = Callable[[MeasuredConversation, int], ReadableContext]


@dataclass(frozen=True, slots=True)
class FutureScore:
    """One method on one conversation before one cut."""

    conversation: str
    family: str
    cut: float
    ratio: float
    method: str
    needed: Tally
    """names that the agent used after the cut, and those that the method left"""
    tokens_before: int
    tokens_after: int
    ceiling: int
    missing: tuple[str, ...]


def score_future(
    conversation: MeasuredConversation, ratios: Sequence[float] = FUTURE_RATIOS, cuts: Sequence[float] = CUTS
) -> list[FutureScore]:
    """Cut a conversation, fold what is before each cut, and look for what the agent used after it."""
    return [score for part in cuts for score in _score_cut(conversation, part, ratios)]


def name_family(conversation: str) -> str:
    """Return the family of a conversation: the first word of its name, and the language where one follows."""
    first, *others = conversation.split("-")
    return f"{first}-{others[0]}" if others and others[0] in _LANGUAGES else first


def _score_cut(
    conversation: MeasuredConversation, part: float, ratios: Sequence[float]
) -> Iterator[FutureScore]:
    cut = find_cut(conversation, part)
    needed = find_needed(conversation.messages, cut) if cut is not None else []
    if cut is None or not needed:
        return
    request = replace(conversation.request, messages=conversation.request.messages[:cut], raw=None)
    before = make_conversation(conversation.name, request, ())
    for ratio in ratios:
        ceiling = ceiling_of(before, ratio)
        for name, method in CONTEXT_METHODS.items():
            context = method(before, ceiling)
            missing = tuple(found for found in needed if not has_name(context.text, found))
            yield FutureScore(
                conversation=conversation.name,
                family=name_family(conversation.name),
                cut=part,
                ratio=ratio,
                method=name,
                needed=Tally(len(needed) - len(missing), len(needed)),
                tokens_before=before.tokens,
                tokens_after=context.tokens,
                ceiling=ceiling,
                missing=missing,
            )


def find_cut(conversation: MeasuredConversation, part: float) -> int | None:
    """Return the first cut from `part` of the messages on before an answer that waits for no result."""
    legal = [
        cut
        for cut in conversation.whole_cuts
        if conversation.lead < cut < len(conversation.messages)
        and conversation.messages[cut].role == "assistant"
    ]
    at = bisect_left(legal, part * len(conversation.messages))
    return legal[at] if at < len(legal) else None


def find_needed(messages: Sequence[Message], cut: int) -> list[str]:
    """Return the names that the agent uses after the cut, that are rare before it, in their order."""
    counts = Counter(
        name
        for message in messages[:cut]
        for name in {found for text in read_texts(message) for found in read_names(text)}
    )
    free = {
        name
        for message in messages[:cut]
        if message.role in ("system", "developer")
        for name in read_names(message.text)
    }
    used = (name for message in messages[cut:] for name in agent_names(message))
    return [name for name in dict.fromkeys(used) if 0 < counts[name] <= _FEW_MESSAGES and name not in free]


def agent_names(message: Message) -> Iterator[str]:
    """Yield the names in the agent's own words and call arguments."""
    if message.role != "assistant":
        return
    yield from read_names(message.text)
    for call in message.calls:
        for text in _argument_texts(call):
            yield from read_names(text)


def _argument_texts(call: ToolCall) -> list[str]:
    arguments = call.parse_arguments()
    return list(read_strings(arguments)) if isinstance(arguments, dict | list) else [call.arguments]


def _fold(before: MeasuredConversation, ceiling: int) -> ReadableContext:
    outcome = fold_by_digest(before, ceiling)
    return ReadableContext(_read(before, outcome.items, outcome.summary), outcome.tokens)


def _newest(before: MeasuredConversation, ceiling: int) -> ReadableContext:
    """Keep system prompt and newest messages; of the one that does not fit as a whole, its end."""
    fixed = before.overhead_tokens + sum(before.sizes[: before.lead])
    room = left = max(0, ceiling - fixed)
    texts: list[str] = []
    for index in range(len(before.messages) - 1, before.lead - 1, -1):
        text, size = before.source.texts[index], before.sizes[index]
        if size > left:
            texts.append(text[len(text) - len(text) * left // size :])
            left = 0
            break
        texts.append(text)
        left -= size
    head = [before.request.system_text, *before.source.texts[: before.lead]]
    return ReadableContext(SEPARATOR.join([*head, *reversed(texts)]), fixed + room - left)


def _no_output(before: MeasuredConversation, _ceiling: int) -> ReadableContext:
    """Keep everything but results of tools, whatever its size."""
    bare = [_drop_results(message) for message in before.messages]
    text = SEPARATOR.join(text for message in bare for text in read_texts(message))
    return ReadableContext(text, before.overhead_tokens + sum(map(before.count, bare)))


def _name_list(before: MeasuredConversation, ceiling: int) -> ReadableContext:
    """Give up to half of the room to the names that were used last, and the rest to the newest messages."""
    fixed = before.overhead_tokens + sum(before.sizes[: before.lead])
    names: list[str] = []
    left = int(max(0, ceiling - fixed) * _LIST_PART)
    for name in _latest_names(before.messages[before.lead :]):
        left -= before.count.count_text(f" {name}")
        if left < 0:
            break
        names.append(name)
    listed = " ".join(names)
    tokens = before.count.count_text(listed)
    newest = _newest(before, ceiling - tokens)
    return ReadableContext(f"{newest.text}{SEPARATOR}{listed}", newest.tokens + tokens)


CONTEXT_METHODS: Mapping[str, ContextMethod] = {
    DIGEST: _fold,
    NEWEST: _newest,
    NO_OUTPUT: _no_output,
    NAME_LIST: _name_list,
}


def _latest_names(messages: Sequence[Message]) -> list[str]:
    """Return the names that agent and user used, the newest first, each once."""
    used = (
        name
        for message in reversed(messages)
        for name in (agent_names(message) if message.role == "assistant" else read_names(message.text))
    )
    return list(dict.fromkeys(used))


def _drop_results(message: Message) -> Message:
    for position, part in enumerate(message.parts):
        if isinstance(part, ToolResult):
            message = message.with_part(position, replace(part, text="", media=()))
    return message


def _read(before: MeasuredConversation, items: Sequence[object], summary: str | None = None) -> str:
    return index_context(parse(items, before.request.dialect), summary, before.request.system_text).joined
