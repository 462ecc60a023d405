"""From one dialect to another: explicit, lossy, and honest about it.

Every other path keeps messages as they were written. Converting rebuilds them from their parts, repairs what
the target would refuse (ids, holes, order), and lists each thing that did not survive.
"""

from collections.abc import Iterable, Sequence, Set
from itertools import chain, count

from midfold.late_dataclasses import dataclass, replace
from midfold.late_patterns import compile_late
from midfold.messages import (
    SYSTEM_ROLES,
    Location,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    pair_calls,
)
from midfold.wire.dialect import Features
from midfold.wire.dialects import get_dialect
from midfold.wire.media import is_file_id, is_text, stub

NO_RESULT = "[no result was recorded for this call]"
OPENING = "[the conversation begins with the assistant]"


@dataclass(frozen=True, slots=True)
class ConversionLoss:
    """Something of message `index` that the target cannot say, or that had to be said differently."""

    index: int
    what: str


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversation in another dialect. `system` is set where that dialect keeps it beside the messages."""

    dialect: str
    messages: list[object]
    system: str | None
    losses: tuple[ConversionLoss, ...]
    call_ids: frozenset[str] = frozenset()


_ID = compile_late(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES = compile_late(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The place of messages in a conversation: after `count` others, with or without more behind them."""

    count: int = 0
    call_ids: Set[str] = frozenset()
    """the ids that calls have before them"""
    is_followed: bool = False


ALONE = Surroundings()


def convert(messages: Sequence[Message], to: str, place: Surroundings = ALONE) -> Conversion:
    """Write `messages` in the dialect `to`, legally wherever the input made sense.

    A call still waiting at the very end stays open: its result is yet to come. Some messages of a longer
    conversation are told their `place` in it, and written as they would be there.
    """
    dialect = get_dialect(to)
    target = dialect.features
    repairs = _Repairs(messages, target, place)
    repaired = _join_split_turns(repairs.repair())
    system = None
    if target.system_apart:
        system, repaired = _set_system_apart(repaired)
        repaired = _alternate(repaired)
    items = [item for message in repaired for item in dialect.build(message)]
    losses = tuple(sorted(repairs.losses, key=lambda loss: loss.index))
    return Conversion(to, items, system, losses, frozenset(repairs.ids.values()))


