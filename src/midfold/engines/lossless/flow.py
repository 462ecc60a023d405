"""A compression of the lossless engine, as a generator: leaves for what is new, condensed for want of room.

The result reads head, summaries from the oldest to the newest, their frame, newest request, recent tail. A
summary that stays is the same message as before, so that a provider's cache still knows it.
"""

from collections.abc import Generator, Sequence
from typing import Generic, TypeVar

from midfold.engines.lossless.chunks import (
    FEWEST_LEAF_TOKENS,
    LayerSizes,
    choose_to_condense,
)
from midfold.engines.lossless.layers import Layers, contiguous
from midfold.engines.lossless.nodes import SummaryNode, write_frame
from midfold.engines.lossless.plans import cut_plan, list_plans
from midfold.engines.lossless.task import quote_task, report_progress
from midfold.engines.lossless.writing import LeafDraft, NodeWriter, WrittenNode
from midfold.faults import faultpoint
from midfold.folding import (
    Compression,
    CompressionJob,
    Edit,
    Flow,
    Fold,
    FoldPlan,
    Insert,
    Replacement,
    Span,
    SummaryRequest,
    is_worth_it,
    note_attempt,
    note_outcome,
    shrink_results,
    splice,
)
from midfold.late_dataclasses import dataclass, field, replace
from midfold.messages import Message, MessageDigest, is_request, own_digest
from midfold.summaries import DIGEST, CommandProtocol, Retention, SummaryJob, carry_on
from midfold.summaries.digest import KeptMessages
from midfold.summaries.ledger import LedgerCache

M = TypeVar("M")
PINS_PART = 0.02
STANDING_PART = 0.12
MOST_STANDING_TOKENS = 3_000
"""Of the target, and at most: rules, goal, changed files and what is open, in the frame of every fold."""
_LEAST_ROOM_TOKENS = 400
_MOST_LEFT = 0.9
"""Of summaries that are condensed under a ceiling: one in their place is sure to be smaller."""
_MAP_LINE_TOKENS = 32
_MOST_UNREAD = 400
_SAMPLED = 8
"""Requests among the newest to be folded by which a history is known that was read as it came."""
_KEPT_READ = 40
"""Newest messages that are looked at for the names that are still in use."""


@dataclass(frozen=True, slots=True)
class LosslessCompression(Compression[M], Generic[M]):
    """A compression, and all summaries that it made: those in the list, and those they were made of."""

    nodes: tuple[SummaryNode, ...] = ()
    numbers: tuple[tuple[int, int], ...] = ()
    """the messages that left the list: the number and the index of each"""


@dataclass(frozen=True, slots=True)
class LosslessJob:
    """One compression: the list taken apart, and a job over its messages without the summaries."""

    messages: Sequence[Message]
    sizes: Sequence[int]
    layers: Layers
    inner: CompressionJob
    sizes_of_layers: LayerSizes
    digests: Sequence[MessageDigest] | None = None


def compress_lossless(job: LosslessJob) -> Flow[Message]:
    """Fold what is new into leaves, and condense the oldest summaries while they take too much room."""
    inner = job.inner
    refusal = inner.find_refusal()
    if refusal is not None:
        return _unchanged(job, refusal)
    frontier = _choose(job)
    if not frontier.chunks and len(job.layers.nodes) < 2:
        return _in_vain(job, "there is nothing to fold")
    yield from frontier.write()
    return _finish(job, frontier)


def _choose(job: LosslessJob) -> "_Frontier":
    """Choose the tail: a shorter one where it would leave no room for summaries."""
    inner = job.inner
    quoted = quote_task(inner)
    for plan, budget in list_plans(inner):
        edits = shrink_results(inner, plan, budget)
        chunks = cut_plan(inner, plan, job.layers.rest, job.sizes_of_layers.leaf_tokens)
        task = f"{quoted}{report_progress(inner, job.layers, plan)}"
        frontier = _Frontier(job, plan, edits, chunks=chunks, task=task, standing=job.layers.standing)
        if frontier.room() >= _LEAST_ROOM_TOKENS:
            break
    return frontier


