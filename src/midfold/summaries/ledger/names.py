"""The names that a conversation uses: who used each, when, and with which file, program or tool."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import filterfalse

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late
from midfold.messages import Message, Text, ToolCall
from midfold.summaries.ledger.name_uses import NamePlace, NameTopic, NameUse, list_words, read_name
from midfold.summaries.ledger.values import Action, Ledger

_READ_CHARS, _READ_OUTPUT_CHARS = 60_000, 20_000
"""Of a longer text, and of a longer output, the two ends are read."""
_ESCAPED = compile_late(r"\\(?:[nrtbf\"]|u[0-9a-fA-F]{4})")
_BACKSLASHES = compile_late(r"\\(?<=[\w.:~-]\\)\\?[\w.~-]++(?:\\{1,2}[\w.~-]++)*+")
"""words with backslashes between, behind the first: lines that JSON joins, or the path of a file

A backslash comes first, since that is quickly looked for; so it does below."""
_FOLDERS = compile_late(r"(?<=\b[A-Za-z]:)\\|\\(?![nrtbfu])")
"""what is in such a run only if it is a path"""
_PATH_SIGN = compile_late(r"\\(?:(?<=[A-Za-z]:\\)|[^\Wnrtbfu]|[.~-]|\\\w)")
"""what every text with such a path has, and few others"""
_ARGUMENT_NAME = compile_late(r"\"[A-Za-z_][\w-]{0,60}\"\s?:")
_COMMAND_CHARS = 400
_COMMAND_END = compile_late(r"&&|\|\||[;|\n]")
_LEADS = frozenset({"sudo", "time", "nohup", "env", "timeout"})
_PREPARES = frozenset({"cd", "export", "source", "set", "then", "do", "if", "for", "while", "echo"})
_WITH_VERB = frozenset({"git", "npm", "pnpm", "yarn", "cargo", "go", "docker", "kubectl", "gh", "uv", "pip"})
_PROGRAM = compile_late(r"[A-Za-z][\w.+-]{1,40}")


_PLACES = {
    "shell": NamePlace.SHELL,
    "search": NamePlace.SEARCH,
    "list": NamePlace.SEARCH,
    "web": NamePlace.WEB,
}
_PRINTED, _ASKED, _SAID, _GIVEN, _WRITTEN = range(5)
"""how closely a use ties a name to where it was used"""


@dataclass(slots=True)
class NameReader:
    """Reads names in the order in which they were used."""

    redact: Callable[[str], str]
    chars: int = 0
    """of all texts that names were looked for in"""
    _names: dict[str, NameUse] = field(default_factory=dict)
    _words: dict[str, NameUse | None] = field(default_factory=dict)
    """the same by the words that they were found in, and all the words that are no names"""
    _topics: dict[str, NameTopic] = field(default_factory=dict)

    @property
    def uses(self) -> list[NameUse]:
        return list(self._names.values())

    def read(
        self, messages: Sequence[Message], turns: Iterable[int], numbers: Sequence[int], ledger: Ledger
    ) -> None:
        """Read the words and calls of `turns`, and what the tools of the ledger gave back."""
        actions: dict[int, list[Action]] = {}
        for action in ledger.actions:
            actions.setdefault(action.index, []).append(action)
        asked = {each.index: each.text for each in ledger.statements if each.role == "user"}
        topics: list[NameTopic] = []
        for index in turns:
            number = numbers[index]
            own = actions.get(number, [])
            topics = [self._topic_of(action) for action in own] or topics[-1:]
            if number in asked:
                self._add(asked[number], number, self._topic("the user", NamePlace.SAID, number), _ASKED)
            elif messages[index].role == "assistant":
                self._read_own(messages[index], number, topics)
            for action, topic in zip(own, topics, strict=False):
                at = number if action.answered is None else action.answered
                self._add(action.run.output, at, topic, _PRINTED)

    def _read_own(self, message: Message, number: int, topics: Sequence[NameTopic]) -> None:
        """Read the agent's words, which belong to what it does with them, and its calls."""
        near = topics[0] if topics else self._topic("said", NamePlace.SAID, number)
        calls = 0
        for part in message.parts:
            if isinstance(part, Text):
                self._add(self.redact(part.text), number, near, _SAID)
            elif isinstance(part, ToolCall):
                topic = topics[min(calls, len(topics) - 1)] if topics else near
                calls += 1
                # The names of arguments are the tool's, not the agent's.
                values = _ARGUMENT_NAME.sub(" ", self.redact(part.arguments))
                self._add(values, number, topic, _WRITTEN if topic.place is NamePlace.CHANGED else _GIVEN)

    def _topic_of(self, action: Action) -> NameTopic:
        run = action.run
        if run.changes:
            return self._topic(run.changes[0], NamePlace.CHANGED, action.index)
        if run.reads:
            return self._topic(run.reads[0], NamePlace.READ, action.index)
        place = _PLACES.get(run.kind, NamePlace.TOOL)
        program = name_program(run.subject) if place is NamePlace.SHELL else ""
        return self._topic(program or run.tool, place, action.index)

    def _topic(self, label: str, place: NamePlace, number: int) -> NameTopic:
        topic = self._topics.get(label)
        if topic is None:
            topic = self._topics[label] = NameTopic(label, place)
        elif place is NamePlace.CHANGED:
            topic.place = place
        topic.indices.append(number)
        return topic

    def _add(self, text: str, number: int, topic: NameTopic, tie: int) -> None:
        most = _READ_OUTPUT_CHARS if tie == _PRINTED else _READ_CHARS
        self.chars += len(text)
        if len(text) > most:
            text = f"{text[: most // 2]}\n{text[-most // 2 :]}"
        if "\\" in text:
            text = _BACKSLASHES.sub(_part_folders, text) if _PATH_SIGN.search(text) else text
            text = _ESCAPED.sub(" ", text)
        # In the order of the text: that of a set differs from process to process.
        words = dict.fromkeys(list_words(text))
        known = self._words
        for word in list(filterfalse(known.__contains__, words)):
            known[word] = self._find_use(word, number, topic, tie)
        found = set(map(known.__getitem__, words))
        found.discard(None)
        company = len(found)
        for use in found:
            if use is not None:
                _note(use, number, topic, tie, company)

    def _find_use(self, word: str, number: int, topic: NameTopic, tie: int) -> NameUse | None:
        named = read_name(word)
        if named is None:
            return None
        name, shape = named
        use = self._names.get(name)
        if use is None:
            use = self._names[name] = NameUse(name, shape, number, number, topic, tie)
        return use


