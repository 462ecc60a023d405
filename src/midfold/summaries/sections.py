"""A summary as sections: reading the headings of one, putting one together, and the task that leads it.

The active task is set by code: the newest request in the user's own words, whatever a summariser wrote.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence

from midfold.messages import Message
from midfold.provenance import asks, find_answer, newest_asked, person_words, question_before, segments_at
from midfold.settings import Template
from midfold.summaries.ledger.text_commands import find_protocol

_HEADING = re.compile(r"^## +(\S.*)$", re.MULTILINE)
TASK_HEADING = "Active Task"
FOLDED_HEADING = "Folded Messages"
CORRECTIONS_HEADING = "Corrections by the User"
"""Code wrote the lines under this heading."""
NOTED = " (noted)"
"""What a heading ends with where a model wrote the lines under it."""
MAX_TASK_CHARS = 2_000
_MOST_ANSWERS = 3
_ANSWER_CHARS = 400
NO_TASK = "None."
WORDLESS = "(the user sent something without words; it follows)"
_GO_AHEAD_CHARS = 40
# A message of nothing but these words asks for what was asked before.
_GO_AHEAD_WORDS = """
    continue go on ahead proceed yes y ok okay sure please do it next keep going carry resume retry again
    thanks thank you good great fine right alright yep yeah and now then
    weiter mach ja gerne bitte los continua sigue adelante si sí vale dale continuez oui vas-y suite
    继续 好 好的 可以 是 是的 请继续 下一步 続けて 続行 はい お願いします 계속 네
    да продолжай дальше давай
"""
_GO_AHEADS = frozenset(_GO_AHEAD_WORDS.split())


HEADINGS: dict[Template, tuple[str, ...]] = {
    Template.HANDOFF: (
        "Active Task",
        "Goal",
        "Constraints & Preferences",
        "Completed Actions",
        "Active State",
        "In Progress",
        "Blocked",
        "Key Decisions",
        "Resolved Questions",
        "Pending User Asks",
        "Relevant Files",
        "Remaining Work",
        "Critical Context",
    ),
    Template.PROGRESS: (
        "Goal",
        "Constraints & Preferences",
        "Progress",
        "Key Decisions",
        "Relevant Files",
        "Next Steps",
        "Critical Context",
    ),
    Template.BRIEF: (
        "Task Context",
        "Key Decisions Resolved",
        "Active Files",
        "Pending Questions",
        "Remaining Work",
    ),
}
SUBHEADINGS: dict[str, tuple[str, ...]] = {"Progress": ("Done", "In Progress", "Blocked")}


def split_sections(body: str) -> dict[str, str]:
    """Read a summary by its `## ` headings; what stands before the first is under the empty name."""
    sections: dict[str, str] = {}
    name = ""
    start = 0
    for heading in _HEADING.finditer(body):
        _add(sections, name, body[start : heading.start()])
        name, start = heading[1].rstrip(), heading.end()
    _add(sections, name, body[start:])
    return sections


def join_sections(sections: Mapping[str, str]) -> str:
    """Write sections in their order, leaving out empty ones."""
    written = [f"## {name}\n{text}" if name else text for name, text in sections.items() if text.strip()]
    return "\n\n".join(written)


def as_noted(heading: str) -> str:
    """Return a heading that says of itself that a model wrote the lines under it."""
    return heading if heading.endswith(NOTED) else f"{heading}{NOTED}"


def quote_headings(text: str) -> str:
    """Return a text that is quoted in a section, so that no line of it is taken for a heading."""
    return _HEADING.sub(r" \g<0>", text) if "## " in text else text


def with_section(body: str, name: str, text: str) -> str:
    """Return the summary with `text` as its first section `name`, whatever it said there before."""
    rest = {heading: words for heading, words in split_sections(body).items() if heading != name}
    return join_sections({name: quote_headings(text), **rest})


def active_task(
    messages: Sequence[Message],
    is_summary: int | None = None,
    observations: Container[int] | None = None,
) -> str:
    """Quote what a person asked last, and with a few words what they answer, or what was asked before.

    `is_summary` is the index of an earlier summary, which is no request; `observations`, where they are
    known, are those of a text protocol. What a person answered since, through a tool that asks, belongs here.
    """
    if observations is None:
        observations = find_protocol(messages).observations
    newest = newest_asked(messages, observations)
    if newest is None or newest == is_summary:
        return NO_TASK
    words = _words_at(messages, newest) or WORDLESS
    task = words[:MAX_TASK_CHARS]
    question = question_before(messages, newest, words)
    if question:
        task += f"\n(This answers: {question})"
    if is_go_ahead(words):
        earlier = _asked_before(messages, newest, is_summary, observations)
        task += f"\n(Asked before: {earlier[:MAX_TASK_CHARS]})" if earlier else ""
    return task + "".join(_answered_since(messages, newest))


def _words_at(messages: Sequence[Message], index: int) -> str:
    return person_words(messages[index], segments_at(messages, index)).strip()


def _asked_before(
    messages: Sequence[Message], index: int, is_summary: int | None, observations: Container[int]
) -> str:
    """Return the last request before `index` that says more than to go on."""
    for earlier in range(index - 1, -1, -1):
        if earlier != is_summary and asks(messages, earlier, observations):
            words = _words_at(messages, earlier)
            if words and not is_go_ahead(words):
                return words
    return ""


def _answered_since(messages: Sequence[Message], index: int) -> Iterator[str]:
    """Quote what a person said in tool results after `index`, the newest few."""
    calls = {call.id: call for message in messages[index + 1 :] for call in message.calls}
    said = [
        answer
        for message in messages[index + 1 :]
        for result in message.results
        if result.call_id in calls and (answer := find_answer(calls[result.call_id], result))
    ]
    for answer in said[-_MOST_ANSWERS:]:
        asked = f" (asked: {' '.join(answer.question.split())[:_ANSWER_CHARS]})" if answer.question else ""
        yield f"\n(Since then the user answered: {' '.join(answer.words.split())[:_ANSWER_CHARS]}{asked})"


def is_go_ahead(words: str) -> bool:
    """Whether these words only say to go on."""
    if len(words) > _GO_AHEAD_CHARS:
        return False
    return all(word.strip("!.,…。！，").lower() in _GO_AHEADS for word in words.split())


def _add(sections: dict[str, str], name: str, text: str) -> None:
    text = text.strip()
    if text:
        sections[name] = f"{sections[name]}\n{text}" if name in sections else text
