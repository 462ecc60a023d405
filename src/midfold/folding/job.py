"""One compression as a value: the conversation, the terms, and what each change to it costs in tokens."""

from collections.abc import Mapping, Sequence

from midfold.folding.fold import Edit, Fold, Span, add_note, replace_spans
from midfold.folding.layout import Layout
from midfold.folding.policy import CompressionPolicy, tail_share
from midfold.folding.repair import Repairs, repair
from midfold.folding.state import CompressionState
from midfold.folding.tail import MIN_TAIL_MESSAGES, FoldPlan, make_ceiling_plan, make_plan
from midfold.late_dataclasses import dataclass, field
from midfold.messages import Message, MessageDigest, Text
from midfold.ports import Count
from midfold.settings import Strategy
from midfold.summaries import TurnFacts, prompts
from midfold.summaries.ledger import LedgerCache
from midfold.summaries.tool_calls import BUILT_IN, StubWriter

SHORT_MESSAGES = 4
"""With no more than this beyond the head there is nothing to fold."""
NO_MINIMUM_FROM = 0.85
"""Of the window: from here on even a short conversation is folded."""

NO_ROOM_FROM = 0.95
"""Of the window: from here on a request leaves no room for an answer, and is cut itself."""


@dataclass(frozen=True, slots=True)
class CompressionJob:
    """The messages to compress, the policy, and the rest of the request."""

    layout: Layout
    policy: CompressionPolicy
    count: Count
    state: CompressionState
    overhead_tokens: int
    tokens_before: int
    focus: str | None
    use_model: bool
    is_manual: bool
    is_emergency: bool
    key: bytes
    ledger_cache: LedgerCache
    digests: Sequence[MessageDigest] | None
    aim_tokens: int
    """the size that is filled up to under a ceiling, the size to get below without one"""
    originals: Mapping[int, Message] = field(default_factory=dict)
    """messages as they were before an earlier pass pruned them"""
    tail_extra: int = 0
    """room of a ceiling that the digest had no use for"""
    stub_writers: Mapping[str, StubWriter] = field(default_factory=lambda: BUILT_IN)
    _deltas: dict[int, tuple[Edit, int]] = field(default_factory=dict)
    """memo of `edit_delta`: edits are weighed several times, and counting is what costs"""
    _redacted: dict[str, str] = field(default_factory=dict)
    readings: dict[tuple[int, ...], TurnFacts] = field(default_factory=dict)
    """what was read by earlier passes, by the turns that they folded"""

    @property
    def has_ceiling(self) -> bool:
        return self.policy.max_tokens is not None

    @property
    def folds_all(self) -> bool:
        """Whether the whole middle is folded, however little would do: what a person asked for is done."""
        return not self.has_ceiling and (self.is_manual or self.policy.strategy is Strategy.FOLD)

    @property
    def is_short(self) -> bool:
        """Whether there is too little beyond the head to be worth a fold, and no need either."""
        if self.has_ceiling:
            return False
        beyond = len(self.layout.messages) - self.layout.lead - self.policy.protect_first_n
        return beyond <= SHORT_MESSAGES and self.tokens_before < self.policy.context_length * NO_MINIMUM_FROM

    @property
    def tail_budget(self) -> int:
        """The budget of the newest messages that stay; an emergency halves it."""
        if self.has_ceiling:
            return int(self.aim_tokens * tail_share(self.aim_tokens, self.tokens_before)) + self.tail_extra
        return self.policy.tail_budget_tokens // (2 if self.is_emergency else 1)

    def summary_budget(self, spans: Sequence[Span]) -> int:
        """Return the most that the summary of these spans may take, where no ceiling says so."""
        layout = self.layout
        at = layout.summary
        earlier = layout.sizes[at] if at is not None and any(at in span for span in spans) else 0
        return self.policy.resummary_budget_tokens(sum(map(layout.tokens, spans)), earlier)

    @property
    def fixed_tokens(self) -> int:
        """The part that always stays: system messages, newest request, calls that wait for results."""
        layout = self.layout
        total = len(layout.messages)
        spoken = max(layout.request.stop, layout.newest.stop)
        waiting = Span(total if layout.waiting is None else max(layout.waiting, spoken), total)
        kept = (Span(0, layout.lead), layout.request, layout.newest, waiting)
        return sum(map(layout.tokens, kept))

    @property
    def room(self) -> int:
        """The room for messages beside the fixed ones."""
        return max(0, self.aim_tokens - self.overhead_tokens - self.fixed_tokens)

    @property
    def request_excess(self) -> int:
        """The tokens to cut from a newest request that fills the window by itself; none under a ceiling."""
        layout, policy = self.layout, self.policy
        request = layout.tokens(layout.request)
        if self.has_ceiling or policy.context_length <= 0 or not request:
            return 0
        beside = self.overhead_tokens + self.fixed_tokens - request
        if beside + request < policy.context_length * NO_ROOM_FROM:
            return 0
        return max(0, request - max(policy.target_tokens - beside, policy.tail_budget_tokens))

    def find_refusal(self) -> str | None:
        """Say why nothing is to be done, if that is so."""
        policy = self.policy
        if not self.layout.messages:
            return "there are no messages"
        if policy.max_tokens is not None:
            return "it fits already" if self.tokens_before <= policy.max_tokens else None
        is_staged = not self.is_manual and policy.strategy is Strategy.STAGED
        if is_staged and self.tokens_before <= policy.target_tokens:
            return "it is small enough already"
        beside = self.overhead_tokens + self.layout.tokens(Span(0, self.layout.lead))
        if beside >= policy.threshold_tokens:
            return f"system prompt and tools alone take {beside:,} tokens; offer fewer tools"
        return None

    def make_plan(self) -> FoldPlan:
        """Choose head and tail by the policy, or for its ceiling."""
        if self.has_ceiling:
            return make_ceiling_plan(self.layout, self.room, self.tail_budget, MIN_TAIL_MESSAGES)
        return make_plan(self.layout, self.policy, self.tail_budget)

    def repair(self, spans: Sequence[Span]) -> Repairs:
        """Find the repairs that the messages that stay need, once those of `spans` are gone."""
        gone = {index for span in spans for index in span}
        return repair(self.layout.messages, gone, self.layout.pairing, self.layout.waiting)

    def repair_tokens(self, repairs: Repairs) -> int:
        """Return the tokens that repairs add, but for their edits."""
        added = sum(self.count(insert.message) for insert in repairs.inserts)
        return added - sum(self.layout.sizes[index] for index in repairs.drops)

    def make_fold(
        self,
        edits: Sequence[Edit],
        repairs: Repairs,
        *,
        spans: Sequence[Span] = (),
        at: int = 0,
        summary: Message | None = None,
    ) -> Fold:
        """Join the spans and edits of a choice with its repairs; `at` is where the summary goes in."""
        drops = (Span(index, index + 1) for index in repairs.drops)
        fold = Fold(
            replacements=replace_spans([*spans, *drops], at, summary),
            edits=repairs.merge(edits),
            inserts=repairs.inserts,
            note=None if summary is None else self.note,
        )
        return fold.identified(self.layout.messages, self.digests)

    def redact(self, text: str) -> str:
        """Take secrets out of a text that will be quoted; the same text is looked through once."""
        if text not in self._redacted:
            self._redacted[text] = self.ledger_cache.redact(text)
        return self._redacted[text]

    def count_text(self, text: str) -> int:
        return self.count(Message("user", (Text(text),)))

    def tokens_after(self, fold: Fold) -> int:
        """Count the request as the fold would leave it."""
        gone = sum(self.layout.tokens(span) for span in fold.spans)
        added = sum(self.count(insert.message) for insert in fold.inserts)
        added += sum(map(self.count, fold.summaries)) + (self.note_tokens if fold.note else 0)
        return self.tokens_before - gone + added + self.edits_delta(fold.edits)

    @property
    def note(self) -> str | None:
        """The sentence that a fold adds to the system prompt."""
        if not self.policy.add_system_note:
            return None
        lead = self.layout.messages[: self.layout.lead]
        return prompts.write_note("\n".join(message.text for message in lead))

    @property
    def note_tokens(self) -> int:
        """The size of the note, where the system prompt is among the messages and does not have it yet."""
        system = self.layout.messages[0] if self.layout.lead else None
        if system is None or self.note is None or self.note in system.text:
            return 0
        return self.count(add_note(system, self.note)) - self.layout.sizes[0]

    def edit_delta(self, edit: Edit) -> int:
        """Return the tokens that an edit adds; negative when it saves."""
        if id(edit) not in self._deltas:
            edited = edit.apply(self.layout.messages[edit.index])
            # The edit is kept with its figure: once it were gone, another one could get its id.
            self._deltas[id(edit)] = (edit, self.count(edited) - self.layout.sizes[edit.index])
        return self._deltas[id(edit)][1]

    def edits_delta(self, edits: Sequence[Edit]) -> int:
        """Return the tokens that these edits add together."""
        return sum(map(self.edit_delta, edits))
