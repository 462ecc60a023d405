"""One compression of an engine as a value: a `Run` before it is done, an `UndoPoint` afterwards."""

from collections.abc import Mapping, Sequence
from operator import is_

from midfold.engines.reader import Reader
from midfold.errors import ConfigError
from midfold.folding import (
    Compression,
    CompressionPolicy,
    CompressionState,
    Flow,
    Span,
    compress,
    decide,
    group_around,
    lay_out,
    make_plan,
    note_outcome,
    reopen,
)
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message, is_request
from midfold.ports import Count
from midfold.stub_writers import load_stub_writers
from midfold.wire import Request


@dataclass(frozen=True, slots=True)
class Run:
    """The messages to compress, how large they are, and who asked."""

    request: Request
    messages: Sequence[Message]
    sizes: Sequence[int]
    tokens: int
    """of the whole request"""
    policy: CompressionPolicy
    state: CompressionState
    focus: str | None = None
    is_manual: bool = False
    is_emergency: bool = False
    is_partial: bool = False
    """whether a person said how much is to stay as it is"""
    refusal: str = ""
    """why there is nothing to do, where that is clear from the start"""

    @classmethod
    def of(cls, reader: Reader, tokens: int, policy: CompressionPolicy, state: CompressionState) -> "Run":
        """Return a run over the messages that were last read, as part of a request of `tokens`."""
        messages = list(reader.messages)
        request = Request(reader.dialect, [message.raw for message in messages])
        return cls(request, messages, list(reader.sizes), tokens, policy, state)

    def asked(
        self, *, focus: str | None, keep_last: int | None, most_tokens: int | None, is_requested: bool
    ) -> "Run":
        """Return the run as the host asked for it.

        A host that compresses although nothing calls for it passes on the wish of a person.
        """
        is_due = decide(self.tokens, self.policy, reopen(self.state)).compress
        is_explicit = focus is not None or keep_last is not None or most_tokens is not None
        is_manual = is_explicit or is_requested or not is_due
        run = replace(
            self,
            state=reopen(self.state) if is_manual else self.state,
            policy=replace(self.policy, max_tokens=most_tokens) if most_tokens else self.policy,
            focus=focus,
            is_manual=is_manual,
            is_emergency=decide(self.tokens, self.policy, self.state).is_emergency,
        )
        return run if keep_last is None else run.keeping(keep_last)

    @property
    def has_middle(self) -> bool:
        """Whether there is anything to fold beside an earlier summary."""
        layout = lay_out(self.messages, self.sizes, self.policy)
        plan = make_plan(layout, self.policy, self.policy.tail_budget_tokens)
        return any(index != layout.summary for span in plan.spans for index in span)

    @property
    def overhead_tokens(self) -> int:
        """The part of the request beside the messages."""
        return self.tokens - sum(self.sizes)

    def tokens_with(self, messages: Sequence[Message], count: Count) -> int:
        """Return the size of the request with other messages; only those that are new are counted."""
        known = dict(zip(map(id, self.messages), self.sizes, strict=True))
        sizes = (known[id(message)] if id(message) in known else count(message) for message in messages)
        return self.overhead_tokens + sum(sizes)

    def flow(
        self, reader: Reader, *, use_model: bool, originals: Mapping[int, Message] | None = None
    ) -> Flow[Message]:
        """Return the flow that does it; nothing is done yet."""
        return compress(
            self.messages,
            policy=self.policy,
            count=reader.count,
            state=self.state,
            sizes=self.sizes,
            overhead_tokens=self.overhead_tokens,
            focus=self.focus,
            use_model=use_model,
            is_manual=self.is_manual,
            # An emergency halves the tail; what a person wants to stay, stays.
            is_emergency=self.is_emergency and not self.is_partial,
            key=reader.memory.key,
            ledger_cache=reader.memory,
            digests=list(reader.digests),
            stub_writers=load_stub_writers(),
            originals=originals,
        )

    def unchanged(self, reason: str) -> Compression[object]:
        """Return the messages as they are."""
        return Compression.unchanged(
            list(self.request.messages),
            tuple(self.messages),
            reason,
            state=self.state,
            tokens=self.tokens,
            budget_tokens=self.policy.target_tokens,
        )

    def in_vain(self, reason: str) -> Compression[object]:
        """Return the messages as they are, and a state that knows of the vain attempt."""
        state = note_outcome(self.state, effective=False, is_fold=False, tokens=self.tokens)
        return replace(self.unchanged(reason), state=state)

    def keeping(self, exchanges: int) -> "Run":
        """Return the run that leaves the last `exchanges` alone: a request and all that follows it, each.

        A tail ends with the group that crosses its budget, so a budget of one token less than these take
        makes the tail theirs.
        """
        if exchanges < 1:
            raise ConfigError("keep_last", exchanges, hint="a number of exchanges, 1 or more")
        layout = lay_out(self.messages, self.sizes, self.policy)
        spoken = [index for index, message in enumerate(self.messages) if is_request(message)]
        requests = [index for index in spoken if index != layout.summary]
        start = group_around(requests[-exchanges], layout.cuts).start if len(requests) > exchanges else 0
        budget = max(layout.tokens(Span(start, len(self.messages))) - 1, 0)
        ratio = (budget + 0.5) / self.policy.threshold_tokens
        policy = replace(self.policy, max_tokens=None, tail_tokens=budget, target_ratio=ratio)
        plan = make_plan(layout, policy, policy.tail_budget_tokens)
        has_middle = bool(plan.spans) and plan.tail_start <= start
        refusal = "" if has_middle else f"there is nothing to fold before the last {exchanges} exchanges"
        return replace(self, policy=policy, is_partial=True, refusal=refusal)


@dataclass(frozen=True, slots=True)
class UndoPoint:
    """The last compression, as far as taking it back needs it: the items before it, and after it."""

    before: Sequence[object]
    after: Sequence[object]
    state: CompressionState
    """before it"""
    tokens_before: int

    @classmethod
    def of(cls, run: Run, result: Compression[object], state: CompressionState) -> "UndoPoint":
        """Return the point to which `result`, which began in `state`, can be taken back."""
        return cls(run.request.messages, list(result.messages), state, result.tokens_before)

    def restore(self, state: CompressionState) -> CompressionState:
        """Return `state` without this compression; the next automatic one waits, or this would be in vain."""
        counts = replace(state, count=self.state.count, folds=self.state.folds)
        return replace(counts, paused_at_tokens=self.tokens_before)

    def take_back(self, shown: Sequence[object]) -> list[object] | None:
        """Return the items before, and those that came since; `None` for another conversation.

        A list that still begins as it did before went on without the compression, and is as it should be.
        """
        for known in (self.after, self.before):
            if len(shown) >= len(known) and all(map(is_, known, shown)):
                return [*self.before, *shown[len(known) :]]
        return None