def _note(use: NameUse, number: int, topic: NameTopic, tie: int, company: int) -> None:
    use.last = number
    if tie >= use.tie:
        use.topic, use.tie = topic, tie
    if tie == _PRINTED:
        use.printed += 1
        if company < use.company:
            use.company = company
    elif tie == _ASKED:
        use.asked += 1
    else:
        use.last_own = number
        if tie == _SAID:
            use.said += 1
        else:
            use.given += 1


def _part_folders(run: re.Match[str]) -> str:
    """Write a path of Windows with blanks between its folders: its backslashes escape nothing."""
    said = run[0].replace("\\\\", " ")
    is_path = said == run[0] and _FOLDERS.search(run.string, run.start(), run.end())
    return said.replace("\\", " ") if is_path else said


def name_program(command: str) -> str:
    """Name the program that a shell line is about: the first that does more than prepare."""
    for piece in _COMMAND_END.split(command[:_COMMAND_CHARS]):
        words = [word for word in piece.split() if "=" not in word and not word.startswith("-")]
        while words and words[0] in _LEADS:
            words = words[1:]
        program = words[0].rpartition("/")[2] if words else ""
        if program in _PREPARES or not _PROGRAM.fullmatch(program):
            continue
        verb = words[1] if program in _WITH_VERB and len(words) > 1 else ""
        return f"{program} {verb}" if _PROGRAM.fullmatch(verb) else program
    return ""
