"""Outcomes of requests, read from the conversation itself: whether a model answered them."""

from collections.abc import Sequence

from midfold.messages import Message

_QUESTION_MARKS = ("?", "？", "؟")
_ENDING_CHARS = 200


def why_answered(messages: Sequence[Message], request: int) -> str | None:
    """Return how the conversation shows that the request at this index is no goal any more.

    That is a message of the model without calls right before a person speaks again, or last of all. One that
    asks back at its end proves nothing.
    """
    following = range(request + 1, len(messages))
    spoken = (index for index in following if _is_spoken(messages[index]))
    answer = next(spoken, len(messages)) - 1
    if answer <= request or messages[answer].role != "assistant" or any(messages[answer].calls):
        return None
    said = messages[answer].text.strip()
    asks_back = any(mark in said[-_ENDING_CHARS:] for mark in _QUESTION_MARKS)
    return None if not said or asks_back else f"answered at [{answer}]"


def _is_spoken(message: Message) -> bool:
    return message.role == "user" and bool(message.text.strip()) and not any(message.results)
