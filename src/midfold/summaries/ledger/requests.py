"""The words of one user-role message, by their authors: what a person asks, and what others say in it."""

from collections.abc import Callable, Sequence

from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message
from midfold.provenance import COMMAND_BODY, Author, Segment, is_rules_file, person_words
from midfold.summaries.ledger.rules import find_project_rules, find_rules
from midfold.summaries.ledger.words import Words, read_words

_LONGEST_REST_CHARS = 60_000


@dataclass(frozen=True, slots=True)
class FoundRule:
    """A sentence that sets a rule, and the file it stands in where the project set it."""

    text: str
    source: str = ""

    @property
    def author(self) -> Author:
        return Author.PROJECT if self.source else Author.PERSON


@dataclass(frozen=True, slots=True)
class UserRequest:
    """A user-role message without secrets: a person's words, everybody else's, and the rules set in it."""

    words: Words | None
    """what a person says and shows; `None` where no person speaks"""
    rules: tuple[FoundRule, ...]
    others: tuple[tuple[Author, Words], ...] = ()
    key: tuple[Segment, ...] = ()
    """the segments that this was read by"""

    def precompute(self) -> "UserRequest":
        """Return the request with its lines."""
        words = self.words and replace(self.words, known_lines=self.words.lines)
        others = tuple(
            (author, replace(said, known_sentences=said.sentences)) for author, said in self.others
        )
        return replace(self, words=words, others=others)


def read_user_message(
    message: Message, segments: Sequence[Segment], redact: Callable[[str], str]
) -> UserRequest:
    """Read a message with role `user`; the segments say whose each piece is."""
    text = message.text
    said = person_words(message, segments)
    spoken = [each for each in segments if each.author is Author.PERSON and not each.is_quoted]
    own = "\n".join(text[each.start : each.stop] for each in spoken)
    rules = [FoundRule(rule) for rule in find_rules(redact(own))] if own.strip() else []
    for each in segments:
        if each.author is Author.PROJECT and is_rules_file(each.source):
            rules += [FoundRule(rule, each.source) for rule in find_project_rules(redact(each.cut(text)))]
    return UserRequest(
        words=read_words(said, redact) if said else None,
        rules=tuple(rules),
        others=tuple(_others(text, segments, redact)),
        key=tuple(segments),
    )


def _others(
    text: str, segments: Sequence[Segment], redact: Callable[[str], str]
) -> list[tuple[Author, Words]]:
    """Read what others say here; a command's own text and a client's marks say nothing about the work."""
    found: dict[Author, list[str]] = {}
    for each in segments:
        if each.author is Author.PERSON or each.is_quoted or each.source == COMMAND_BODY:
            continue
        piece = each.cut(text)[:_LONGEST_REST_CHARS]
        if piece:
            found.setdefault(each.author, []).append(piece)
    return [(author, read_words("\n".join(pieces), redact)) for author, pieces in found.items()]
