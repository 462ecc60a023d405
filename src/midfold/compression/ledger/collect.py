"""Builds a ledger from messages in one pass."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from midfold.compression.groups import is_request
from midfold.compression.ledger.calls import read_deed
from midfold.compression.ledger.protocol import Protocol, find_protocol, looks_like_output
from midfold.compression.ledger.values import Deed, Ledger, Rule, Saying, Step
from midfold.compression.rules import find_rules
from midfold.compression.tools import STEPS, arguments_of, family_of, first_of
from midfold.messages import Location, Message, Pairing, Text, ToolCall, ToolResult

_STEP_TEXTS = ("content", "description", "step", "title", "text", "task")
_STEP_STATES = ("status", "state")


def collect(
    messages: Sequence[Message],
    indices: Iterable[int],
    pairing: Pairing,
    *,
    redact: Callable[[str], str],
    numbers: Sequence[int] | None = None,
    is_led_by_words: bool = False,
) -> Ledger:
    """Read the messages at `indices` into a ledger.

    `numbers` are what the messages are known by where that is not their place in the list: after a fold, a
    message keeps the number it had in the whole conversation. `is_led_by_words` is known from an earlier
    fold: the model gives its commands in words.
    """
    reader = _Reader(
        messages,
        pairing,
        redact,
        numbers or range(len(messages)),
        find_protocol(messages, was_found=is_led_by_words),
    )
    for index in indices:
        reader.read(index)
    return reader.finish()


@dataclass(slots=True)
class _Reader:
    messages: Sequence[Message]
    pairing: Pairing
    redact: Callable[[str], str]
    numbers: Sequence[int]
    protocol: Protocol
    deeds: list[Deed] = field(default_factory=list)
    sayings: list[Saying] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    asks: set[int] = field(default_factory=set)
    last_request: int | None = None
    """the place of a request that nobody has answered yet"""

    def read(self, index: int) -> None:
        message = self.messages[index]
        if index in self.protocol.observations:
            return
        if is_request(message):
            self._read_request(index, message)
            return
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                self.last_request = None
                self._read_call(index, Location(index, position), part)
            elif isinstance(part, ToolResult) and Location(index, position) in self.pairing.orphans:
                self.deeds.append(read_deed(self.numbers[index], _unknown_call(part), part, self.redact))
            elif isinstance(part, Text) and part.text.strip():
                self._read_words(index, part.text)

    def finish(self) -> Ledger:
        if self.last_request is not None and not self._is_taken_up(self.last_request):
            self.asks.add(self.numbers[self.last_request])
        return Ledger(
            deeds=tuple(self.deeds),
            sayings=tuple(self.sayings),
            rules=tuple(self.rules),
            steps=tuple(self.steps),
            asks=frozenset(self.asks),
        )

    def _read_request(self, index: int, message: Message) -> None:
        number = self.numbers[index]
        if self.last_request is not None:
            self.asks.add(self.numbers[self.last_request])
        self.last_request = index
        text = self.redact(message.text).strip()
        self.sayings.append(Saying(number, "user", text))
        # The text of a tool is never pinned, even where it comes as the user's.
        if not looks_like_output(text):
            self.rules.extend(Rule(number, rule) for rule in find_rules(text))

    def _is_taken_up(self, index: int) -> bool:
        """Whether the model went on after a request, be it beyond what is read here."""
        following = self.messages[index + 1 : index + 2]
        return any(message.role == "assistant" for message in following)

    def _read_words(self, index: int, text: str) -> None:
        number = self.numbers[index]
        self.last_request = None
        spoken, command = self.protocol.split(index, text)
        if spoken.strip():
            self.sayings.append(Saying(number, self.messages[index].role, self.redact(spoken).strip()))
        if command:
            after = self.messages[index + 1] if index + 1 in self.protocol.observations else None
            result = ToolResult("", after.text) if after else None
            self.deeds.append(
                read_deed(number, command, result, self.redact, self.numbers[index + 1] if after else None)
            )

    def _read_call(self, index: int, place: Location, call: ToolCall) -> None:
        answer = self.pairing.answers.get(place)
        result = self.messages[answer.message].parts[answer.part] if answer else None
        number = self.numbers[index]
        found = result if isinstance(result, ToolResult) else None
        answered = self.numbers[answer.message] if answer else None
        self.deeds.append(read_deed(number, call, found, self.redact, answered))
        if family_of(call.name) == "plan":
            self._read_plan(number, call)

    def _read_plan(self, number: int, call: ToolCall) -> None:
        """Take the newest to-do list; an older one has been replaced by it."""
        items = first_of(arguments_of(call), STEPS)
        if isinstance(items, list):
            self.steps = [step for item in items if (step := _step(number, item, self.redact)) is not None]


def _step(number: int, item: object, redact: Callable[[str], str]) -> Step | None:
    if isinstance(item, str):
        return Step(number, redact(item), "")
    if not isinstance(item, Mapping):
        return None
    text, state = first_of(item, _STEP_TEXTS), first_of(item, _STEP_STATES)
    return (
        Step(number, redact(text), state if isinstance(state, str) else "") if isinstance(text, str) else None
    )


def _unknown_call(result: ToolResult) -> ToolCall:
    return ToolCall(result.call_id, result.name or "tool", "")
