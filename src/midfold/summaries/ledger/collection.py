"""Builds a ledger from messages in one pass, and keeps what the messages of a running conversation say.

The cache reads messages as they come, so that a fold need not read them all. Parts are known by identity: for
other parts, even equal ones, it knows nothing. So it can make a fold quicker and never different.
"""

from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import islice

from midfold.late_dataclasses import dataclass, field, replace
from midfold.late_patterns import compile_late
from midfold.messages import (
    Location,
    Message,
    Pairing,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    is_request,
)
from midfold.provenance import (
    Author,
    PersonAnswer,
    Segment,
    find_answer,
    is_go_ahead,
    is_rules_file,
    main_author,
    proposal_before,
    question_before,
    segments_at,
    strip_line_numbers,
)
from midfold.redact import redact
from midfold.summaries.ledger.exchanges import ends_turn, is_wordless
from midfold.summaries.ledger.plan_steps import PlanReader
from midfold.summaries.ledger.requests import UserRequest, read_user_message
from midfold.summaries.ledger.rules import (
    find_project_rules,
    find_rules,
    is_lifted,
    is_same_matter,
    takes_back,
)
from midfold.summaries.ledger.spoken import read_spoken, unwrap_reply
from midfold.summaries.ledger.text_commands import (
    CommandProtocol,
    find_protocol,
    observed_text,
    place_edit,
    split_edits,
)
from midfold.summaries.ledger.tool_runs import read_tool_run
from midfold.summaries.ledger.values import Action, Ledger, Rule, Statement, ToolRun
from midfold.summaries.ledger.words import Words, read_words
from midfold.summaries.tool_calls.families import family_of
from midfold.summaries.tool_calls.output import read_outcome

