"""Puts a fold in place that was prepared for a shorter list: it belongs here, or it is refused."""

from collections.abc import Sequence
from dataclasses import replace

from midfold.engines.passes import Pass
from midfold.errors import StaleFold
from midfold.folding import (
    MIN_SAVED_PART,
    MIN_SAVED_TOKENS,
    TASK_HEADING,
    Compression,
    Fold,
    apply,
    count_head,
    count_leading_system,
    find_summary,
    note_outcome,
    summary_message,
)
from midfold.messages import Message, canonical_bytes
from midfold.ports import Count
from midfold.redact import redact
from midfold.summaries import active_task, with_section
from midfold.summaries.prompts import find_body

PUBLISHED = "prepared ahead, applied now"
"""The reason that a result gives when its fold was ready before it was due."""


def publish(prepared: Compression[Message], now: Pass, *, count: Count, key: bytes) -> Compression[Message]:
    """Apply a prepared fold to the list as it is now, longer than it was; nobody is asked anything.

    Raises `StaleFold` when the list no longer begins as it did.
    """
    if prepared.fold is None or not is_current(prepared, now.messages):
        raise StaleFold
    fold = _with_newest_task(prepared.fold, prepared.before, now, key)
    messages = apply(fold, now.messages)
    known = dict(zip(map(id, now.messages), now.sizes, strict=True))
    sizes = [known[id(message)] if id(message) in known else count(message) for message in messages]
    tokens_after = now.overhead_tokens + sum(sizes)
    is_fold = fold.summary is not None
    return replace(
        prepared,
        messages=messages,
        before=tuple(now.messages),
        fold=fold,
        reason=PUBLISHED,
        state=note_outcome(now.state, effective=True, is_fold=is_fold, tokens=tokens_after),
        tokens_before=now.tokens,
        tokens_after=tokens_after,
        summary_tokens=count(fold.summary) if fold.summary else 0,
    )


def is_current(prepared: Compression[Message], messages: Sequence[Message]) -> bool:
    """Whether `messages` begin as they did when the fold was prepared, as far as it reaches."""
    fold = prepared.fold
    if fold is None or fold.stop > len(messages):
        return False
    return all(
        old is new or canonical_bytes(old) == canonical_bytes(new)
        for old, new in zip(prepared.before[fold.lead : fold.stop], messages[fold.lead :], strict=False)
    )


def serves(published: Compression[object], prepared: Compression[Message], below_tokens: int) -> bool:
    """Whether a published fold does what it is for: it saves enough, and a fresh one would not do better.

    Where the list has room to end below `below_tokens` it must; where even the prepared fold had none, it may
    have grown by no more than it could have otherwise.
    """
    saved = published.saved_tokens
    is_worth_it = saved >= MIN_SAVED_TOKENS and saved >= published.tokens_before * MIN_SAVED_PART
    most_tokens = max(below_tokens, prepared.tokens_after + below_tokens - prepared.budget_tokens)
    return published.changed and is_worth_it and published.tokens_after < most_tokens


def _with_newest_task(fold: Fold, before: Sequence[Message], now: Pass, key: bytes) -> Fold:
    """Name the newest request as the active task: the one of back then may be done by now."""
    body = find_body(fold.summary.text) if fold.summary else None
    lead = count_leading_system(now.messages)
    earlier = find_summary(now.messages, lead, count_head(now.sizes, lead, now.policy))
    task = active_task(now.messages, earlier)
    if body is None or task == active_task(before, earlier):
        return fold
    words = with_section(body, TASK_HEADING, redact(task, key=key))
    return fold.with_summary(summary_message(words, fold.span_digest, key))
