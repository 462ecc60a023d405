"""Chooses how much to fold: as little as the target allows, as much as a ceiling demands."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from midfold.folding.fold import Edit, Fold, Span, add_note
from midfold.folding.layout import (
    MIN_TAIL_MESSAGES,
    Layout,
    Plan,
    make_ceiling_plan,
    make_plan,
    shorten_fold,
    spans_between,
    stops_between,
)
from midfold.folding.policy import TAIL_SLACK, CompressionPolicy, Strategy, Style, free_summary_tokens
from midfold.folding.prune import Pruned, least_tokens, prune
from midfold.folding.repair import mend
from midfold.folding.state import CompressionState
from midfold.folding.summary_message import FoldedNumbers, frame_summary, make_summary_message
from midfold.folding.tail import shrink_tail
from midfold.messages import Message, MessageDigest, Text, ToolCall, ToolResult, join_digests, own_digest
from midfold.ports import Count
from midfold.summaries import (
    active_task,
    prompts,
)
from midfold.summaries.ledger import LedgerCache
from midfold.summaries.tool_calls import excerpt

SHORT_MESSAGES = 4
"""With no more than this beyond the head there is nothing to fold."""
NO_MINIMUM_FROM = 0.85
"""Of the window: from here on even a short conversation is folded."""
MIN_SUMMARY_TOKENS = 400
"""Below this a summary says less than its own prefix."""
_WORTH_LENGTHENING_TOKENS = 200
_FIRST_GUESS_CHARS_PER_TOKEN = 4
_LENGTHEN_ROUNDS = 6
_TIGHT = 0.99
_SHORT_TASK_CHARS = 200


@dataclass(frozen=True, slots=True)
class Job:
    """One compression: what is compressed, how, and what travels beside it."""

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
    memory: LedgerCache
    digests: Sequence[MessageDigest] | None
    _deltas: dict[int, tuple[Edit, int]] = field(default_factory=dict)
    """memo of `edit_delta`: edits are weighed several times, and counting is what costs"""
    _redacted: dict[str, str] = field(default_factory=dict)

    @property
    def folds_all(self) -> bool:
        """Whether the whole middle is folded, however little would do: what a person asked for is done."""
        return self.policy.max_tokens is None and (self.is_manual or self.policy.strategy is Strategy.FOLD)

    @property
    def tail_budget(self) -> int:
        return self.policy.tail_budget_tokens // (2 if self.is_emergency else 1)

    @property
    def fixed_tokens(self) -> int:
        """What no compression can remove: system messages, newest request, calls that wait for results."""
        layout = self.layout
        total = len(layout.messages)
        waiting = Span(total if layout.waiting is None else max(layout.waiting, layout.request.stop), total)
        return layout.tokens(Span(0, layout.lead)) + layout.tokens(layout.request) + layout.tokens(waiting)

    def redact(self, text: str) -> str:
        """Take secrets out of a text that will be quoted; the same text is looked through once."""
        if text not in self._redacted:
            self._redacted[text] = self.memory.redact(text)
        return self._redacted[text]

    def count_text(self, text: str) -> int:
        return self.count(Message("user", (Text(text),)))

    def fits_pruned(self, pruned: Pruned) -> bool:
        """Whether pruning alone reaches the target."""
        return self.tokens_before + sum(map(self.edit_delta, pruned.edits)) <= self.policy.target_tokens

    def tokens_after(self, fold: Fold) -> int:
        """Count the request as the fold would leave it."""
        gone = sum(self.layout.tokens(span) for span in fold.spans)
        added = sum(self.count(insert.message) for insert in fold.inserts)
        added += sum(map(self.count, fold.summaries)) + (self.note_tokens if fold.note else 0)
        return self.tokens_before - gone + added + sum(map(self.edit_delta, fold.edits))

    @property
    def note(self) -> str | None:
        """What a fold adds to the system prompt."""
        return prompts.SYSTEM_NOTE if self.policy.add_system_note else None

    @property
    def note_tokens(self) -> int:
        """What the note takes, where the system prompt is among the messages and does not have it yet."""
        system = self.layout.messages[0] if self.layout.lead else None
        if system is None or self.note is None or self.note in system.text:
            return 0
        return self.count(add_note(system, self.note)) - self.layout.sizes[0]

    def edit_delta(self, edit: Edit) -> int:
        """How many tokens an edit adds; negative when it saves."""
        if id(edit) not in self._deltas:
            edited = edit.apply(self.layout.messages[edit.index])
            # The edit is kept with its figure: once it were gone, another one could get its id.
            self._deltas[id(edit)] = (edit, self.count(edited) - self.layout.sizes[edit.index])
        return self._deltas[id(edit)][1]


@dataclass(frozen=True, slots=True)
class Choice:
    """What is folded, what is shortened, and how much room the summary has."""

    head_stop: int
    spans: tuple[Span, ...]
    edits: tuple[Edit, ...]
    folded_tokens: int
    summary_tokens: int
    """room for the whole summary message"""
    body_tokens: int
    """room for its words, without prefix, fence and active task"""
    task: str
    folded: FoldedNumbers
    """all messages that the summary stands for, those of earlier folds with them"""
    digest: bytes
    """of what is folded, by its ends"""


def why_not(job: Job) -> str | None:
    """Say why nothing is to be done, if that is so."""
    policy = job.policy
    if not job.layout.messages:
        return "there are no messages"
    if policy.max_tokens is not None:
        return "it fits already" if job.tokens_before <= policy.max_tokens else None
    if not job.is_manual and policy.strategy is Strategy.STAGED and job.tokens_before <= policy.target_tokens:
        return "it is small enough already"
    beside = job.overhead_tokens + job.layout.tokens(Span(0, job.layout.lead))
    if beside >= policy.threshold_tokens:
        return f"system prompt and tools alone take {beside:,} tokens; offer fewer tools"
    return None


def prune_middle(job: Job) -> Pruned:
    """Prune between head and tail but for the newest request; without a ceiling, spare what is newest."""
    plan = _base_plan(job)
    newest = len(job.layout.messages)
    if job.policy.max_tokens is None:
        newest = max(newest - job.policy.protect_last_n, plan.head_stop)
    spans = spans_between(job.layout, plan.head_stop, min(plan.tail_start, newest))
    pieces = [
        prune(
            job.layout.messages,
            span,
            style=job.policy.style,
            pairing=job.layout.pairing,
            redact=job.redact,
        )
        for span in spans
    ]
    return Pruned(
        edits=tuple(edit for piece in pieces for edit in piece.edits),
        results=sum(piece.results for piece in pieces),
        duplicates=sum(piece.duplicates for piece in pieces),
        arguments=sum(piece.arguments for piece in pieces),
        media=sum(piece.media for piece in pieces),
    )


def prunes_in_vain(job: Job) -> bool:
    """Whether a ceiling is out of reach for pruning, however short its stubs may turn out."""
    if job.policy.max_tokens is None:
        return False
    messages, sizes = job.layout.messages, job.layout.sizes
    plan = _base_plan(job)
    saved = sum(
        max(0, sizes[index] - least_tokens(messages[index]))
        for span in spans_between(job.layout, plan.head_stop, plan.tail_start)
        for index in span
    )
    return job.tokens_before - saved > job.policy.target_tokens


def spare(job: Job, pruned: Pruned) -> Pruned:
    """Take back what a ceiling leaves room for, the newest first; what does not fit whole stays in part."""
    if job.policy.max_tokens is None:
        return pruned
    left = job.policy.target_tokens - job.tokens_before - sum(map(job.edit_delta, pruned.edits))
    needed = []
    for edit in reversed(pruned.edits):
        if -job.edit_delta(edit) <= left:
            left += job.edit_delta(edit)
            continue
        longer = _lengthen(job, edit, left) if left >= _WORTH_LENGTHENING_TOKENS else edit
        left -= job.edit_delta(longer) - job.edit_delta(edit)
        needed.append(longer)
    parts = [part for edit in needed for _, part in edit.parts]
    return Pruned(
        edits=tuple(reversed(needed)),
        results=sum(isinstance(part, ToolResult) for part in parts),
        duplicates=0,
        arguments=sum(isinstance(part, ToolCall) for part in parts),
        media=sum(isinstance(part, Text) for part in parts),
    )


def _lengthen(job: Job, edit: Edit, room: int) -> Edit:
    """Say more of a result than its stub does: its two ends, as far as `room` goes."""
    message = job.layout.messages[edit.index]
    if len(edit.parts) != 1 or job.policy.style is not Style.STUB:
        return edit
    [(ordinal, part)] = edit.parts
    [(position, _)] = edit.positions(message)
    result = message.parts[position]
    if not (isinstance(result, ToolResult) and isinstance(part, ToolResult)) or result.media:
        return edit
    text, chars = job.redact(result.text), room * _FIRST_GUESS_CHARS_PER_TOKEN
    for _ in range(_LENGTHEN_ROUNDS):
        longer = Edit(edit.index, ((ordinal, replace(part, text=excerpt(text, chars // 2, chars // 2))),))
        excess = job.edit_delta(longer) - job.edit_delta(edit) - room
        if excess <= 0:
            return longer
        chars = int(chars * room / (room + excess) * _TIGHT)
    return edit


def add_edits(pruned: Pruned, edits: Sequence[Edit]) -> Pruned:
    """Join pruning with the shortening of a tail, which never touch the same message."""
    return replace(pruned, edits=tuple(sorted((*pruned.edits, *edits), key=lambda edit: edit.index)))


def choose_fold(job: Job, pruned: Pruned) -> Choice:
    """Choose what to fold by strategy."""
    if job.policy.max_tokens is not None:
        return _choose_for_ceiling(job)
    plan = _base_plan(job)
    shrunk = _shrink(job, plan)
    if is_short(job):
        return _choice(job, Plan(plan.head_stop, plan.tail_start, ()), shrunk)
    if job.folds_all:
        return _choice(job, plan, shrunk)
    return _choose_staged(job, plan, pruned, shrunk)


def _base_plan(job: Job) -> Plan:
    if job.policy.max_tokens is None:
        return make_plan(job.layout, job.policy, job.tail_budget)
    return make_ceiling_plan(job.layout, _room(job), job.tail_budget, MIN_TAIL_MESSAGES)


def is_short(job: Job) -> bool:
    """Whether there is too little beyond the head to be worth a fold, and no need either."""
    if job.policy.max_tokens is not None:
        return False
    beyond = len(job.layout.messages) - job.layout.lead - job.policy.protect_first_n
    return beyond <= SHORT_MESSAGES and job.tokens_before < job.policy.context_length * NO_MINIMUM_FROM


def _room(job: Job) -> int:
    """What is left for messages beside those that stay in any case."""
    return max(0, job.policy.target_tokens - job.overhead_tokens - job.fixed_tokens)


def _shrink(job: Job, plan: Plan) -> tuple[Edit, ...]:
    """Shorten the results of a tail that is larger than even the slack allows."""
    tail = Span(plan.tail_start, len(job.layout.messages))
    if job.layout.tokens(tail) <= job.tail_budget * TAIL_SLACK:
        return ()
    return shrink_tail(job.layout, tail, job.tail_budget, job.count, job.redact)


def _choose_staged(job: Job, plan: Plan, pruned: Pruned, shrunk: tuple[Edit, ...]) -> Choice:
    """Fold the oldest part of the middle, no more than it takes to reach the target."""
    layout = job.layout
    deltas = [0] * (len(layout.messages) + 1)
    for edit in (*pruned.edits, *shrunk):
        deltas[edit.index] = job.edit_delta(edit)
    saved_from = [*accumulate(reversed(deltas))][::-1]
    stops = stops_between(layout, plan)
    for stop in stops:
        folded = sum(layout.tokens(span) for span in shorten_fold(layout, plan, stop).spans)
        kept = job.tokens_before - folded + saved_from[stop]
        if kept + job.policy.summary_budget_tokens(folded) <= job.policy.target_tokens:
            break
    else:
        stop = plan.tail_start
    edits = tuple(edit for edit in (*pruned.edits, *shrunk) if edit.index >= stop)
    return _choice(job, shorten_fold(layout, plan, stop), edits)


def _choose_for_ceiling(job: Job) -> Choice:
    """Fold everything between first request and tail; a tail that leaves no room for a summary gives way."""
    layout, total = job.layout, len(job.layout.messages)
    # A summary must never be last: without a request to stand behind it, something of the tail has to.
    fewest_of_all = 0 if len(layout.request) else 1
    for share, fewest in ((1.0, MIN_TAIL_MESSAGES), (0.5, 1), (0.25, 1), (0.0, fewest_of_all)):
        budget = int(job.tail_budget * share)
        plan = make_ceiling_plan(layout, _room(job), budget, fewest)
        tail = Span(plan.tail_start, total)
        edits: tuple[Edit, ...] = ()
        if layout.tokens(tail) > budget * TAIL_SLACK:
            # Where there is nothing to fold, the tail has all the room there is.
            edits = shrink_tail(layout, tail, budget if plan.spans else _room(job), job.count, job.redact)
        choice = _choice(job, plan, edits)
        if choice.body_tokens >= MIN_SUMMARY_TOKENS or not plan.spans:
            break
    if plan.spans and job.overhead_tokens + job.fixed_tokens > job.policy.target_tokens:
        # The ceiling cannot be met, and forgetting everything would not meet it either.
        tokens = max(choice.summary_tokens, free_summary_tokens(choice.folded_tokens))
        shell = _shell_tokens(job, choice.task, choice.folded, choice.digest)
        return replace(choice, summary_tokens=tokens, body_tokens=max(0, tokens - shell))
    return choice


def _choice(job: Job, plan: Plan, edits: Sequence[Edit]) -> Choice:
    """Work out how much room a plan leaves for the summary."""
    layout = job.layout
    folded_tokens = sum(layout.tokens(span) for span in plan.spans)
    kept = job.tokens_before - folded_tokens + job.note_tokens + sum(map(job.edit_delta, edits))
    room = job.policy.target_tokens - kept
    if job.policy.max_tokens is None:
        # Never more than half of what it replaces, never less than a summary needs, target or not.
        room = max(min(room, folded_tokens // 2), job.policy.summary_budget_tokens(folded_tokens))
    ends = sorted({index for span in plan.spans for index in (span.start, span.stop - 1)})
    digest = join_digests(own_digest(layout.messages[index]) for index in ends)
    task = job.redact(active_task(layout.messages, layout.summary))
    folded = _name_folded(layout, plan.spans)
    shell = _shell_tokens(job, task, folded, digest)
    if room - shell < MIN_SUMMARY_TOKENS:
        # The request itself follows the summary; where room is short, its first words point at it.
        task = task[:_SHORT_TASK_CHARS]
        shell = _shell_tokens(job, task, folded, digest)
    return Choice(
        head_stop=plan.head_stop,
        spans=plan.spans,
        edits=tuple(edits),
        folded_tokens=folded_tokens,
        summary_tokens=room,
        body_tokens=max(0, room - shell),
        task=task,
        folded=folded,
        digest=digest,
    )


def _name_folded(layout: Layout, spans: Sequence[Span]) -> FoldedNumbers:
    """Say by their numbers which messages leave, and where one is put in to make the list legal."""
    gone = {index for span in spans for index in span}
    kept = [index for index in range(len(layout.messages)) if index not in gone]
    mends = mend(layout.messages, kept, layout.pairing, layout.waiting)
    return layout.folded_before.join(
        (layout.numbers[index] for index in {*gone, *mends.drops} - {layout.summary}),
        (layout.numbers[insert.after] for insert in mends.inserts),
    )


def _shell_tokens(job: Job, task: str, folded: FoldedNumbers, digest: bytes) -> int:
    """Count what a summary takes before it says anything."""
    return job.count(make_summary_message(frame_summary("", task, folded), digest, job.key))
