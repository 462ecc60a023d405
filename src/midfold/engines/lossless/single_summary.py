"""The least that a ceiling can be met with: one summary in place of all, as the compressor makes it.

Several summaries and their frame take room for what they are. Where that is too much, they are read as the
one earlier summary of the compressor, whose fold is then told in terms of the list as it is.
"""

from collections.abc import Iterator, Sequence

from midfold.engines.lossless.flow import LosslessJob
from midfold.engines.lossless.layers import contiguous
from midfold.folding import (
    Edit,
    Flow,
    Fold,
    FoldedNumbers,
    Insert,
    Replacement,
    Span,
    compress,
    frame_summary,
    join_spans,
    make_summary_message,
    splice,
)
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message
from midfold.summaries import join_bodies


def compress_to_least(job: LosslessJob) -> Flow[Message]:
    """Make the smallest list: excerpts of what has to stay, and one summary; nobody is asked."""
    merged = _Merged.of(job)
    inner = job.inner
    result = yield from compress(
        merged.messages,
        policy=inner.policy,
        count=inner.count,
        state=inner.state,
        overhead_tokens=inner.overhead_tokens,
        focus=inner.focus,
        is_manual=inner.is_manual,
        is_emergency=inner.is_emergency,
        key=inner.key,
        ledger_cache=inner.ledger_cache,
    )
    fold = merged.spread(result.fold or Fold(), job)
    return replace(
        result,
        messages=splice(fold, job.messages),
        before=tuple(job.messages),
        fold=fold,
        reason="folded",
        tokens_before=inner.tokens_before,
    )


@dataclass(frozen=True, slots=True)
class _Merged:
    """A list with one summary in place of several, and where its messages stand in the list as it is."""

    messages: list[Message]
    origins: list[int]
    """of the summary: where the first of those that it stands for is"""
    summary: int

    @classmethod
    def of(cls, job: LosslessJob) -> "_Merged":
        layers = job.layers
        nodes = [placed.node for placed in layers.nodes]
        numbers = FoldedNumbers(join_spans(span for node in nodes for span in node.spans), layers.added)
        words = join_bodies([layers.standing, *(node.body for node in nodes)])
        made = make_summary_message(frame_summary(words, "", numbers), job.inner.key)
        first = min(_list_places(job))
        origins = sorted([first, *layers.rest])
        summary = origins.index(first)
        messages = [job.messages[index] for index in origins]
        messages[summary] = made
        return cls(messages, origins, summary)

    def spread(self, fold: Fold, job: LosslessJob) -> Fold:
        """Tell a fold of this list as one of the other."""
        gone = {index for replaced in fold.replacements for index in replaced.span}
        put_in = [
            Replacement(Span(at, at), each.message)
            for each in fold.replacements
            if each.message is not None
            for at in [self._place(each.span.start, job.messages)]
        ]
        if self.summary not in gone:
            edited = [edit for edit in fold.edits if edit.index == self.summary]
            message = self.messages[self.summary]
            for edit in edited:
                message = edit.apply(message)
            at = self.origins[self.summary]
            put_in.append(Replacement(Span(at, at), message))
        taken = sorted({*(self.origins[index] for index in gone), *_list_places(job)})
        spread = replace(
            fold,
            replacements=tuple(
                sorted([*put_in, *map(Replacement, contiguous(taken))], key=lambda each: each.span)
            ),
            edits=tuple(
                Edit(self.origins[each.index], each.parts)
                for each in fold.edits
                if each.index != self.summary
            ),
            inserts=tuple(Insert(self.origins[each.after], each.message) for each in fold.inserts),
        )
        return spread.identified(job.messages, job.digests)

    def _place(self, index: int, messages: Sequence[Message]) -> int:
        return self.origins[index] if index < len(self.origins) else len(messages)


def _list_places(job: LosslessJob) -> Iterator[int]:
    """Yield where summaries and their frames stand."""
    yield from (placed.index for placed in job.layers.nodes if placed.index is not None)
    yield from job.layers.frames
