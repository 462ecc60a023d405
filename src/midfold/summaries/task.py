"""The active task: the newest request in the person's own words, set by code whatever a summariser wrote.

It says what a few words answer, and how the work on the request stands: whoever reads only the request
behind the notes would do again what the notes already tell.
"""

import re
from collections.abc import Container, Iterator, Sequence

from midfold.late_patterns import compile_late
from midfold.messages import Message
from midfold.provenance import (
    asks,
    find_answer,
    is_go_ahead,
    newest_asked,
    person_words,
    proposal_before,
    question_before,
    segments_at,
)
from midfold.summaries.ledger.text_commands import find_protocol
from midfold.summaries.sections import cut_at_break

MAX_TASK_CHARS = 2_000
NO_TASK = "None."
WORDLESS = "(the user sent something without words; it follows)"
CUT = " … (whole below)"
_MOST_ANSWERS = 3
_ANSWER_CHARS = 400
_OUTCOME_CHARS = 240
_NO_PROSE = "|#-*>`=+•"
_COMMENT = compile_late(r"<!--.*?-->\s*", re.DOTALL)


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
    task = cut_words(words, MAX_TASK_CHARS)
    question = question_before(messages, newest, words)
    if question:
        task += f"\n(This answers: {question})"
    if is_go_ahead(words):
        proposal = "" if question else proposal_before(messages, newest)
        task += f"\n(Said in reply to: {proposal})" if proposal else ""
        earlier = _asked_before(messages, newest, is_summary, observations)
        task += f"\n(Asked before: {cut_words(earlier, MAX_TASK_CHARS)})" if earlier else ""
    return task + "".join(_answered_since(messages, newest))


def describe_progress(
    numbers: Sequence[int],
    folded: Container[int],
    *,
    asked: int,
    answered: int | None = None,
    answer: str = "",
) -> str:
    """Say how far the work on the request at `asked` has come.

    `folded` are the indices of the messages that leave, `answered` is that of the model's last words, if they
    end the work.
    """
    if answered is not None:
        if answered not in folded:
            return "(Answered: the answer follows these notes.)"
        said = _sum_up(answer)
        return f"(Answered, and nothing was asked since: {said})"
    if not any(index in folded for index in range(asked + 1, len(numbers))):
        return ""
    return "(Begun: these notes tell the work on this. Go on from there.)"


def _sum_up(answer: str) -> str:
    """Return the first and the last line of prose, which say what came of it."""
    lines = [line.strip() for line in answer.split("\n")]
    prose = [line for line in lines if line and line[0] not in _NO_PROSE] or [answer.strip()]
    ends = dict.fromkeys((prose[0], prose[-1]))
    return " … ".join(cut_at_break(line, _OUTCOME_CHARS).strip() for line in ends)


def cut_words(text: str, most: int) -> str:
    """Return at most `most` characters of a text, and say where some are missing."""
    return text if len(text) <= most else f"{cut_at_break(text, most - len(CUT)).rstrip()}{CUT}"


def _words_at(messages: Sequence[Message], index: int) -> str:
    """Return what a person says, without the comments of a template."""
    words = person_words(messages[index], segments_at(messages, index)).strip()
    return _COMMENT.sub("", words).strip() or words if "<!--" in words else words


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