_RECENT_MESSAGES = 16
_RECENT_RULES = 60
"""so many are compared with a new one"""
LONG_CHARS = 50_000
"""Nothing is remembered that would be a copy of a longer text."""
_SHORTEST_RULING_ANSWER = 24
_LOCAL_COMMAND = compile_late(r"\s*<(?:bash|shell|terminal|local-command)-input>")
"""what a client writes around a command that a person ran beside the conversation"""


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
    _recent: deque[Message] = field(default_factory=lambda: deque(maxlen=_RECENT_MESSAGES))
    """what came last: who speaks in a message may depend on it"""

    def remember(self, messages: Iterable[Message]) -> None:
        """Read messages and keep what they say; a call is read when its result comes."""
        for message in messages:
            self._recent.append(message)
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
            if message in self._recent:
                self._recent.remove(message)
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

    def find_request(self, message: Message, segments: Sequence[Segment] | None = None) -> UserRequest | None:
        """Return what this message says, if it was read with the same authors."""
        known = self._requests.get(id(message.parts))
        if known is None or known[0] is not message.parts:
            return None
        return known[1] if segments is None or known[1].key == tuple(segments) else None

    def redact(self, text: str) -> str:
        """Take secrets out of a text; one that is remembered is not looked through again."""
        known = self._redacted.get(text)
        return redact(text, key=self.key) if known is None else known

    def _remember_request(self, message: Message) -> None:
        text = message.text
        if len(text) <= LONG_CHARS:
            self._redacted[text] = self.redact(text)
            segments = segments_at(self._recent, len(self._recent) - 1)
            request = read_user_message(message, segments, self.redact).precompute()
            self._requests[id(message.parts)] = (message.parts, request)

    def _remember_words(self, part: Text) -> None:
        if len(part.text) <= LONG_CHARS:
            self._redacted[part.text] = self.redact(part.text)
            words = read_words(part.text, self.redact)
            known = replace(words, known_sentences=words.sentences, known_claims=words.claims)
            self._words[id(part)] = (part, known)

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
    told: Container[str] = (),
    protocol: CommandProtocol | None = None,
) -> Ledger:
    """Read the messages at `indices` into a ledger; what is in `cache` is not read again.

    `numbers` are what the messages are known by where that is not their index in the list: after a fold, a
    message keeps the number it had in the whole conversation. `told` names the calls that the notes of an
    earlier fold tell of. `protocol` is that of the messages, where it is known.
    """
    reader = _Reader(
        messages,
        pairing.answers,
        frozenset(pairing.orphans),
        redact,
        cache or LedgerCache(),
        numbers or range(len(messages)),
        protocol or find_protocol(messages, told=told),
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
    plans: PlanReader = field(default_factory=PlanReader)
    open_requests: set[int] = field(default_factory=set)
    last_spoken: int | None = None
    """the number of the last message in which a person spoke"""
    last_request: int | None = None
    """the index of a request that nobody has answered yet"""

    def read(self, index: int) -> None:
        message = self.messages[index]
        if index in self.protocol.observations:
            return
        if is_request(message):
            self._read_request(index, message)
            return
        has_words = message.role != "assistant" or bool(message.text.strip())
        for position, part in enumerate(message.parts):
            if isinstance(part, Reasoning) and not has_words and part.text.strip():
                # A model that only thinks aloud has no other place for what it found.
                self.statements.append(
                    Statement(
                        self.numbers[index], "assistant", read_words(part.text, self.redact), Author.MODEL
                    )
                )
            elif isinstance(part, ToolCall):
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
            steps=self.plans.newest_steps(self.redact),
            step_states=dict(self.plans.states),
            open_requests=frozenset(self.open_requests),
        )

    def _read_request(self, index: int, message: Message) -> None:
        number = self.numbers[index]
        segments = segments_at(self.messages, index)
        known = self.cache.find_request(message, segments)
        request = known or read_user_message(message, segments, self.redact)
        for author, words in request.others:
            self.statements.append(Statement(number, "user", words, author))
        words = request.words or Words("")
        question = question_before(self.messages, index, words.text)
        if not (question and len(words.text.encode()) < _SHORTEST_RULING_ANSWER):
            self._add_rules([Rule(number, rule.text, rule.author, rule.source) for rule in request.rules])
        if main_author(segments) not in (Author.PERSON, None):
            return
        # What a person says in several messages stands before the model together: it takes up all or none.
        if request.words and takes_back(request.words.text):
            self.rules = [rule for rule in self.rules if rule.index != self.last_spoken]
        if _LOCAL_COMMAND.match(message.text):  # its output follows, and nobody is asked for anything
            return
        self.last_request, self.last_spoken = index, number
        self.rules = [it for it in self.rules if it.index == number or not is_lifted(it.text, words.text)]
        is_reply = bool(question) or is_go_ahead(words.text)
        question = question or (proposal_before(self.messages, index) if is_reply else "")
        question = self.redact(question) if question else ""
        self.statements.append(Statement(number, "user", words, question=question, is_reply=is_reply))

    def _is_taken_up(self, index: int) -> bool:
        """Whether the model went on after a request, be it beyond what is read here."""
        following = islice(self.messages, index + 1, None)
        return any(message.role == "assistant" for message in following)

    def _read_words(self, index: int, part: Text) -> None:
        self.last_request = None
        spoken, command = self.protocol.split(index, part.text)
        spoken, edits = split_edits(spoken)
        said = unwrap_reply(spoken)
        if spoken.strip():
            known = None if said is not part.text else self.cache.find_words(part)
            words = known or read_words(said, self.redact)
            role = self.messages[index].role
            author = Author.MODEL if role == "assistant" else Author.HOST
            if main_author(segments_at(self.messages, index)) is Author.SUMMARY:
                author = Author.SUMMARY
            is_final = author is Author.MODEL and ends_turn(self.messages, index, self.protocol)
            is_final = is_final and not is_wordless(said)
            self.statements.append(Statement(self.numbers[index], role, words, author, is_final=is_final))
        if command:
            self._read_command(index, command)
        for edit in edits:
            self._add_action(index, edit, None)

    def _read_command(self, index: int, command: ToolCall) -> None:
        """Read a command that the model gave in words; what it asks a person stands with the answer."""
        is_answered = index + 1 in self.protocol.observations
        result = ToolResult("", observed_text(self.messages, index + 1)) if is_answered else None
        if spoken := read_spoken(command, result):
            words, is_sent = read_words(spoken.text, self.redact), spoken.is_sent
            is_final = is_sent and not is_answered
            statement = Statement(self.numbers[index], "assistant", words, Author.MODEL, is_final=is_final)
            self.statements.append(replace(statement, is_sent=is_sent))
        elif is_answered or family_of(command.name) != "ask":
            command = place_edit(command, self.messages[index - 1].text if index else "")
            self._add_action(index, command, result, index + 1 if is_answered else None)

    def _read_call(self, index: int, location: Location, call: ToolCall) -> None:
        answer = self.answers.get(location)
        result = self.messages[answer.message].parts[answer.part] if answer else None
        found = result if isinstance(result, ToolResult) else None
        if spoken := read_spoken(call, found):
            words = read_words(spoken.text, self.redact)
            statement = Statement(self.numbers[index], "assistant", words, Author.MODEL)
            self.statements.append(replace(statement, is_sent=spoken.is_sent))
            return
        shown = "".join(result.text for result in self.messages[index - 1].results) if index else ""
        self._add_action(index, place_edit(call, shown), found, answer.message if answer else None)
        self._read_project_rules(index)
        said = find_answer(call, found)
        if answer and said:
            self._read_answer(answer.message, said)
        self.plans.read(self.numbers[index], call, found, self.redact)

    def _read_project_rules(self, index: int) -> None:
        """Read the rules of a file that the project keeps for agents, when a tool read it."""
        run = self.actions[-1].run
        path = next((path for path in run.reads if is_rules_file(path)), None)
        if path is None or run.has_failed or run.changes or run.kind not in ("read", "run", ""):
            return
        text = strip_line_numbers(read_outcome(run.output).text)
        number = self.actions[-1].answered
        at = self.numbers[index] if number is None else number
        self.rules = [rule for rule in self.rules if rule.source != path]
        self.rules += [Rule(at, rule, Author.PROJECT, path) for rule in find_project_rules(text)]

    def _add_rules(self, found: Sequence[Rule]) -> None:
        """Add rules; of those that a person said about one matter, the newest holds."""
        newer = [rule.text for rule in found if rule.author is Author.PERSON]
        if newer:
            older, recent = self.rules[:-_RECENT_RULES], self.rules[-_RECENT_RULES:]
            self.rules = [*older, *(rule for rule in recent if not _is_superseded(rule, newer))]
        self.rules.extend(found)

    def _read_answer(self, index: int, answer: PersonAnswer) -> None:
        """Read what a person said in the result of a tool."""
        number, words = self.numbers[index], read_words(answer.words, self.redact)
        question = self.redact(answer.question)
        self.statements.append(Statement(number, "user", words, question=question, is_reply=True))
        # A choice among options answers its question, and binds nothing else.
        rules = [] if len(words.text.encode()) < _SHORTEST_RULING_ANSWER else find_rules(words.text)
        self._add_rules([Rule(number, rule) for rule in rules])

    def _add_action(
        self, index: int, call: ToolCall, result: ToolResult | None, answered: int | None = None
    ) -> None:
        run = self.cache.find_run(call, result) or read_tool_run(call, result, self.redact)
        number = None if answered is None else self.numbers[answered]
        self.actions.append(Action(self.numbers[index], run, number))


def _is_superseded(rule: Rule, newer: Sequence[str]) -> bool:
    return rule.author is Author.PERSON and any(is_same_matter(rule.text, text) for text in newer)


def _unknown_call(result: ToolResult) -> ToolCall:
    return ToolCall(result.call_id, result.name or "tool", "")
