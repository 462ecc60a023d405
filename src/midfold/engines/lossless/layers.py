"""A conversation of the lossless engine, taken apart: its summaries, and the messages between them."""

from collections.abc import Iterable, Sequence

from midfold.engines.lossless.nodes import SummaryNode, name_node, read_frame, read_node
from midfold.folding import (
    FoldedNumbers,
    Span,
    count_leading_system,
    find_summary,
    join_spans,
    number_messages,
    read_folded_numbers,
    read_summary,
)
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message, own_digest
from midfold.summaries import join_bodies, prompts


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A summary at its index in the list; one that is made of it now has none."""

    node: SummaryNode
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Layers:
    """The parts of a list: summaries, the frame behind them, and all other messages."""

    nodes: tuple[PlacedNode, ...]
    frames: tuple[int, ...]
    rest: tuple[int, ...]
    """the indices of the messages that are no summary"""
    numbers: tuple[int, ...]
    """what each of these is known by in the whole conversation"""
    added: tuple[int, ...]
    """numbers of messages behind which one was put in"""
    standing: str = ""
    """what the frame says of the whole conversation"""

    def join_notes(self) -> str:
        """Return all that is said of folded messages."""
        return "\n".join([self.standing, *(placed.node.body for placed in self.nodes)])


def read_layers(messages: Sequence[Message], sizes: Sequence[int], key: bytes, head: int) -> Layers:
    """Take a list apart.

    A summary of the other engine, within the first `head` messages, stands for its messages as a leaf does.
    """
    nodes: list[PlacedNode] = []
    frames: list[int] = []
    rest: list[int] = []
    added: set[int] = set()
    standing: list[str] = []
    lead = count_leading_system(messages)
    other = find_summary(messages, lead, head, key)
    for index, message in enumerate(messages):
        node = read_node(message, key)
        framed = None if node else read_frame(message, key)
        if node is None and framed is None and index == other:
            node, framed = take_over(message, key), None
            if node is not None:
                added |= set(_numbers_of(message).added)
                standing.append(node.body)
        if node is not None:
            nodes.append(PlacedNode(replace(node, tokens=sizes[index]), index))
        elif framed is not None:
            frames.append(index)
            added |= set(framed.numbers.added)
            standing.append(framed.standing)
        else:
            rest.append(index)
    spans = join_spans(span for placed in nodes for span in placed.node.spans)
    numbers = number_messages(len(rest) + 1, len(rest), FoldedNumbers(spans, tuple(sorted(added))))
    return Layers(
        nodes=tuple(nodes),
        frames=tuple(frames),
        rest=tuple(rest),
        numbers=tuple(numbers[: len(rest)]),
        added=tuple(sorted(added)),
        standing=join_bodies(standing),
    )


def list_nodes(messages: Iterable[Message], key: bytes) -> list[SummaryNode]:
    """List the summaries among messages, those of the compressor included."""
    found = (
        read_node(message, key) or (None if read_frame(message, key) else take_over(message, key))
        for message in messages
        if message.role == "user"
    )
    return [node for node in found if node is not None]


def _numbers_of(message: Message) -> FoldedNumbers:
    return read_folded_numbers(prompts.find_body(message.text) or "")


def take_over(message: Message, key: bytes) -> SummaryNode | None:
    """Read a summary of the compressor as a leaf, where it says which messages it stands for.

    What another product wrote is not trusted: it stays a message.
    """
    text = message.text
    numbers = _numbers_of(message)
    if not prompts.is_sealed(text, key) or not numbers.spans:
        return None
    return SummaryNode(
        id=name_node([own_digest(message)], 0, key),
        depth=0,
        spans=numbers.spans,
        children=(),
        body=read_summary(text, is_trusted=True) or "",
        source_tokens=0,
    )


def contiguous(indices: Sequence[int]) -> list[Span]:
    """Return the spans that indices in order make up."""
    return list(join_spans(Span(index, index + 1) for index in indices))
