"""Cuts the messages that are to be summarised into chunks, never inside a group."""

from collections.abc import Sequence

from midfold.folding import Span
from midfold.late_dataclasses import dataclass

LEAF_TOKENS = 20_000
"""The most messages that one leaf stands for; a longer chunk makes a summary too coarse to be searched by."""
LEAF_PART = 0.12
"""Of a chunk: the length of its summary."""
MOST_LEAF_TOKENS = 2_400
FEWEST_LEAF_TOKENS = 160
FEWEST_CHUNK_TOKENS = 2 * FEWEST_LEAF_TOKENS
"""Of less, a summary with its fences, its id and its sources would be hardly smaller, or larger."""
FAN_IN = 4
"""Summaries that are condensed into one."""
CONDENSED_PART = 0.35
MOST_CONDENSED_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class LayerSizes:
    """The sizes of chunks and summaries for one window."""

    leaf_tokens: int = LEAF_TOKENS
    most_leaf_summary: int = MOST_LEAF_TOKENS
    most_condensed: int = MOST_CONDENSED_TOKENS
    fan_in: int = FAN_IN

    @classmethod
    def for_target(cls, target_tokens: int) -> "LayerSizes":
        """Scale the sizes down where the whole context is small."""
        leaf = max(500, min(LEAF_TOKENS, target_tokens // 2))
        most = max(FEWEST_LEAF_TOKENS, min(MOST_LEAF_TOKENS, target_tokens // 8))
        return cls(leaf, most, min(MOST_CONDENSED_TOKENS, most))

    def leaf_budget(self, chunk_tokens: int) -> int:
        """Return how long the summary of a chunk may be: never as long as the chunk."""
        wanted = max(int(chunk_tokens * LEAF_PART), FEWEST_LEAF_TOKENS)
        return min(wanted, self.most_leaf_summary, chunk_tokens // 2)

    def condensed_budget(self, tokens: int) -> int:
        """Return how long a summary in place of summaries of `tokens` may be."""
        wanted = max(int(tokens * CONDENSED_PART), FEWEST_LEAF_TOKENS)
        return min(wanted, self.most_condensed, tokens // 2)


def cut_chunks(
    spans: Sequence[Span],
    sums: Sequence[int],
    cuts: Sequence[bool],
    most_tokens: int,
    fewest_tokens: int = 0,
) -> list[Span]:
    """Cut spans into chunks of at most `most_tokens`; a group that is larger is a chunk of its own.

    `sums` are the running totals of the sizes, `cuts` says where the list may be cut. A chunk of less
    than `fewest_tokens` joins its neighbour; a span of less is left out.
    """
    found: list[Span] = []
    for span in spans:
        chunks: list[Span] = []
        start = stop = span.start
        for index in range(span.start + 1, span.stop + 1):
            if index < span.stop and not cuts[index]:
                continue
            if stop > start and sums[index] - sums[start] > most_tokens:
                chunks.append(Span(start, stop))
                start = stop
            stop = index
        if stop > start:
            chunks.append(Span(start, stop))
        found += _join_small(chunks, sums, fewest_tokens)
    return found


def _join_small(chunks: Sequence[Span], sums: Sequence[int], fewest_tokens: int) -> list[Span]:
    """Join each chunk that is too small with its neighbour; one that has none is left out."""

    def is_small(chunk: Span) -> bool:
        return sums[chunk.stop] - sums[chunk.start] < fewest_tokens

    joined: list[Span] = []
    for chunk in chunks:
        if joined and (is_small(chunk) or is_small(joined[-1])):
            joined[-1] = Span(joined[-1].start, chunk.stop)
        else:
            joined.append(chunk)
    return [chunk for chunk in joined if not is_small(chunk)]


def choose_to_condense(depths: Sequence[int], fan_in: int) -> Span | None:
    """Choose the neighbouring summaries to condense next, by their depths: the oldest of the lowest depth.

    Where no `fan_in` of one depth stand together, the oldest two do. `None` where there is only one.
    """
    if len(depths) < 2:
        return None
    for depth in sorted(set(depths)):
        start = 0
        for index in range(len(depths) + 1):
            if index == len(depths) or depths[index] != depth:
                start = index + 1
            elif index + 1 - start == fan_in:
                return Span(start, index + 1)
    return Span(0, min(fan_in, len(depths)))
