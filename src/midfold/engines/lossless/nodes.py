"""Summary nodes: each stands for a range of messages, or for other summaries, and says so in its message.

A node is written into the conversation as a message of its own and read back from it. Its fence carries a
keyed hash of all that it says, so that a text that imitates a node is never taken for one.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from midfold.folding import TASK_HEADING, FoldedNumbers, Span, join_spans, read_folded_numbers
from midfold.late_dataclasses import dataclass, field
from midfold.messages import Message, Text
from midfold.summaries import FOLDED_HEADING, join_sections, prompts, quote_headings, split_sections
from midfold.summaries.digest import NOTES_HEADING

SOURCE_HEADING = "Summary"
MAP_HEADING = "Earlier Messages"
MOST_DEPTH = 60_000
"""A ceiling with room for one summary adds a level in every fold."""
_ID_BYTES = 5
_BLOCK = 256
"""Messages whose leaves are looked up together."""
_ID = re.compile(r"sum_[0-9a-f]{10}")
_SOURCE = re.compile(
    r"(sum_[0-9a-f]{10}), depth (\d{1,5}), in place of ([\d,]{1,15}) tokens(?:, made of (.{1,4000}))?"
)


@dataclass(frozen=True, slots=True)
class SummaryNode:
    """One summary: what it says, what it stands for, and what it was made of."""

    id: str
    depth: int
    """0 where it was made of messages"""
    spans: tuple[Span, ...]
    """the numbers of the messages that it stands for, in the whole conversation"""
    children: tuple[str, ...]
    body: str
    source_tokens: int
    """of the messages that it stands for"""
    tokens: int = 0
    """of its own message"""
    dropped: tuple[str, ...] = ()
    """what it could have said and does not, the weightiest first"""

    @property
    def first(self) -> int:
        """The number of the first message that it stands for."""
        return self.spans[0].start if self.spans else 0

    @property
    def stop(self) -> int:
        """The number behind the last message that it stands for: summaries stand in the order of these."""
        return self.spans[-1].stop if self.spans else 0

    def __contains__(self, number: int) -> bool:
        """Whether it stands for this message."""
        return any(number in span for span in self.spans)

    @property
    def message_count(self) -> int:
        return sum(map(len, self.spans))

    def format_range(self) -> str:
        """Write which messages it stands for."""
        return format_spans(self.spans)

    def name_range(self) -> str:
        """Write which messages it stands for, as a sentence says it."""
        return f"{'message' if self.message_count == 1 else 'messages'} {self.format_range()}"


def format_spans(spans: Iterable[Span]) -> str:
    """Write ranges of message numbers for a reader."""
    written = [str(span.start) if len(span) == 1 else f"{span.start}–{span.stop - 1}" for span in spans]
    return ", ".join(written)


def name_node(digests: Iterable[bytes], depth: int, key: bytes) -> str:
    """Name a node by what it is made of: the same history and key give the same name."""
    hasher = blake2b(key=key[:64], digest_size=_ID_BYTES)
    hasher.update(depth.to_bytes(2, "big"))
    for digest in digests:
        hasher.update(digest)
    return f"sum_{hasher.hexdigest()}"


def write_node(node: SummaryNode, key: bytes) -> Message:
    """Make the message that a node is in the conversation."""
    made_of = f", made of {', '.join(node.children)}" if node.children else ""
    source = f"{node.id}, depth {node.depth}, in place of {node.source_tokens:,} tokens{made_of}"
    sections = split_sections(node.body)
    # Words without a heading would read as part of the section before them.
    notes = {NOTES_HEADING: sections.pop("")} if "" in sections else {}
    for heading in (SOURCE_HEADING, FOLDED_HEADING):
        sections.pop(heading, None)
    body = join_sections(
        {SOURCE_HEADING: source, **notes, **sections, FOLDED_HEADING: FoldedNumbers(node.spans).render()}
    )
    title = f"{prompts.SUMMARY_MARKER} Summary {node.id} of {node.name_range()}."
    return Message("user", (Text(f"{title}\n{prompts.seal_notes(body, key)}"),))


def read_node(message: Message, key: bytes) -> SummaryNode | None:
    """Read a node back from its message; `None` for any other message, an imitation included."""
    body = _open(message, key)
    if body is None:
        return None
    sections = split_sections(body)
    source = _SOURCE.fullmatch(sections.pop(SOURCE_HEADING, ""))
    sections.pop(FOLDED_HEADING, None)
    if source is None:
        return None
    return SummaryNode(
        id=source[1],
        depth=int(source[2]),
        spans=read_folded_numbers(body).spans,
        children=tuple(_ID.findall(source[4] or "")),
        body=join_sections(sections),
        source_tokens=int(source[3].replace(",", "")),
    )


def write_frame(
    task: str, standing: str, nodes: Sequence[SummaryNode], added: Sequence[int], key: bytes
) -> Message:
    """Make the message behind all summaries: the active task, what stands, and the map of what is where.

    `added` are the numbers of messages behind which one was put in to make the list legal.
    """
    listed = [f"- {node.id}: {node.name_range()}, depth {node.depth}{_size_of(node)}" for node in nodes]
    lookup = (
        "Each summary above stands for these messages, the oldest first; depth 0 was made of messages, a "
        "higher one of summaries. Where two differ, the later holds. Where these tools are offered, "
        "lcm_expand shows what is behind a summary, or message n by its number, word for word; lcm_grep "
        "searches all that was said."
    )
    sections = {
        TASK_HEADING: quote_headings(task),
        **split_sections(standing),
        MAP_HEADING: "\n".join([*listed, lookup]),
        FOLDED_HEADING: FoldedNumbers(_join(nodes), tuple(added)).render(),
    }
    return Message("user", (Text(prompts.seal_summary(join_sections(sections), key)),))


@dataclass(frozen=True, slots=True)
class Frame:
    """The text of the message behind earlier summaries, without the active task and the map."""

    numbers: FoldedNumbers
    standing: str
    """of the whole conversation"""


def read_frame(message: Message, key: bytes) -> Frame | None:
    """Read the frame of earlier summaries; `None` for any other message."""
    body = _open(message, key)
    sections = split_sections(body or "")
    if body is None or MAP_HEADING not in sections:
        return None
    for heading in (TASK_HEADING, MAP_HEADING, FOLDED_HEADING):
        sections.pop(heading, None)
    return Frame(read_folded_numbers(body), join_sections(sections))


def _size_of(node: SummaryNode) -> str:
    """Write the size of what a summary stands for; one of the compressor does not say it."""
    return f", {node.source_tokens:,} tokens" if node.source_tokens else ""


def _join(nodes: Iterable[SummaryNode]) -> tuple[Span, ...]:
    return join_spans(span for node in nodes for span in node.spans)


def _open(message: Message, key: bytes) -> str | None:
    """Return the fenced words of one of our messages, if its fence proves that they are ours."""
    text = message.text if message.role == "user" else ""
    return prompts.find_body(text) if prompts.is_sealed(text, key) else None


@dataclass(slots=True)
class SummaryGraph:
    """All nodes of a conversation by their ids. Bodies may be left in the store until somebody asks."""

    nodes: dict[str, SummaryNode] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    _leaves: dict[int, list[str]] = field(default_factory=dict)
    """those that stand for messages of a block of numbers"""

    def copy(self) -> "SummaryGraph":
        """Return a graph that grows by itself from here."""
        leaves = {block: list(names) for block, names in self._leaves.items()}
        return SummaryGraph(dict(self.nodes), dict(self.parents), leaves)

    def add(self, nodes: Iterable[SummaryNode]) -> None:
        """Take in nodes; one that is known keeps its parent."""
        for node in nodes:
            if node.depth == 0 and node.id not in self.nodes:
                for block in _blocks(node.spans):
                    self._leaves.setdefault(block, []).append(node.id)
            self.nodes[node.id] = node
            for child in node.children:
                self.parents[child] = node.id

    def leaves(self, node_id: str) -> list[str]:
        """List the leaves under a node that are known, in order; a leaf is its own."""
        waiting, found = [node_id], []
        while waiting:
            node = self.nodes.get(waiting.pop())
            if node is None:
                continue
            if node.children:
                waiting += reversed(node.children)
            else:
                found.append(node.id)
        return found

    def covering(self, number: int) -> SummaryNode | None:
        """Return the smallest summary that stands for message `number`."""
        leaves = (self.nodes[name] for name in self._leaves.get(number // _BLOCK, ()))
        found = [node for node in leaves if number in node]
        found = found or [node for node in self.nodes.values() if number in node]
        return min(found, key=lambda node: (node.depth, node.message_count), default=None)


def _blocks(spans: Iterable[Span]) -> set[int]:
    return {block for span in spans for block in range(span.start // _BLOCK, (span.stop - 1) // _BLOCK + 1)}
