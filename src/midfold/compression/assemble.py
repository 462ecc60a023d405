"""Puts a fold together: summary, edits, mends, and the digests it is known by."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from midfold.compression import prompts
from midfold.compression.mend import mend
from midfold.compression.plan import Layout
from midfold.compression.results import Edit, Fold, Span, join_spans
from midfold.compression.seals import Seal, join_digests, seal
from midfold.messages import Message, Text
from midfold.messages.digests import EMPTY_CHAIN

_NONCE_BYTES = 6


def summary_message(body: str, folded_digest: bytes, key: bytes) -> Message:
    """Make the message that stands for what was folded; its fence is known only to who knows the key."""
    nonce = blake2b(folded_digest, key=key, digest_size=_NONCE_BYTES).hexdigest()
    return Message("user", (Text(prompts.wrap_summary(body, nonce)),))


def make_fold(
    layout: Layout,
    *,
    spans: Sequence[Span],
    at: int,
    summary: Message | None,
    edits: Sequence[Edit],
    add_note: bool,
    seals: Sequence[Seal] | None = None,
) -> Fold:
    """Join the spans and edits of a plan with what the messages that stay need to be legal.

    `seals` of the messages spare spelling them.
    """
    messages = layout.messages
    folded = {index for span in spans for index in span}
    kept = [index for index in range(len(messages)) if index not in folded]
    mends = mend(messages, kept, layout.pairing, layout.waiting)
    drops = frozenset(mends.drops)
    all_edits = _merge(edits, [*mends.edits, *(note_edits(layout) if add_note else ())], drops)
    all_spans = join_spans([*spans, *(Span(index, index + 1) for index in mends.drops)])
    draft = Fold(all_spans, at, summary, tuple(all_edits), mends.inserts, b"", b"")
    seals = seal(messages[: draft.stop]) if seals is None else seals
    return replace(
        draft,
        prefix_digest=seals[draft.stop - 1].link if draft.stop else EMPTY_CHAIN,
        span_digest=join_digests(seals[index].digest for index in sorted(draft.touched)),
    )


def note_edits(layout: Layout) -> list[Edit]:
    """Append the note to the system prompt, once."""
    system = layout.messages[0] if layout.lead else None
    if system is None or prompts.SYSTEM_NOTE in system.text:
        return []
    return [Edit(0, ((len(system.parts), Text(prompts.SYSTEM_NOTE)),))]


def _merge(edits: Sequence[Edit], others: Sequence[Edit], drops: frozenset[int]) -> list[Edit]:
    """Join edits of the same message; what is removed stays removed."""
    parts = {edit.index: dict(edit.parts) for edit in edits if edit.index not in drops}
    for edit in others:
        parts.setdefault(edit.index, {}).update(edit.parts)
    return [Edit(index, tuple(sorted(parts[index].items()))) for index in sorted(parts)]
