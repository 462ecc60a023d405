"""Puts a fold together: summary, edits, mends, and the digests it is known by."""

from collections.abc import Sequence

from midfold.folding.fold import Edit, Fold, Span, replace_spans
from midfold.folding.layout import Layout
from midfold.folding.repair import mend
from midfold.messages import Message, MessageDigest


def make_fold(
    layout: Layout,
    *,
    spans: Sequence[Span],
    at: int,
    summary: Message | None,
    edits: Sequence[Edit],
    note: str | None = None,
    digests: Sequence[MessageDigest] | None = None,
) -> Fold:
    """Join the spans and edits of a plan with what the messages that stay need to be legal.

    `digests` of the messages spare computing them.
    """
    messages = layout.messages
    folded = {index for span in spans for index in span}
    kept = [index for index in range(len(messages)) if index not in folded]
    mends = mend(messages, kept, layout.pairing, layout.waiting)
    draft = Fold(
        replacements=replace_spans([*spans, *(Span(index, index + 1) for index in mends.drops)], at, summary),
        edits=tuple(_merge(edits, mends.edits, frozenset(mends.drops))),
        inserts=mends.inserts,
        note=note,
    )
    return draft.identified(messages, digests)


def _merge(edits: Sequence[Edit], others: Sequence[Edit], drops: frozenset[int]) -> list[Edit]:
    """Join edits of the same message; what is removed stays removed."""
    parts = {edit.index: dict(edit.parts) for edit in edits if edit.index not in drops}
    for edit in others:
        parts.setdefault(edit.index, {}).update(edit.parts)
    return [Edit(index, tuple(sorted(parts[index].items()))) for index in sorted(parts)]
