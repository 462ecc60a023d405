"""The result of a compression: its fold, the new messages, and the facts, also in words for people."""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, cast

from midfold.folding.fold import Fate, Fold, MessageSource, Span
from midfold.folding.prune import NOTHING_PRUNED, PruneCounts
from midfold.folding.state import CompressionState
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message
from midfold.summaries import Retention, SummaryRequest

if TYPE_CHECKING:  # loaded by the first question
    from midfold.folding.originals import OriginalMatch

# A result of any messages is good enough where they are only read, such as for a store.
M_co = TypeVar("M_co", covariant=True)
M = TypeVar("M")
N = TypeVar("N")


@dataclass(frozen=True, slots=True, repr=False)
class Compression(Generic[M_co]):
    """The result of a compression, or the reason why it did nothing.

    `messages` are the new ones: values from the core, wire items from engines and the API, whose callers get
    the type of their own messages back. Everything that left the context is still in `before`.
    """

    messages: list[M_co]
    before: tuple[Message, ...]
    fold: Fold | None
    reason: str
    """why nothing changed, or what was done"""
    state: CompressionState
    tokens_before: int
    tokens_after: int
    budget_tokens: int
    pruned: PruneCounts = NOTHING_PRUNED
    summarizer: str | None = None
    summary_tokens: int = 0
    """the whole summary message"""
    model_tokens: int = 0
    """the part of it in a model's own words; code wrote the rest"""
    retention: Retention | None = None
    warning: str | None = None
    system_note: str | None = None
    """for callers that keep the system prompt beside the messages"""
    is_dry_run: bool = False
    """whether this is only a preview"""

    @staticmethod
    def unchanged(
        messages: list[M],
        before: tuple[Message, ...],
        reason: str,
        *,
        state: CompressionState,
        tokens: int,
        budget_tokens: int,
    ) -> "Compression[M]":
        """Return a compression that did nothing to a request of `tokens`."""
        return Compression(
            messages=messages,
            before=before,
            fold=None,
            reason=reason,
            state=state,
            tokens_before=tokens,
            tokens_after=tokens,
            budget_tokens=budget_tokens,
        )

    def __repr__(self) -> str:
        """Return one line: a conversation may be a megabyte."""
        by = f", summary by {self.summarizer}" if self.summarizer else ""
        warned = f", warning={self.warning!r}" if self.warning else ""
        return (
            f"<Compression {self.reason!r}: {len(self.before):,} → {len(self.messages):,} messages,"
            f" {self.tokens_before:,} → {self.tokens_after:,} tokens of {self.budget_tokens:,}{by}{warned}>"
        )

    @property
    def changed(self) -> bool:
        return self.fold is not None

    @property
    def over_budget(self) -> bool:
        """Whether the result is larger than `budget_tokens`."""
        return self.tokens_after > self.budget_tokens

    @property
    def saved_tokens(self) -> int:
        return self.tokens_before - self.tokens_after

    @property
    def folded(self) -> tuple[Span, ...]:
        """The ranges of the old list that the summary replaces."""
        return self.fold.spans if self.fold else ()

    @property
    def summary(self) -> str | None:
        """The text of the summary, as the next model reads it."""
        return self.fold.summary.text if self.fold and self.fold.summary else None

    @property
    def headline(self) -> str:
        """One line for people."""
        before, after = len(self.before), len(self.messages)
        if self.is_dry_run:
            return _plan_headline(before, after, changed=self.changed)
        return _headline(before, after, changed=self.changed)

    @property
    def fates(self) -> list[Fate]:
        """The fate of each message of the old list, by its index."""
        fates = [Fate.KEPT] * len(self.before)
        for step in self.fold.walk(self.before) if self.fold else ():
            if step.index is not None and step.message is None:
                fates[step.index] = Fate.FOLDED
            elif step.index is not None and step.source is MessageSource.SHORTENED:
                fates[step.index] = Fate.SHORTENED
        return fates

    @property
    def originals(self) -> list[M_co]:
        """The wire items as they were before."""
        # The items that the caller gave, of the type that they had.
        return [cast("M_co", message.raw) for message in self.before]

    def restore(self) -> list[M_co]:
        """Undo the compression: return the old list, with the same objects."""
        return self.originals

    def with_messages(self, messages: list[N]) -> "Compression[N]":
        """Return the same facts with the messages in another form."""
        # Nothing but the messages depends on their type.
        return replace(cast("Compression[N]", self), messages=messages)

    def find(self, text: str) -> "list[OriginalMatch]":
        """Search the messages that left the context, for a text or a question.

        Messages that have the text itself come first, whatever its case; of a question, or where none has it,
        those that answer best follow. Quotes, `AND`, `NOT` and `begin*` hold as in every search.
        """
        from midfold.folding.originals import Originals

        return Originals(self.before, sorted(self.fold.touched)).find(text) if self.fold else []


Flow: TypeAlias = Generator[SummaryRequest, str, Compression[M]]
"""A compression under way: it asks for summaries, and returns what it did."""


def summarize_manual_compression(
    before: Sequence[object], after: Sequence[object], before_tokens: int, after_tokens: int
) -> dict[str, object]:
    """Describe a compression that a person asked for: `noop`, `headline`, `token_line` and `note`.

    Token figures are estimates. `note` is set only for the surprising case of fewer messages but more tokens.
    """
    noop = len(before) == len(after) and all(
        old is new or old == new for old, new in zip(before, after, strict=True)
    )
    token_line = f"Request size: ~{before_tokens:,} → ~{after_tokens:,} tokens"
    if before_tokens == after_tokens:
        token_line = f"Request size: ~{before_tokens:,} tokens (unchanged)"
    surprising = not noop and len(after) < len(before) and after_tokens > before_tokens
    note = (
        "Fewer messages can take more tokens: a summary may be denser than what it replaced."
        if surprising
        else None
    )
    return {
        "noop": noop,
        "headline": _headline(len(before), len(after), changed=not noop),
        "token_line": token_line,
        "note": note,
    }


def _headline(before: int, after: int, *, changed: bool) -> str:
    """Say in one line what became of the messages, the same in chat, gateway and command line."""
    if not changed:
        return f"No changes from compression: {before:,} message{'' if before == 1 else 's'}"
    if before == after:
        return f"Compressed: {before:,} messages, some shortened, none folded"
    return f"Compressed: {before:,} → {after:,} messages"


def _plan_headline(before: int, after: int, *, changed: bool) -> str:
    """Say in one line what would become of the messages."""
    if not changed:
        return f"Nothing would change: {before:,} message{'' if before == 1 else 's'}"
    if before == after:
        return f"Would compress: {before:,} messages, some shortened, none folded"
    return f"Would compress: {before:,} → {after:,} messages"