class _Repairs:
    """Gives every call a usable id and one result directly behind it, and translates the other parts."""

    def __init__(self, messages: Sequence[Message], target: Features, place: Surroundings) -> None:
        self.messages = messages
        self.place = place
        self.target = target
        self.losses: list[ConversionLoss] = []
        self.pairing = pair_calls(messages)
        self.answered = {result: call for call, result in self.pairing.answers.items()}
        self.ids = self._choose_ids()
        # A call after the newest message that is not the model's own may still get its result.
        replies = (index for index, message in enumerate(messages) if message.role != "assistant")
        self.newest_reply = len(messages) if place.is_followed else max(replies, default=0)

    def repair(self) -> list[Message]:
        repaired: list[Message] = []
        waiting: list[Part] = []
        for index, message in enumerate(self.messages):
            if message.role != "assistant" and waiting:
                repaired.append(Message("tool", tuple(waiting)))
                waiting = []
            parts = tuple(self._translate_all(index, message))
            if parts:
                repaired.append(Message("user" if message.role == "tool" else message.role, parts))
            waiting += self._results_of(index, message)
        return [*repaired, Message("tool", tuple(waiting))] if waiting else repaired

    def _lose(self, index: int, what: str) -> None:
        self.losses.append(ConversionLoss(self.place.count + index, what))

    def _choose_ids(self) -> dict[Location, str]:
        """Keep each call's id where it is legal and unused, else derive one from its position."""
        calls = {
            Location(index, position): part.id
            for index, message in enumerate(self.messages)
            for position, part in enumerate(message.parts)
            if isinstance(part, ToolCall)
        }
        ids: dict[Location, str] = {}
        used: set[str] = set(self.place.call_ids)
        taken = used.union(calls.values())
        for here, call_id in calls.items():
            chosen = call_id
            if not _ID.fullmatch(call_id) or call_id in used:
                chosen = _derive_id(Location(self.place.count + here.message, here.part), taken)
                taken.add(chosen)
                if self.target.call_ids:
                    self._lose(here.message, f"call id {call_id!r} is {chosen!r} here")
            if not self.target.call_ids and call_id:
                self._lose(here.message, f"call id {call_id!r}")
            ids[here] = chosen
            used.add(chosen)
        return ids

    def _translate_all(self, index: int, message: Message) -> Iterable[Part]:
        before = len(self.losses)
        said = False
        for position, part in enumerate(message.parts):
            for translated in self._translate(Location(index, position), part):
                said = True
                yield translated
        if not said and len(self.losses) == before and not any(True for _ in message.results):
            self._lose(index, "an empty turn")

    def _translate(self, here: Location, part: Part) -> Iterable[Part]:
        match part:
            case Text(text) if text.strip():
                yield part
            case ToolCall():
                yield self._translate_call(here, part)
            case ToolResult(call_id) if here not in self.answered:
                self._lose(here.message, f"a result without a call ({call_id or 'no id'})")
            case Reasoning(text, signature):
                if signature:
                    self._lose(
                        here.message, "a signature of its thinking, which only its own provider accepts"
                    )
                if self.target.thinking and text:
                    yield Reasoning(text)
                elif text:
                    self._lose(here.message, "its thinking")
            case Media():
                is_the_models = self.messages[here.message].role == "assistant"
                kinds = frozenset() if is_the_models else self.target.media
                yield part if _can_carry(kinds, part) else Text(self._say_media(here.message, part))
            case Opaque(kind):
                self._lose(here.message, f"a block of type {kind}")
            case _:
                pass

    def _translate_call(self, here: Location, call: ToolCall) -> ToolCall:
        if not self.target.free_arguments and not isinstance(call.parse_arguments(), dict) and call.arguments:
            self._lose(here.message, f"the arguments of {call.name!r} are an object here")
        call_id = self.ids[here] if self.target.call_ids else ""
        return replace(call, id=call_id, name=self._usable_name(here.message, call.name))

    def _say_media(self, index: int, media: Media) -> str:
        """Say media that the target cannot carry in words, all of them where it is a text."""
        self._lose(index, stub(media))
        return media.source if is_text(media) else stub(media)

    def _usable_name(self, index: int, name: str) -> str:
        usable = _NOT_IN_NAMES.sub("_", name)[:64] or "tool"
        if usable != name:
            self._lose(index, f"tool name {name!r} is {usable!r} here")
        return usable

    def _results_of(self, index: int, message: Message) -> Iterable[ToolResult]:
        """Bring the results of this message's calls; a call that never got one gets a stub."""
        for position, part in enumerate(message.parts):
            here = Location(index, position)
            if not isinstance(part, ToolCall):
                continue
            answer = self.pairing.answers.get(here)
            if answer is not None:
                result = self.messages[answer.message].parts[answer.part]
                if isinstance(result, ToolResult):
                    yield self._translate_result(
                        answer.message, replace(result, call_id=self.ids[here]), part
                    )
            elif index < self.newest_reply:
                self._lose(index, f"a call without a result ({part.name}); a stub stands in for it")
                yield ToolResult(self.ids[here], NO_RESULT, name=part.name)

    def _translate_result(self, index: int, result: ToolResult, call: ToolCall) -> ToolResult:
        kinds = self.target.media_in_results
        kept = tuple(media for media in result.media if _can_carry(kinds, media))
        said = [self._say_media(index, media) for media in result.media if not _can_carry(kinds, media)]
        if result.is_error and not self.target.error_results:
            self._lose(index, "that a result is an error")
        text = "\n".join([*filter(None, [result.text]), *said])
        return replace(result, text=text, media=kept, name=result.name or call.name)


def _derive_id(here: Location, taken: Set[str]) -> str:
    """Make an id of a call's position, one that no call of the conversation has."""
    stem = f"call_{here.message}_{here.part}"
    numbered = (f"{stem}_{number}" for number in count(2))
    return next(call_id for call_id in chain([stem], numbered) if call_id not in taken)


def _can_carry(kinds: frozenset[str], media: Media) -> bool:
    """Whether media of these kinds can stand there; a file that another provider keeps cannot."""
    return media.kind in kinds and not is_file_id(media)


def _join_split_turns(messages: list[Message]) -> list[Message]:
    """Join assistant messages that are one turn: thinking, words and calls may come as items of their own."""
    joined: list[Message] = []
    for message in messages:
        previous = joined[-1] if joined else None
        if previous and previous.role == message.role == "assistant" and _belongs_to(previous, message):
            joined[-1] = Message("assistant", previous.parts + message.parts)
        else:
            joined.append(message)
    return joined


def _belongs_to(previous: Message, message: Message) -> bool:
    calls = any(True for _ in previous.calls)
    return calls or not previous.text or not message.text


def _set_system_apart(messages: list[Message]) -> tuple[str | None, list[Message]]:
    """Take the leading system messages out; later ones become words of the user."""
    lead = 0
    while lead < len(messages) and messages[lead].role in SYSTEM_ROLES:
        lead += 1
    system = "\n\n".join(message.text for message in messages[:lead])
    rest = [Message("user", m.parts) if m.role in SYSTEM_ROLES else m for m in messages[lead:]]
    return system or None, rest


def _alternate(messages: list[Message]) -> list[Message]:
    """Join neighbours that the target would see as one speaker, and let a user speak first."""
    joined: list[Message] = []
    for message in messages:
        if joined and (joined[-1].role == "assistant") == (message.role == "assistant"):
            joined[-1] = Message(joined[-1].role, joined[-1].parts + message.parts)
        else:
            joined.append(message)
    if joined and joined[0].role == "assistant":
        joined.insert(0, Message("user", (Text(OPENING),)))
    return joined
