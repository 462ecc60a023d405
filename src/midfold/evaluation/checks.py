"""Checks of any compression, whatever it kept: nothing made up, legal, and no credential in it."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from midfold.evaluation.conversations import MeasuredConversation
from midfold.evaluation.texts import SourceTexts
from midfold.messages import Message, pair_calls
from midfold.summaries.prompts import SUMMARY_MARKER, find_body

# One pattern reads source and summary alike, so that most answers are a look into a set.
_EXACT = re.compile(
    r"(?<![\w.])(?:"
    r"[~.]{0,2}(?:/[\w.@+-]+){2,}|[\w.@+-]+(?:/[\w.@+-]+)+|"  # paths
    r"[A-Z][A-Z0-9]{1,9}-\d+|"  # tickets
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|"
    r"\d[\d,.]*\d|"  # numbers of two digits and more
    r"(?=[a-f]*\d)[0-9a-f]{7,40}"  # hashes
    r")(?!\w)"
)
# The summary's own apparatus: message indices, numbering, marks of what was left out and counts of it.
_APPARATUS = re.compile(
    r"\[[\d\s,…–-]+\]|^\d+–\d+(?:, \d+(?:–\d+)?)*|^\s*\d{1,4}[.)]\s|\[…[^\]\n]*\]|\(?…[^\n\[\]]{0,40}…\)?|"
    r"\+?\d[\d,.]* (?:more|others?|lines?|chars?|characters?|bytes?|messages?|tokens?|results?|times)\b",
    re.MULTILINE,
)
_LAST_CHARS = ".,"


def find_inventions(summary: str | None, source: SourceTexts) -> list[str]:
    """Return the numbers, paths and ids in a summary that the conversation never said, each once."""
    if summary is None:
        return []
    body = _APPARATUS.sub(" ", find_body(summary) or summary)
    known = _plain_strings(source.joined)
    return [
        said
        for said in dict.fromkeys(match[0].rstrip(_LAST_CHARS) for match in _EXACT.finditer(body))
        if _plain(said) not in known
        and not _occurs(said, source.joined)
        and not _is_joined(said, source.joined)
    ]


@lru_cache(maxsize=4)  # the methods are run on one conversation after another
def _plain_strings(text: str) -> frozenset[str]:
    return frozenset(_plain(match[0].rstrip(_LAST_CHARS)) for match in _EXACT.finditer(text))


def _plain(said: str) -> str:
    """Write a number without separators, so that 1,234 is 1234."""
    return said.replace(",", "")


def _occurs(said: str, text: str) -> bool:
    """Whether a text has a string in other surroundings, or a path with the other slashes."""
    return said in text or _plain(said) in text or said.replace("/", "\\") in text


def _is_joined(path: str, text: str) -> bool:
    """Whether a path is a folder and a file of it that a text has apart, as `cd /tmp && touch a.py` has."""
    cuts = [at for at, sign in enumerate(path) if sign == "/" and at] if path[0] in "/~" else []
    return any(path[:at] in text and path[at + 1 :] in text for at in cuts)


def find_problems(
    conversation: MeasuredConversation,
    items: Sequence[object],
    messages: Sequence[Message],
    summary: str | None,
) -> tuple[str, ...]:
    """List the faults of the list, a line each; rules that the old list broke, too, are left out."""
    return (
        *_new_faults(conversation, items),
        *_broken_pairs(conversation, messages),
        *_request_problems(conversation, messages, summary),
    )


def _new_faults(conversation: MeasuredConversation, items: Sequence[object]) -> list[str]:
    old = Counter(conversation.find_errors(conversation.request.messages))
    new = Counter(conversation.find_errors(items))
    return [f"breaks {code}" for code in sorted(new - old)]


def _broken_pairs(conversation: MeasuredConversation, messages: Sequence[Message]) -> list[str]:
    old, new = conversation.pairing, pair_calls(messages)
    return [
        f"{len(now) - len(before)} {what}"
        for what, before, now in (
            ("calls lost their results", old.open_calls, new.open_calls),
            ("results lost their calls", old.orphans, new.orphans),
        )
        if len(now) > len(before)
    ]


def _request_problems(
    conversation: MeasuredConversation, messages: Sequence[Message], summary: str | None
) -> list[str]:
    requests = [message.text for message in conversation.messages if _is_request(message)]
    kept = [message.text for message in messages if _is_request(message)]
    earlier = sum(SUMMARY_MARKER in message.text for message in conversation.messages)
    summaries = sum(SUMMARY_MARKER in message.text for message in messages)
    problems = []
    if requests and (not kept or requests[-1] not in kept[-1]):
        problems.append("the newest request is not the last one, word for word")
    if summaries > max(1, earlier) or (summary is not None and not summaries):
        problems.append(f"{summaries} summaries")
    return problems


def _is_request(message: Message) -> bool:
    """Whether the user asks for something here; a summary speaks for the user."""
    words = message.text.strip()
    return message.role == "user" and bool(words) and not words.startswith(SUMMARY_MARKER)
