"""A conversation measured: system prompt, earlier summary, newest request, and where it may be cut.

A call and its results belong together, and so do the thinking and the items that follow it where a provider
sends them apart. Legal cuts are computed once; a plan chooses from them and repairs nothing afterwards.
"""

from collections.abc import Sequence
from itertools import accumulate

from midfold.folding.fold import Span, count_leading_system
from midfold.folding.policy import CompressionPolicy
from midfold.folding.summary_message import (
    FoldedNumbers,
    find_summary,
    is_ours,
    number_messages,
    read_folded_numbers,
    read_summary,
)
from midfold.late_dataclasses import dataclass
from midfold.messages import Message, Pairing, Reasoning, ToolResult, is_request, newest_request, pair_calls
from midfold.provenance import newest_asked
from midfold.settings import Budget
from midfold.summaries import CommandProtocol, ends_turn, find_protocol, prompts, told_calls


@dataclass(frozen=True, slots=True)
class Layout:
    """A conversation measured and cut up: everything a plan is chosen from."""

    messages: Sequence[Message]
    sizes: Sequence[int]
    pairing: Pairing
    cuts: list[bool]
    lead: int
    """the number of messages of the system prompt"""
    summary: int | None
    """where an earlier summary stands"""
    previous: str | None
    """its words"""
    folded_before: FoldedNumbers
    """the messages that it stands for"""
    numbers: list[int]
    """the number of each message in the whole conversation"""
    request: Span
    """what a person asked last, with whatever cannot be parted from it; empty when nobody said anything"""
    newest: Span
    """the newest message of the user's role, where the client wrote it; providers and clients look for it"""
    asked: int | None
    """where that request stands"""
    answered: int | None
    """where the model's last words stand, if they end the work on it and the conversation"""
    observations: frozenset[int]
    """tool output that comes as messages of the user, where a model gives its commands in words"""
    waiting: int | None
    """the first message with a call that waits for its result"""
    sums: list[int]

    @property
    def head_start(self) -> int:
        """Where the head begins: after the system prompt.

        While the first request was also the newest one, an earlier summary had to stand before it.
        """
        if self.summary != self.lead or self.lead + 1 >= len(self.messages):
            return self.lead
        return self.lead + 1 if self.numbers[self.lead + 1] == self.lead else self.lead

    def tokens(self, span: Span) -> int:
        """Count the messages of `span`."""
        return self.sums[span.stop] - self.sums[span.start] if len(span) else 0


def lay_out(
    messages: Sequence[Message],
    sizes: Sequence[int],
    policy: CompressionPolicy,
    *,
    key: bytes = b"",
    has_folded: bool = False,
    notes: str = "",
) -> Layout:
    """Measure a conversation once; all questions about it are answered from this.

    `key` is the conversation's, by which a summary of ours is known; `has_folded` says that there is one.
    `notes` are those on folded messages that do not stand in the list.
    """
    pairing = pair_calls(messages)
    lead = count_leading_system(messages)
    summary = find_summary(messages, lead, reach_head(sizes, lead, policy), key)
    newest = newest_request(messages)
    if newest is not None and newest == summary:
        # The only words of the user may start like somebody's summary; only ours is sure to be one.
        is_fenced = messages[newest].text.startswith(prompts.SUMMARY_MARKER)
        newest, summary = (None, summary) if is_fenced else (newest, None)
    previous = _read_previous(messages, summary, key, has_folded=has_folded)
    protocol = find_protocol(messages, told=told_calls(previous or notes))
    cuts = _without_outputs(legal_cuts(messages, pairing), protocol)
    asked = _find_asked(messages, protocol.observations, summary, newest)
    folded_before = read_folded_numbers(previous or "")
    return Layout(
        messages=messages,
        sizes=sizes,
        pairing=pairing,
        cuts=cuts,
        lead=lead,
        summary=summary,
        previous=previous,
        folded_before=folded_before,
        numbers=number_messages(len(messages), summary, folded_before),
        request=_group(asked, cuts),
        asked=asked,
        answered=_find_answer(messages, asked, protocol),
        newest=_group(None if newest == asked else newest, cuts),
        observations=protocol.observations,
        waiting=waiting_from(messages, pairing),
        sums=[0, *accumulate(sizes)],
    )


def _without_outputs(cuts: Sequence[bool], protocol: CommandProtocol) -> list[bool]:
    """A command in words and its output belong together as a call and its result do."""
    return [is_legal and index not in protocol.observations for index, is_legal in enumerate(cuts)]


def _read_previous(
    messages: Sequence[Message], summary: int | None, key: bytes, *, has_folded: bool
) -> str | None:
    """Return the words of an earlier summary."""
    if summary is None:
        return None
    text = messages[summary].text
    return read_summary(text, is_trusted=is_ours(text, key, has_folded=has_folded))


def _find_asked(
    messages: Sequence[Message], observations: frozenset[int], summary: int | None, newest: int | None
) -> int | None:
    """Find what a person asked last; where nobody did, the newest message of the role stands for it."""
    asked = newest_asked(messages, observations)
    return newest if asked is None or asked == summary else asked


def _find_answer(messages: Sequence[Message], asked: int | None, protocol: CommandProtocol) -> int | None:
    last = len(messages) - 1
    return last if asked is not None and last > asked and ends_turn(messages, last, protocol) else None


def _group(index: int | None, cuts: Sequence[bool]) -> Span:
    return Span(0, 0) if index is None else group_around(index, cuts)


def count_head(sizes: Sequence[int], lead: int, policy: CompressionPolicy) -> int:
    """Return the length of the head: so many messages, as far as they fit its tokens."""
    fitting = sum(total <= policy.head_budget_tokens for total in accumulate(sizes[lead:]))
    return fitting if policy.budget is Budget.FIXED else min(policy.protect_first_n, fitting)


def reach_head(sizes: Sequence[int], lead: int, policy: CompressionPolicy) -> int:
    """Return how far the head of an earlier fold may have reached: its budget may have been another one."""
    return max(policy.protect_first_n, count_head(sizes, lead, policy))


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
    inside_thought = _mark_reasoning(messages)
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


def _is_reasoning_only(message: Message) -> bool:
    return all(isinstance(part, Reasoning) for part in message.parts)


def _mark_reasoning(messages: Sequence[Message]) -> list[bool]:
    """Mark the indices before which a thought, sent as an item of its own, has not yet come to its end."""
    marks = [False] * (len(messages) + 1)
    thinking = False
    for index, message in enumerate(messages):
        parts = message.parts
        starts = bool(parts) and isinstance(parts[0], Reasoning) and _is_reasoning_only(message)
        marks[index] = thinking and message.role == "assistant" and not starts
        thinking = message.role == "assistant" and (starts or thinking)
    return marks
