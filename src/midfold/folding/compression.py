"""The result of a compression: its fold, the new messages, and the facts, also in words for people."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from midfold.folding.fold import Fate, Fold, MessageSource, Span
from midfold.folding.prune import NOTHING_PRUNED, PruneCounts
from midfold.folding.state import CompressionState
from midfold.messages import Message, texts_of
from midfold.summaries import Retention


@dataclass(frozen=True, slots=True)
class OriginalMatch:
    """Where a text stands in a message that is no longer in the context word for word."""

    index: int
    snippet: str


_SNIPPET_CHARS = 80

M = TypeVar("M")
N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Compression(Generic[M]):
    """The result of a compression, or the reason why it did nothing.

    `messages` are the new ones: values from the core, wire items from engines and the API. Everything that
    left the context is still in `before`.
    """

    messages: list[M]
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
    retention: Retention | None = None
    warning: str | None = None
    system_note: str | None = None
    """for callers that keep the system prompt beside the messages"""

    @classmethod
    def unchanged(
        cls,
        messages: list[M],
        before: tuple[Message, ...],
        reason: str,
        *,
        state: CompressionState,
        tokens: int,
        budget_tokens: int,
    ) -> "Compression[M]":
        """Return a compression that did nothing to a request of `tokens`."""
        return cls(
            messages=messages,
            before=before,
            fold=None,
            reason=reason,
            state=state,
            tokens_before=tokens,
            tokens_after=tokens,
            budget_tokens=budget_tokens,
        )

    @property
    def changed(self) -> bool:
        return self.fold is not None

    @property
    def over_budget(self) -> bool:
        """Whether the result is larger than what was asked for."""
        return self.tokens_after > self.budget_tokens

    @property
    def saved_tokens(self) -> int:
        return self.tokens_before - self.tokens_after

    @property
    def folded(self) -> tuple[Span, ...]:
        """The ranges of the old list that the summary stands for."""
        return self.fold.spans if self.fold else ()

    @property
    def summary(self) -> str | None:
        """The words of the summary, as the next model reads them."""
        return self.fold.summary.text if self.fold and self.fold.summary else None

    @property
    def headline(self) -> str:
        """One line for people."""
        return _headline(len(self.before), len(self.messages), changed=self.changed)

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
    def originals(self) -> list[object]:
        """The wire items as they were before."""
        return [message.raw for message in self.before]

    def restore(self) -> list[object]:
        """Take the compression back: the list as it was, every item the same object."""
        return self.originals

    def with_messages(self, messages: list[N]) -> "Compression[N]":
        """Return the same facts with the messages in another form."""
        # Nothing but the messages depends on their type.
        return replace(cast("Compression[N]", self), messages=messages)

    def find(self, text: str) -> list[OriginalMatch]:
        """Find words in what is no longer in the context as it was, ignoring case."""
        wanted = text.casefold()
        return [
            match
            for index in (sorted(self.fold.touched) if self.fold else ())
            if (match := _match(self.before[index], index, wanted)) is not None
        ]


def _match(message: Message, index: int, wanted: str) -> OriginalMatch | None:
    for text in texts_of(message):
        position = text.casefold().find(wanted)
        if position >= 0:
            start = max(0, position - _SNIPPET_CHARS // 2)
            return OriginalMatch(index, text[start : position + len(wanted) + _SNIPPET_CHARS // 2])
    return None


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
        return f"No changes from compression: {before:,} messages"
    if before == after:
        return f"Compressed: {before:,} messages, some shortened, none folded"
    return f"Compressed: {before:,} → {after:,} messages"