@dataclass(slots=True)
class _Frontier:
    """The summaries of the list as it will be, oldest first, while they are written and condensed."""

    job: LosslessJob
    plan: FoldPlan
    edits: Sequence[Edit]
    nodes: list[SummaryNode] = field(default_factory=list)
    messages: dict[str, Message] = field(default_factory=dict)
    made: list[WrittenNode] = field(default_factory=list)
    chunks: Sequence[Span] = ()
    task: str = ""
    """the active task, as the frame says it"""
    standing: str = ""
    """what holds for the whole conversation, as the frame says it"""

    def write(self) -> Generator[SummaryRequest, str, None]:
        """Write a leaf for each chunk, then condense until all summaries fit into their room."""
        job = self.job
        for placed in job.layers.nodes:
            self.nodes.append(placed.node)
            if placed.index is not None:
                self.messages[placed.node.id] = job.messages[placed.index]
        blank = _blank_job(job, self.plan)
        writer = NodeWriter(blank, job.inner.count, job.inner.key, job.inner.use_model)
        leaves = self._read_leaves(writer)
        standing = replace(blank, pins=job.inner.state.pins, body_tokens=_standing_tokens(job))
        self.standing = carry_on(standing, job.layers.standing, [leaf.sources for leaf in leaves])
        for leaf, budget in zip(leaves, self._budgets(), strict=True):
            self._add((yield from writer.write_leaf(leaf, budget_tokens=budget)))
            faultpoint("lcm.leaf")
        self.nodes.sort(key=lambda node: node.stop)
        yield from self._condense(writer)

    def _read_leaves(self, writer: NodeWriter) -> list[LeafDraft]:
        layout = self.job.inner.layout
        return [
            writer.read_leaf(
                chunk,
                [own_digest(layout.messages[index]) for index in chunk],
                source_tokens=layout.tokens(chunk),
                room=budget,
            )
            for chunk, budget in zip(self.chunks, self._budgets(), strict=True)
        ]

    def room(self) -> int:
        """Return the room of all summaries beside what stays and the frame."""
        inner = self.job.inner
        kept = inner.overhead_tokens + inner.note_tokens + inner.edits_delta(self.edits)
        folded = {index for chunk in self.chunks for index in chunk}
        kept += sum(size for index, size in enumerate(inner.layout.sizes) if index not in folded)
        frame = inner.count(self.frame())
        return inner.policy.target_tokens - kept - frame

    def frame(self) -> Message:
        """Write the frame for the summaries as they are."""
        return write_frame(self.task, self.standing, self.nodes, self.job.layers.added, self.job.inner.key)

    def _budgets(self) -> list[int]:
        """Share the room out: as a leaf needs, or under a ceiling all of it."""
        inner, sizes = self.job.inner, self.job.sizes_of_layers
        # The frame grows by a line for each summary.
        room = self.room() - _MAP_LINE_TOKENS * len(self.chunks)
        tokens = [inner.layout.tokens(chunk) for chunk in self.chunks]
        wanted = [sizes.leaf_budget(each) for each in tokens]
        if not inner.has_ceiling:
            return wanted
        free = room - sum(node.tokens for node in self.nodes)
        shares = [free * each // max(sum(tokens), 1) for each in tokens]
        # Less for each of them says more than one in place of several, while there is room for a few lines.
        return [
            min(share, size // 2) if share >= FEWEST_LEAF_TOKENS else want
            for want, share, size in zip(wanted, shares, tokens, strict=True)
        ]

    def _condense(self, writer: NodeWriter) -> Generator[SummaryRequest, str, None]:
        """Condense neighbours, the oldest first, until all fit; a single one that does not is cut."""
        sizes, has_ceiling = self.job.sizes_of_layers, self.job.inner.has_ceiling
        while (taken := sum(node.tokens for node in self.nodes)) > (
            room := max(self.room(), _LEAST_ROOM_TOKENS)
        ):
            chosen = choose_to_condense([node.depth for node in self.nodes], sizes.fan_in)
            if chosen is None:
                self._shorten(writer, room)
                return
            nodes = self.nodes[chosen.start : chosen.stop]
            tokens = sum(node.tokens for node in nodes)
            budget = sizes.condensed_budget(tokens)
            if has_ceiling:  # all of it is to be used
                budget = max(budget, min(tokens - (taken - room), int(tokens * _MOST_LEFT)))
            written = yield from writer.condense(nodes, budget_tokens=budget)
            self.nodes[chosen.start : chosen.stop] = []
            self._add(written)
            self.nodes.sort(key=lambda node: node.stop)
            faultpoint("lcm.condense")

    def _shorten(self, writer: NodeWriter, room: int) -> None:
        written = writer.shorten(self.nodes[0], room)
        if written.node.tokens < self.nodes[0].tokens:
            self.nodes.clear()
            self._add(written)

    def _add(self, written: WrittenNode) -> None:
        self.nodes.append(written.node)
        self.messages[written.node.id] = written.message
        self.made.append(written)


def _standing_tokens(job: LosslessJob) -> int:
    return min(int(job.inner.policy.target_tokens * STANDING_PART), MOST_STANDING_TOKENS)


def _blank_job(job: LosslessJob, plan: FoldPlan) -> SummaryJob:
    """Return the terms of every summary of this compression."""
    inner = job.inner
    layout, policy = inner.layout, inner.policy
    folded = {index for span in plan.spans for index in span}
    kept = [message for index, message in enumerate(layout.messages) if index not in folded]
    return SummaryJob(
        messages=layout.messages,
        pairing=layout.pairing,
        numbers=job.layers.numbers,
        folded=(),
        kept=KeptMessages(kept[-_KEPT_READ:]),
        template=policy.template,
        body_tokens=0,
        rules_tokens=policy.target_tokens * PINS_PART if policy.pins else 0.0,
        redact=inner.redact,
        count_text=inner.count_text,
        ledger_cache=_choose_cache(job, plan),
        unpinned=inner.state.unpinned,
        focus=inner.focus,
        window_tokens=policy.summarizer_window,
        is_manual=inner.is_manual,
        protocol=CommandProtocol(layout.observations),
    )


def _choose_cache(job: LosslessJob, plan: FoldPlan) -> LedgerCache:
    """Return what is known of the messages; a history that comes as a whole is read once for all leaves.

    Each leaf looks at what follows it, so that its messages would be read several times.
    """
    inner = job.inner
    folded = [inner.layout.messages[index] for span in plan.spans for index in span]
    requests = [message for message in folded if is_request(message)]
    is_read = all(map(inner.ledger_cache.find_request, requests[-_SAMPLED:])) if requests else False
    if len(folded) < _MOST_UNREAD or is_read:
        return inner.ledger_cache
    cache = LedgerCache(inner.key)
    cache.remember(inner.layout.messages)
    return cache


def _finish(job: LosslessJob, frontier: _Frontier) -> Compression[Message]:
    """Put the summaries in, if that is worth it."""
    inner = job.inner
    fold = _make_fold(job, frontier)
    faultpoint("lcm.assemble")
    messages = splice(fold, job.messages)
    known = dict(zip(map(id, job.messages), job.sizes, strict=True))
    tokens = inner.overhead_tokens + sum(
        known[id(each)] if id(each) in known else inner.count(each) for each in messages
    )
    saved = inner.tokens_before - tokens
    if saved <= 0 or not (inner.has_ceiling or is_worth_it(saved, inner.tokens_before)):
        return _in_vain(job, f"it would save {max(saved, 0):,} tokens, too little to be worth it")
    made = frontier.made
    warnings = [written.warning for written in made if written.warning]
    return LosslessCompression(
        messages=messages,
        before=tuple(job.messages),
        fold=fold,
        reason="folded",
        state=note_outcome(inner.state, effective=True, is_fold=True, tokens=tokens),
        tokens_before=inner.tokens_before,
        tokens_after=tokens,
        budget_tokens=inner.policy.target_tokens,
        summarizer=next((each.by for each in made if each.by != DIGEST), DIGEST),
        summary_tokens=sum(map(inner.count, fold.summaries)),
        retention=_add_up([each.retention for each in made]),
        warning=warnings[0] if warnings else None,
        system_note=inner.note if not inner.layout.lead else None,
        nodes=tuple(written.node for written in made),
        numbers=_list_gone(job, frontier),
    )


def _make_fold(job: LosslessJob, frontier: _Frontier) -> Fold:
    """Say what becomes of each message of the list."""
    inner, rest = job.inner, job.layers.rest
    repairs = inner.repair(frontier.chunks)
    drops = [Replacement(Span(rest[index], rest[index] + 1)) for index in repairs.drops]
    edits = [Edit(rest[edit.index], edit.parts) for edit in repairs.merge(frontier.edits)]
    inserts = tuple(Insert(rest[insert.after], insert.message) for insert in repairs.inserts)
    replacements = [*_take_out(job, frontier), *_put_in(job, frontier), *drops]
    fold = Fold(
        replacements=tuple(sorted(replacements, key=lambda each: each.span)),
        edits=tuple(edits),
        inserts=inserts,
        note=inner.note,
    )
    return fold.identified(job.messages, job.digests)


def _take_out(job: LosslessJob, frontier: _Frontier) -> list[Replacement]:
    """Take out the messages of the leaves, summaries that were condensed or shortened, and the old frame."""
    rest, messages = job.layers.rest, frontier.messages
    stay = {node.id for node in frontier.nodes}
    gone = [rest[index] for chunk in frontier.chunks for index in chunk]
    for placed in job.layers.nodes:
        index, node = placed.index, placed.node
        if index is not None and not (node.id in stay and messages[node.id] is job.messages[index]):
            gone.append(index)
    return [Replacement(span) for span in contiguous(sorted({*gone, *job.layers.frames}))]


def _put_in(job: LosslessJob, frontier: _Frontier) -> list[Replacement]:
    """Put each new summary where the oldest of what it stands for was, and the frame behind all of them."""
    at = _find_frame_index(job, frontier)
    anchors = {placed.node.id: placed.index for placed in job.layers.nodes if placed.index is not None}
    old = {id(job.messages[index]) for index in anchors.values()}
    leaves = iter(frontier.chunks)
    for written in frontier.made:
        node = written.node
        if node.id in anchors:  # it was only shortened
            continue
        if node.children:
            anchors[node.id] = min(anchors[child] for child in node.children)
        else:
            anchors[node.id] = min(job.layers.rest[next(leaves).start], at)
    new = [node for node in frontier.nodes if id(frontier.messages[node.id]) not in old]
    placed = [
        Replacement(Span(at_, at_), frontier.messages[node.id]) for node in new for at_ in [anchors[node.id]]
    ]
    return [*placed, Replacement(Span(at, at), frontier.frame())]


def _find_frame_index(job: LosslessJob, frontier: _Frontier) -> int:
    """Return where the frame goes: before a request older than the tail, else behind all that goes."""
    layout, rest = job.inner.layout, job.layers.rest
    if len(layout.request) and layout.request.start < frontier.plan.tail_start:
        return rest[layout.request.start]
    ends = [rest[chunk.stop - 1] + 1 for chunk in frontier.chunks]
    ends += [placed.index + 1 for placed in job.layers.nodes if placed.index is not None]
    return max([*ends, *(index + 1 for index in job.layers.frames)], default=layout.lead)


def _list_gone(job: LosslessJob, frontier: _Frontier) -> tuple[tuple[int, int], ...]:
    layers = job.layers
    return tuple((layers.numbers[index], layers.rest[index]) for chunk in frontier.chunks for index in chunk)


def _add_up(checked: Sequence[Retention]) -> Retention:
    return Retention(
        sum(each.facts for each in checked),
        sum(each.kept for each in checked),
        tuple(fact for each in checked for fact in each.missing),
        tuple(claim for each in checked for claim in each.invented),
    )


def _unchanged(job: LosslessJob, reason: str) -> Compression[Message]:
    inner = job.inner
    return Compression.unchanged(
        list(job.messages),
        tuple(job.messages),
        reason,
        state=note_attempt(inner.state),
        tokens=inner.tokens_before,
        budget_tokens=inner.policy.target_tokens,
    )


def _in_vain(job: LosslessJob, reason: str) -> Compression[Message]:
    inner = job.inner
    state = note_outcome(inner.state, effective=False, is_fold=False, tokens=inner.tokens_before)
    return replace(_unchanged(job, reason), state=state)
