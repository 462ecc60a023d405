"""What the messages of a running conversation say, read as they come, so that a fold need not read them all.

Parts are known by identity: who shows other parts, even equal ones, is told nothing. So a memory can make a
fold quicker and never different.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from midfold.messages import Message, Part, Text, ToolCall, ToolResult, is_request
from midfold.redact import redact
from midfold.summaries.ledger.calls import read_act
from midfold.summaries.ledger.values import Act
from midfold.summaries.ledger.words import Request, Words, read_request, read_words

LONG_CHARS = 50_000
"""Nothing is remembered that would be a copy of a longer text."""


@dataclass(slots=True, repr=False)  # the messages' own texts are in it, secrets and all
class LedgerCache:
    """Remembers what messages say until they are forgotten.

    `key` is the one that placeholders of secrets are written with. Who folds only looks things up, so that
    a fold in another thread and the conversation that goes on do not disturb each other.
    """

    key: bytes = b""
    _calls: dict[str, ToolCall] = field(default_factory=dict)
    """the newest call of each id: ids repeat, and who folds says which result is whose"""
    _acts: dict[int, tuple[ToolCall, ToolResult, Act]] = field(default_factory=dict)
    _words: dict[int, tuple[Text, Words]] = field(default_factory=dict)
    _requests: dict[int, tuple[tuple[Part, ...], Request]] = field(default_factory=dict)
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
                    self._remember_act(self._calls[part.call_id], part)
                elif isinstance(part, Text) and part.text.strip():
                    self._remember_words(part)

    def forget(self, messages: Iterable[Message]) -> None:
        """Let go of messages that are no longer part of the conversation."""
        for message in messages:
            if self._requests.pop(id(message.parts), None):
                self._redacted.pop(message.text, None)
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self._acts.pop(id(part), None)
                    self._redacted.pop(part.arguments, None)
                    if self._calls.get(part.id) is part:
                        del self._calls[part.id]
                elif isinstance(part, ToolResult):
                    self._redacted.pop(part.text, None)
                    call = self._calls.get(part.call_id)
                    if call is not None and self.find_act(call, part):
                        del self._acts[id(call)]
                elif isinstance(part, Text):
                    self._words.pop(id(part), None)
                    self._redacted.pop(part.text, None)

    def find_act(self, call: ToolCall, result: ToolResult | None) -> Act | None:
        """Return the act of a call that this very result answers."""
        known = self._acts.get(id(call))
        return known[2] if known and known[0] is call and known[1] is result else None

    def find_words(self, part: Text) -> Words | None:
        """Return what a model said in this part."""
        known = self._words.get(id(part))
        return known[1] if known and known[0] is part else None

    def find_request(self, message: Message) -> Request | None:
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
            request = read_request(text, self.redact).read_ahead()
            self._requests[id(message.parts)] = (message.parts, request)

    def _remember_words(self, part: Text) -> None:
        if len(part.text) <= LONG_CHARS:
            self._redacted[part.text] = self.redact(part.text)
            words = read_words(part.text, self.redact)
            self._words[id(part)] = (part, replace(words, ahead_sentences=words.sentences))

    def _remember_act(self, call: ToolCall, result: ToolResult) -> None:
        texts = {text: self.redact(text) for text in (call.arguments, result.text)}
        if all(said is text or len(text) <= LONG_CHARS for text, said in texts.items()):
            self._redacted.update(texts)
            act = read_act(call, result, self.redact).read_ahead()
            self._acts[id(call)] = (call, result, act)
