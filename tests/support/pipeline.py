"""What a proxy between clients and providers does with each request, in its smallest form.

The history that a client sends is read and recorded, the folds that were made for it are found and applied,
one on another, and where the list is still too long it is folded once more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from midfold.errors import SummaryUnavailable
from midfold.folding import (
    Compression,
    CompressionPolicy,
    CompressionState,
    Fold,
    MessageSource,
    SummaryRequest,
    apply,
    compress,
    decide,
    run,
)
from midfold.messages import Media, Message, Part, Text, chain_digests, newest_request
from midfold.pipeline import render_flow
from midfold.store import Store, StoredFold
from midfold.tokens import TokenCounter
from midfold.wire import Request, parse, render


@dataclass(frozen=True, slots=True)
class Refolded:
    """A history with the folds that were found for it, oldest first."""

    messages: list[Message]
    folds: tuple[StoredFold, ...]


@dataclass(frozen=True, slots=True)
class Handled:
    """What became of a request. `sent` is what goes to the provider."""

    session_id: str
    sent: list[object]
    refolded: Refolded
    compression: Compression[object] | None
    """the fold that was made for this request, or why none was"""

    @property
    def note(self) -> str | None:
        """What belongs into a system prompt that travels beside the messages."""
        made = self.compression.fold if self.compression else None
        folds = [*(found.fold for found in self.refolded.folds), *([made] if made else [])]
        return next((fold.note for fold in reversed(folds) if fold.note), None)


def _leaves_request(fold: Fold, messages: Sequence[Message]) -> bool:
    """Whether a fold leaves the newest request behind the summary, word for word or, if too large, cut."""
    newest = newest_request(messages)
    is_left = newest is None
    for step in fold.walk(messages):
        if newest is not None and step.index == newest:
            is_left = step.message is not None and stands_for(step.message, messages[newest])
        elif newest is not None and step.source is MessageSource.SUMMARY:
            is_left = False
    return is_left


def stands_for(sent: Message, asked: Message) -> bool:
    """Whether a message says what was asked, or both ends of it with a note on the cut."""
    if words_of(sent) == words_of(asked):
        return True
    return " cut …]" in sent.text and sent.text[:_SAME_CHARS] == asked.text[:_SAME_CHARS]


_SAME_CHARS = 40


def words_of(request: Message) -> list[Part]:
    """Return what the user says or shows; a result that rides in the same message is not the user's."""
    return [part for part in request.parts if part.is_covered and isinstance(part, Text | Media)]


def _unavailable(_: SummaryRequest) -> str:
    raise SummaryUnavailable("there is no summariser")


class Pipeline:
    """Handles the requests of one client, whatever conversation each belongs to.

    `key` hides secrets and marks summaries; workers that share a store share it. What a compression remembers
    is kept here by conversation, so a restart forgets it.
    """

    def __init__(
        self,
        store: Store,
        dialect: str,
        policy: CompressionPolicy,
        *,
        summarize: Callable[[SummaryRequest], str] | None = None,
        key: bytes = b"",
    ) -> None:
        self.store = store
        self._dialect = dialect
        self._policy = policy
        self._summarize = summarize
        self._key = key
        self._count = TokenCounter()
        self._states: dict[str, CompressionState] = {}

    def handle(self, items: Sequence[object]) -> Handled:
        """Record a request and say what to send in its place."""
        messages = parse(items, self._dialect)
        session_id = self._record(items, chain_digests(messages))
        refolded = self.refold(messages)
        sent = render(refolded.messages, self._dialect)
        compression = self._compress(sent, session_id)
        if compression is not None and compression.changed:
            session_id = self.store.continue_session(session_id, compression.messages, compression)
            sent = compression.messages
        return Handled(session_id, sent, refolded, compression)

    def refold(self, messages: list[Message]) -> Refolded:
        """Apply the folds that were made for a history: each finds the next."""
        folds: list[StoredFold] = []
        while (found := self._find_fold(messages)) is not None:
            messages = apply(found.fold, messages)
            folds.append(found)
        return Refolded(messages, tuple(folds))

    def _find_fold(self, messages: Sequence[Message]) -> StoredFold | None:
        """Find the fold that reaches furthest and leaves the newest request alone.

        A client that goes back to an earlier message may ask what a later fold has put into its summary.
        """
        chain = chain_digests(messages)
        while (found := self.store.find_fold(chain)) is not None:
            if _leaves_request(found.fold, messages):
                return found
            chain = chain[: chain.index(found.fold.prefix_digest)]
        return None

    def _record(self, items: Sequence[object], chain: Sequence[bytes]) -> str:
        """Add what is new to the session that the history belongs to; a branch is a session of its own."""
        known = self.store.find_history(chain)
        if known is None or not known.is_end:
            session_id = self.store.create_session(dialect=self._dialect).id
            self.store.append(session_id, items)
            return session_id
        if known.length < len(items):
            self.store.append(known.session_id, items[known.length :])
        return known.session_id

    def _compress(self, items: list[object], session_id: str) -> Compression[object] | None:
        """Fold what would be sent, where it is too long."""
        conversation = self.store.session(session_id).conversation_id
        state = self._states.get(conversation, CompressionState()).next_turn()
        messages = parse(items, self._dialect)
        sizes = [self._count(message) for message in messages]
        decision = decide(sum(sizes), self._policy, state)
        self._states[conversation] = state
        if not decision.compress:
            return None
        flow = compress(
            messages,
            policy=self._policy,
            count=self._count,
            state=state,
            sizes=sizes,
            use_model=self._summarize is not None,
            is_emergency=decision.is_emergency,
            key=self._key,
        )
        rendered = render_flow(flow, Request(self._dialect, items), state)
        compression = run(rendered, self._summarize or _unavailable)
        self._states[conversation] = compression.state
        return compression
