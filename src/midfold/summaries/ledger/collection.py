"""Builds a ledger from messages in one pass, and keeps what the messages of a running conversation say.

The cache reads messages as they come, so that a fold need not read them all. Parts are known by identity: for
other parts, even equal ones, it knows nothing. So it can make a fold quicker and never different.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from midfold.messages import Location, Message, Pairing, Part, Text, ToolCall, ToolResult, is_request
from midfold.provenance import Author
from midfold.redact import redact
from midfold.summaries.ledger.text_commands import CommandProtocol, find_protocol
from midfold.summaries.ledger.tool_runs import read_tool_run
from midfold.summaries.ledger.values import Action, Ledger, PlanStep, Rule, Statement, ToolRun
from midfold.summaries.ledger.words import UserRequest, Words, read_request, read_words
from midfold.summaries.tool_calls.families import STEPS, arguments_of, family_of, first_of

LONG_CHARS = 50_000
"""Nothing is remembered that would be a copy of a longer text."""
_STEP_TEXTS = ("content", "description", "step", "title", "text", "task")
_STEP_STATES = ("status", "state")


@dataclass(slots=True, repr=False)  # the messages' own texts are in it, secrets and all
class LedgerCache:
    """Remembers what messages say until they are forgotten.

    `key` is the one that placeholders of secrets are written with. Who folds only looks things up, so that
    a fold in another thread and the conversation that goes on do not disturb each other.
    """

    key: bytes = b""
    _calls: dict[str, ToolCall] = field(default_factory=dict)
    """the newest call of each id: ids repeat, and who folds says which result is whose"""
    _runs: dict[int, tuple[ToolCall, ToolResult, ToolRun]] = field(default_factory=dict)
    _words: dict[int, tuple[Text, Words]] = field(default_factory=dict)
    _requests: dict[int, tuple[tuple[Part, ...], UserRequest]] = field(default_factory=dict)
    _redacted: dict[str, str] = field(default_factory=dict)

    def remember(self, messages: Iterable[Message]) -> None:
        """Read messages and keep what they say; a call is read when its result comes."""
        for message in messages:
            if is_request(message):
                self._remember_request(message)
                continue
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self._calls[part.id] = part
                elif isinstance(part, ToolResult) and part.call_id in self._calls:
                    self._remember_run(self._calls[part.call_id], part)
                elif isinstance(part, Text) and part.text.strip():
                    self._remember_words(part)

    def forget(self, messages: Iterable[Message]) -> None:
        """Let go of messages that are no longer part of the conversation."""
        for message in messages:
            if self._requests.pop(id(message.parts), None):
                self._redacted.pop(message.text, None)
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self._runs.pop(id(part), None)
                    self._redacted.pop(part.arguments, None)
                    if self._calls.get(part.id) is part:
                        del self._calls[part.id]
                elif isinstance(part, ToolResult):
                    self._redacted.pop(part.text, None)
                    call = self._calls.get(part.call_id)
                    if call is not None and self.find_run(call, part):
                        del self._runs[id(call)]
                elif isinstance(part, Text):
                    self._words.pop(id(part), None)
                    self._redacted.pop(part.text, None)

    def find_run(self, call: ToolCall, result: ToolResult | None) -> ToolRun | None:
        """Return the run of a call that this very result answers."""
        known = self._runs.get(id(call))
        return known[2] if known and known[0] is call and known[1] is result else None

    def find_words(self, part: Text) -> Words | None:
        """Return what a model said in this part."""
        known = self._words.get(id(part))
        return known[1] if known and known[0] is part else None

    def find_request(self, message: Message) -> UserRequest | None:
        """Return what the user said in this message."""
        known = self._requests.get(id(message.parts))
        return known[1] if known and known[0] is message.parts else None

    def redact(self, text: str) -> str:
        """Take secrets out of a text; one that is remembered is not looked through again."""
        known = self._redacted.get(text)
        return redact(text, key=self.key) if known is None else known

    def _remember_request(self, message: Message) -> None:
        text = message.text
        if len(text) <= LONG_CHARS:
            self._redacted[text] = self.redact(text)
            request = read_request(text, self.redact).precompute()
            self._requests[id(message.parts)] = (message.parts, request)

    def _remember_words(self, part: Text) -> None:
        if len(part.text) <= LONG_CHARS:
            self._redacted[part.text] = self.redact(part.text)
            words = read_words(part.text, self.redact)
            self._words[id(part)] = (part, replace(words, known_sentences=words.sentences))

    def _remember_run(self, call: ToolCall, result: ToolResult) -> None:
        texts = {text: self.redact(text) for text in (call.arguments, result.text)}
        if all(said is text or len(text) <= LONG_CHARS for text, said in texts.items()):
            self._redacted.update(texts)
            run = read_tool_run(call, result, self.redact).precompute()
            self._runs[id(call)] = (call, result, run)


def collect(
    messages: Sequence[Message],
    indices: Iterable[int],
    pairing: Pairing,
    *,
    redact: Callable[[str], str],
    cache: LedgerCache | None = None,
    numbers: Sequence[int] | None = None,
    is_led_by_words: bool = False,
) -> Ledger:
    """Read the messages at `indices` into a ledger; what is in `cache` is not read again.

    `numbers` are what the messages are known by where that is not their index in the list: after a fold, a
    message keeps the number it had in the whole conversation. `is_led_by_words` is known from an earlier
    fold: the model gives its commands in words.
    """
    reader = _Reader(
        messages,
        pairing.answers,
        frozenset(pairing.orphans),
        redact,
        cache or LedgerCache(),
        numbers or range(len(messages)),
        find_protocol(messages, was_found=is_led_by_words),
    )
    for index in indices:
        reader.read(index)
    return reader.finish()


@dataclass(slots=True)
class _Reader:
    messages: Sequence[Message]
    answers: Mapping[Location, Location]
    orphans: frozenset[Location]
    redact: Callable[[str], str]
    cache: LedgerCache
    numbers: Sequence[int]
    protocol: CommandProtocol
    actions: list[Action] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    plans: list[tuple[int, ToolCall]] = field(default_factory=list)
    open_requests: set[int] = field(default_factory=set)
    last_request: int | None = None
    """the index of a request that nobody has answered yet"""

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
            elif isinstance(part, ToolResult):
                if self.orphans and Location(index, position) in self.orphans:
                    self._add_action(index, _unknown_call(part), part)
            elif isinstance(part, Text) and part.text.strip():
                self._read_words(index, part)

    def finish(self) -> Ledger:
        if self.last_request is not None and not self._is_taken_up(self.last_request):
            self.open_requests.add(self.numbers[self.last_request])
        return Ledger(
            actions=tuple(self.actions),
            statements=tuple(self.statements),
            rules=tuple(self.rules),
            steps=self._newest_steps(),
            open_requests=frozenset(self.open_requests),
        )

    def _read_request(self, index: int, message: Message) -> None:
        number = self.numbers[index]
        if self.last_request is not None:
            self.open_requests.add(self.numbers[self.last_request])
        self.last_request = index
        request = self.cache.find_request(message) or read_request(message.text, self.redact)
        self.statements.append(Statement(number, "user", request.words))
        self.rules.extend(Rule(number, rule) for rule in request.rules)

    def _is_taken_up(self, index: int) -> bool:
        """Whether the model went on after a request, be it beyond what is read here."""
        following = self.messages[index + 1 : index + 2]
        return any(message.role == "assistant" for message in following)

    def _read_words(self, index: int, part: Text) -> None:
        self.last_request = None
        spoken, command = self.protocol.split(index, part.text)
        if spoken.strip():
            known = None if command else self.cache.find_words(part)
            words = known or read_words(spoken, self.redact)
            role = self.messages[index].role
            author = Author.MODEL if role == "assistant" else Author.HOST
            self.statements.append(Statement(self.numbers[index], role, words, author))
        if command:
            is_answered = index + 1 in self.protocol.observations
            result = ToolResult("", self.messages[index + 1].text) if is_answered else None
            self._add_action(index, command, result, index + 1 if is_answered else None)

    def _read_call(self, index: int, location: Location, call: ToolCall) -> None:
        answer = self.answers.get(location)
        result = self.messages[answer.message].parts[answer.part] if answer else None
        found = result if isinstance(result, ToolResult) else None
        self._add_action(index, call, found, answer.message if answer else None)
        if family_of(call.name) == "plan":
            self.plans.append((self.numbers[index], call))

    def _add_action(
        self, index: int, call: ToolCall, result: ToolResult | None, answered: int | None = None
    ) -> None:
        run: ToolRun = self.cache.find_run(call, result) or read_tool_run(call, result, self.redact)
        number = None if answered is None else self.numbers[answered]
        self.actions.append(Action(self.numbers[index], run, number))

    def _newest_steps(self) -> tuple[PlanStep, ...]:
        """Read the newest to-do list; the older ones have been replaced by it."""
        for number, call in reversed(self.plans):
            items = first_of(arguments_of(call), STEPS)
            if isinstance(items, list):
                steps = (_step(number, item, self.redact) for item in items)
                return tuple(step for step in steps if step is not None)
        return ()


def _step(number: int, item: object, redact: Callable[[str], str]) -> PlanStep | None:
    if isinstance(item, str):
        return PlanStep(number, redact(item), "")
    if not isinstance(item, Mapping):
        return None
    text, state = first_of(item, _STEP_TEXTS), first_of(item, _STEP_STATES)
    return (
        PlanStep(number, redact(text), state if isinstance(state, str) else "")
        if isinstance(text, str)
        else None
    )


def _unknown_call(result: ToolResult) -> ToolCall:
    return ToolCall(result.call_id, result.name or "tool", "")
