"""Where a list of messages may be cut.

A call and its results belong together, and so do the thinking and the items that follow it where a provider
sends them apart. Legal cuts are computed once as a set; whoever folds chooses from it and repairs nothing
afterwards.
"""

from collections.abc import Sequence
from itertools import accumulate

from midfold.folding.fold import Span
from midfold.messages import Message, Pairing, Reasoning, ToolResult, is_request


def legal_cuts(messages: Sequence[Message], pairing: Pairing) -> list[bool]:
    """Say for each index from 0 to `len(messages)` whether the list may be cut before it.

    Never between a call and its result, never after a call that is still waiting for one, never between
    thinking that is an item of its own and what it led to.
    """
    blocked = [0] * (len(messages) + 2)
    requests = [0, *accumulate(map(is_request, messages))]
    for call, result in pairing.answers.items():
        # A result that comes after the user spoke again is one no provider accepts, and binds nothing.
        if call.message < result.message and requests[call.message] == requests[result.message]:
            blocked[call.message + 1] += 1
            blocked[result.message + 1] -= 1
    waiting = waiting_from(messages, pairing)
    if waiting is not None:
        blocked[waiting + 1] += 1
    depths = list(accumulate(blocked[: len(messages) + 1]))
    inside_thought = _inside_thought(messages)
    return [depth == 0 and not inside_thought[index] for index, depth in enumerate(depths)]


def waiting_from(messages: Sequence[Message], pairing: Pairing) -> int | None:
    """Return the first message with a call that may still get its result: one of the newest turn."""
    end = len(messages)
    while end and messages[end - 1].parts and _only_results(messages[end - 1]):
        end -= 1
    start = end - 1 if end and messages[end - 1].role == "assistant" else end
    # Calls that are items of their own belong to one turn; a model that spoke again did not wait.
    while start and messages[start - 1].role == "assistant" and not messages[start - 1].text.strip():
        start -= 1
    return next((call.message for call in pairing.open_calls if start <= call.message < end), None)


def group_around(index: int, cuts: Sequence[bool]) -> Span:
    """Return the smallest span with legal ends that holds `index`."""
    start = index
    while not cuts[start]:
        start -= 1
    stop = index + 1
    while stop < len(cuts) - 1 and not cuts[stop]:
        stop += 1
    return Span(start, stop)


def _only_results(message: Message) -> bool:
    return all(isinstance(part, ToolResult) for part in message.parts)


def _only_thinks(message: Message) -> bool:
    return all(isinstance(part, Reasoning) for part in message.parts)


def _inside_thought(messages: Sequence[Message]) -> list[bool]:
    """Mark the indices before which a thought, sent as an item of its own, has not yet come to its end."""
    marks = [False] * (len(messages) + 1)
    thinking = False
    for index, message in enumerate(messages):
        parts = message.parts
        starts = bool(parts) and isinstance(parts[0], Reasoning) and _only_thinks(message)
        marks[index] = thinking and message.role == "assistant" and not starts
        thinking = message.role == "assistant" and (starts or thinking)
    return marks
