"""Notes that a person corrects: the summary in a list of messages, read as notes and written anew.

A correction is a fold like any other: it replaces one message, the summary, by another. So it is stored,
found again for clients that send their history, and taken back as folds are.
"""

from collections.abc import Sequence
from functools import partial

from midfold.errors import NoteNotFound
from midfold.folding.compression import Compression
from midfold.folding.fold import Fold, Replacement, Span, count_leading_system, splice
from midfold.folding.state import CompressionState
from midfold.folding.summary_message import (
    find_summary,
    is_ours,
    make_summary_message,
    number_messages,
    read_folded_numbers,
    read_summary,
)
from midfold.late_dataclasses import replace
from midfold.messages import Message, pair_calls
from midfold.ports import Count
from midfold.redact import redact
from midfold.summaries import Note, NoteChange, Rule, prompts, read_notes
from midfold.summaries.digest import read_rules
from midfold.summaries.ledger import collect

NOTES_CORRECTED = "notes corrected"
_USUAL_HEAD = 3


def list_notes(messages: Sequence[Message]) -> tuple[Note, ...]:
    """List the notes that a fold left in these messages; none where nothing is folded."""
    index = _find_notes(messages)
    return read_notes(_read(messages, index))


def list_rules(messages: Sequence[Message], state: CompressionState, *, key: bytes = b"") -> tuple[Rule, ...]:
    """List the rules that were found in the user's words, folded or not, without those pinned by hand."""
    index = _find_notes(messages)
    known = read_rules(_read(messages, index))
    ledger = collect(
        messages,
        [each for each in range(len(messages)) if each != index],
        pair_calls(messages),
        redact=partial(redact, key=key),
        numbers=number_of_messages(messages),
    )
    let_go = {*state.pins, *state.unpinned}
    found = {rule.text: rule for rule in (*known, *ledger.rules) if rule.index is not None}
    return tuple(rule for rule in found.values() if rule.text not in let_go)


def number_of_messages(messages: Sequence[Message]) -> list[int]:
    """Return the number of each message in the whole conversation, as notes name them."""
    index = _find_notes(messages)
    return number_messages(len(messages), index, read_folded_numbers(_read(messages, index)))


def correct_notes(
    messages: Sequence[Message],
    change: NoteChange,
    *,
    count: Count,
    key: bytes = b"",
    state: CompressionState | None = None,
) -> Compression[Message]:
    """Correct the notes that a fold left in these messages.

    Raises `NoteNotFound`, also where nothing is folded, and `ConfigError` for words that are none.
    """
    index = _find_notes(messages)
    if index is None:
        raise NoteNotFound
    summary = messages[index]
    at = number_of_messages(messages)[-1] + 1
    change = replace(change, text=redact(change.text, key=key))
    has_folded = state is not None and state.folds > 0
    body = read_summary(summary.text, is_trusted=is_ours(summary.text, key, has_folded=has_folded))
    made = make_summary_message(change.apply(body or "", at=at), key, like=summary)
    fold = Fold(replacements=(Replacement(Span(index, index + 1), made),)).identified(messages)
    sizes = [count(message) for message in messages]
    tokens = sum(sizes)
    after = tokens - sizes[index] + count(made)
    return Compression(
        messages=splice(fold, messages),
        before=tuple(messages),
        fold=fold,
        reason=NOTES_CORRECTED,
        state=state or CompressionState(),
        tokens_before=tokens,
        tokens_after=after,
        budget_tokens=after,
        summary_tokens=count(made),
    )


def _read(messages: Sequence[Message], index: int | None) -> str:
    """Return the words of a summary, to be shown: whose they are is not asked."""
    text = "" if index is None else messages[index].text
    return read_summary(text, is_trusted=prompts.has_fence(text)) or ""


def _find_notes(messages: Sequence[Message]) -> int | None:
    """Find the summary: ours wherever it stands, another product's right after the head."""
    lead = count_leading_system(messages)
    for index in range(lead, len(messages)):
        text = messages[index].text if messages[index].role == "user" else ""
        if text.startswith(prompts.SUMMARY_MARKER) and prompts.find_body(text) is not None:
            return index
    return find_summary(messages, lead, _USUAL_HEAD)
