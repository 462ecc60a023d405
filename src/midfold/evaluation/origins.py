"""Where an entry of the notes comes from, by the labels: which message, and who wrote those words."""

import re

from midfold.evaluation.conversations import MeasuredConversation
from midfold.evaluation.labels import AuthorLabel, Labels
from midfold.evaluation.matching import plain, says_same
from midfold.evaluation.notes import NoteEntry
from midfold.messages import SYSTEM_ROLES, Message, ToolCall
from midfold.provenance import Author

# A person answers in the results of tools that ask, and refuses calls with words.
_ASKING = re.compile(r"ask|question|clarif|user_input|elicit", re.IGNORECASE)
_TOLD = re.compile(
    r"\bthe user (?:said|answered|replied|wants|provided)\b|\buser has answered\b", re.IGNORECASE
)
_RULES_FILE = re.compile(
    r"(?:AGENTS?|CLAUDE|GEMINI|CONTRIBUTING|SKILL|copilot-instructions)\.md|\.cursorrules|\.(?:mdc|rules)\b",
    re.IGNORECASE,
)
_LOCATED_CHARS = 60
_LEAST_LOCATED = 12


class Origins:
    """The authors of a labelled conversation, asked by entry."""

    def __init__(self, conversation: MeasuredConversation, labels: Labels) -> None:
        self._messages = conversation.messages
        self._labels = labels
        self._calls = {
            result.message: _call_at(conversation.messages[call.message], call.part)
            for call, result in conversation.pairing.answers.items()
        }
        self._spoken = {rule.index: rule.by for rule in labels.rules} | {
            fact.index: Author.PERSON for fact in labels.facts if fact.category == "person_answer"
        }

    def authors(self, entry: NoteEntry) -> dict[int, Author]:
        """Return who wrote the words of an entry, by message; messages that nobody labelled are left out."""
        indices = entry.references or self._locate(entry.text)
        found = {index: self._author(index, entry.text) for index in indices if index < len(self._messages)}
        return {index: author for index, author in found.items() if author is not None}

    def _author(self, index: int, words: str) -> Author | None:
        message = self._messages[index]
        label = self._labels.authors.get(index)
        if label is not None:
            return _segment_author(message.text, words, label)
        if index in self._spoken:
            return self._spoken[index]
        if message.role in SYSTEM_ROLES:
            return Author.PROJECT
        if any(message.results):
            return self._speaker(index, message)
        return Author.MODEL if message.role == "assistant" else None

    def _speaker(self, index: int, message: Message) -> Author:
        """Return who speaks in a tool's result."""
        call = self._calls.get(index)
        text = "\n".join(result.text for result in message.results)
        if (call is not None and _ASKING.search(call.name)) or _TOLD.search(text):
            return Author.PERSON
        if call is not None and _RULES_FILE.search(call.arguments):
            return Author.PROJECT
        return Author.TOOL

    def _locate(self, words: str) -> tuple[int, ...]:
        """Return the newest message with role `user` that an entry without numbers quotes."""
        start = plain(words)[:_LOCATED_CHARS]
        if len(start) < _LEAST_LOCATED:
            return ()
        indices = range(len(self._messages) - 1, -1, -1)
        quoted = (
            index
            for index in indices
            if self._messages[index].role == "user" and start in plain(self._messages[index].text)
        )
        return tuple(index for index in [next(quoted, None)] if index is not None)


def _segment_author(text: str, words: str, label: AuthorLabel) -> Author:
    """Return the author of the segment in which the words stand; the main one where they are not found.

    Words that reach into what a person wrote are the person's.
    """
    if not label.segments:
        return label.author
    said, whole = plain(text), plain(words)
    start = whole[:_LOCATED_CHARS]
    if any(seg.author is Author.PERSON and plain(seg.starts) in whole for seg in label.segments):
        return Author.PERSON
    at = said.find(start) if len(start) >= _LEAST_LOCATED else -1
    if at < 0:
        return _longest_segment(text, words, label)
    begun = [
        (position, segment.author)
        for segment in label.segments
        if 0 <= (position := said.find(plain(segment.starts))) <= at
    ]
    return max(begun, key=lambda found: found[0])[1] if begun else label.author


def _longest_segment(text: str, words: str, label: AuthorLabel) -> Author:
    starts = sorted((at, seg.author) for seg in label.segments if (at := text.find(seg.starts)) >= 0)
    ends = [*(at for at, _ in starts[1:]), len(text)]
    authors = [
        author for (at, author), end in zip(starts, ends, strict=True) if says_same(text[at:end], words)
    ]
    return authors[0] if authors else label.author


def _call_at(message: Message, part: int) -> ToolCall:
    found = message.parts[part]
    assert isinstance(found, ToolCall)  # noqa: S101 - pairing says so
    return found
