"""Writes summary nodes: a model is asked, then asked for less, and what it fails at the digest does.

Each step is sure to be smaller than what it stands for, so that folding always comes to an end.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from heapq import nlargest
from typing import TypeAlias

from midfold.engines.lossless.nodes import MOST_DEPTH, SummaryNode, name_node, write_node
from midfold.errors import SummaryUnavailable
from midfold.folding import Span, SummaryRequest, join_spans
from midfold.late_dataclasses import dataclass, field, replace
from midfold.messages import Message, pair_calls, texts_of
from midfold.ports import Count
from midfold.summaries import (
    AnswerRejected,
    Draft,
    Retention,
    Sources,
    SummaryJob,
    TurnFacts,
    ask_model,
    condense_with_model,
    explain_failure,
    gather_sources,
    join_bodies,
)
from midfold.summaries.digest import DigestEntry, EntryKind
from midfold.summaries.tool_calls import one_line

_TERSE = 0.5
"""Of its first budget, what a model is asked for once its answer could not be used."""
_FIT_ROUNDS = 4
_LOOK_AHEAD = 120
"""Messages behind a chunk that may settle what it left open."""
_NOTHING_KEPT = Retention(0, 0)
_MOST_DROPPED = 12
_DROPPED_CHARS = 160
_MOST_WEIGHED = 100
"""The weightiest things that a summary could say, among which are those that it does not."""


@dataclass(frozen=True, slots=True)
class WrittenNode:
    """A node, its message, and how it came about."""

    node: SummaryNode
    message: Message
    by: str
    warning: str | None = None
    retention: Retention = _NOTHING_KEPT


@dataclass(frozen=True, slots=True)
class LeafDraft:
    """A leaf whose messages were read, and that says nothing yet."""

    node: SummaryNode
    job: SummaryJob
    sources: Sources


Writing: TypeAlias = Generator[SummaryRequest, str, WrittenNode]


@dataclass(frozen=True, slots=True)
class NodeWriter:
    """The terms on which nodes are written; `job` is that of a summary of nothing yet."""

    job: SummaryJob
    count: Count
    key: bytes
    use_model: bool
    newest: dict[tuple[int, ...], TurnFacts] = field(default_factory=dict)
    """how things stand at the end: read once for all summaries that are condensed"""

    def read_leaf(self, chunk: Span, digests: Iterable[bytes], *, source_tokens: int, room: int) -> LeafDraft:
        """Read the messages of a leaf; `room` is about what its words will have."""
        job = self._window(Span(chunk.start, chunk.stop + _LOOK_AHEAD), room)
        job = replace(job, folded=range(len(chunk)))
        numbers = join_spans(Span(each, each + 1) for each in job.numbers[: len(chunk)])
        node = SummaryNode(name_node(digests, 0, self.key), 0, numbers, (), "", source_tokens)
        return LeafDraft(node, job, gather_sources(job))

    def write_leaf(self, leaf: LeafDraft, *, budget_tokens: int) -> Writing:
        """Summarise messages that were read."""
        job = replace(leaf.job, body_tokens=budget_tokens, model_tokens=budget_tokens)
        draft = yield from self._draft(job, leaf.sources, ask_model)
        source = partial(_texts, job.messages[: len(job.folded)])
        return self._finish(leaf.node, draft, budget_tokens, source)

    def condense(self, nodes: Sequence[SummaryNode], *, budget_tokens: int) -> Writing:
        """Summarise summaries."""
        previous = join_bodies([node.body for node in nodes])
        job = replace(self._newest(budget_tokens), previous=previous)
        depth = min(max(node.depth for node in nodes) + 1, MOST_DEPTH)
        node = SummaryNode(
            id=name_node([node.id.encode() for node in nodes], depth, self.key),
            depth=depth,
            spans=join_spans(span for node in nodes for span in node.spans),
            children=tuple(node.id for node in nodes),
            body="",
            source_tokens=sum(node.source_tokens for node in nodes),
        )
        draft = yield from self._draft(job, gather_sources(job), condense_with_model)
        return self._finish(node, draft, budget_tokens, lambda: previous)

    def shorten(self, node: SummaryNode, budget_tokens: int) -> WrittenNode:
        """Say less in the same node; nobody is asked."""
        job = replace(self._newest(budget_tokens), previous=node.body)
        return self._finish(node, Draft(job, gather_sources(job)), budget_tokens, lambda: [node.body])

    def _newest(self, budget_tokens: int) -> SummaryJob:
        """Return a job that folds nothing, and sees how things stand at the end."""
        total = len(self.job.messages)
        job = self._window(Span(max(total - _LOOK_AHEAD, 0), total), budget_tokens)
        return replace(job, readings=self.newest)

    def _window(self, span: Span, budget_tokens: int) -> SummaryJob:
        """Return a job over a part of the messages: its cost must not grow with the conversation."""
        messages = self.job.messages[span.start : span.stop]
        return replace(
            self.job,
            messages=messages,
            pairing=pair_calls(messages),
            numbers=self.job.numbers[span.start : span.stop],
            body_tokens=budget_tokens,
            model_tokens=budget_tokens,
            readings={},
            protocol=self.job.protocol and self.job.protocol.of_part(span.start, span.stop),
        )

    def _draft(
        self, job: SummaryJob, sources: Sources, ask: Callable[..., Generator[SummaryRequest, str, str]]
    ) -> Generator[SummaryRequest, str, Draft]:
        """Ask for a summary, then for a terse one; what a model cannot do is left to the digest."""
        if not self.use_model:
            return Draft(job, sources)
        warning = ""
        for part in (1.0, _TERSE):
            try:
                words = yield from ask(replace(job, model_tokens=int(job.model_tokens * part)), sources)
            except AnswerRejected as error:
                warning = explain_failure(error, job)
            except SummaryUnavailable as error:
                warning = explain_failure(error, job)
                break
            else:
                return Draft(job, sources, words)
        return Draft(job, sources, warning=f"{warning}; the built-in digest stands in for one summary")

    def _finish(
        self, node: SummaryNode, draft: Draft, budget_tokens: int, source: Callable[[], Iterable[str]]
    ) -> WrittenNode:
        """Write the body into its room; the message around it takes some of that."""
        frame_tokens = self.count(write_node(node, self.key))
        room = budget_tokens - frame_tokens
        for _ in range(_FIT_ROUNDS):
            body = draft.write(max(room, 0))
            written = replace(node, body=body)
            message = write_node(written, self.key)
            excess = self.count(message) - budget_tokens
            if excess <= 0 or room <= 0:
                break
            room -= excess + max(room, 0) // 100
        retention = draft.check(body, elsewhere=tuple, source=source)
        final = replace(
            written,
            tokens=self.count(message),
            dropped=(*retention.missing, *_find_dropped(draft.sources.entries, body))[:_MOST_DROPPED],
        )
        return WrittenNode(final, message, draft.by, draft.warning, retention)


def _find_dropped(entries: Sequence[DigestEntry], body: str) -> Iterator[str]:
    """Yield what a summary could have said and does not, the weightiest first, with its message number."""
    for entry in nlargest(_MOST_WEIGHED, entries, key=lambda entry: entry.weight):
        if entry.kind is not EntryKind.NAMES and entry.subject not in body:
            yield f"[{int(entry.order)}] {one_line(entry.subject, _DROPPED_CHARS)}"


def _texts(messages: Sequence[Message]) -> list[str]:
    return [text for message in messages for text in texts_of(message)]
