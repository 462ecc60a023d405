"""Background compression: the next fold is prepared beside the conversation and applied when it is due.

A preparation goes through a handful of pure steps from one value to the next. `Background` makes them one at
a time, under a lock, so that a prepared fold is applied once or never, and a result that comes late or for
another history is ignored. The work is done in a daemon thread; async hosts get the result on their event
loop, between two of their own steps.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from enum import StrEnum
from math import inf
from threading import Lock
from typing import TypeAlias

from midfold.concurrency import running_loop, start_thread
from midfold.engines.run import Run
from midfold.errors import StaleFold
from midfold.folding import (
    DIGEST,
    TASK_HEADING,
    Compression,
    CompressionPolicy,
    CompressionState,
    Fold,
    Tier,
    apply,
    count_leading_system,
    decide,
    find_summary,
    is_worth_it,
    make_summary_message,
    note_outcome,
    reach_head,
    tier_of,
)
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message, chain_digests
from midfold.ports import Count
from midfold.redact import redact
from midfold.summaries import active_task, split_sections, with_section
from midfold.summaries.prompts import find_body

PREPARE_FROM = 0.80
"""Of the threshold: from here on the next fold is prepared."""
DEADLINE_SECONDS = 180.0
"""For all the answers that a fold takes."""
COOLDOWN_SECONDS = 60.0
"""A summariser that just failed would most likely fail again."""
MOST_IN_VAIN = 3
"""Preparations that come to nothing, one after another: then none is begun until a fold was made without.

A summary is paid for, and a host that changes the folded part in every turn would pay in every turn.
"""
MOST_WORKERS = 3
"""A summariser that never answers is given up, but its thread cannot be stopped: so many may hang."""


class Phase(StrEnum):
    """The phase of a preparation."""

    IDLE = "idle"
    PREPARING = "preparing"
    READY = "ready"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True)
class Preparation:
    """The next fold: not begun, under way, ready, or given up. Times are seconds of the engine's clock."""

    phase: Phase = Phase.IDLE
    ticket: int = 0
    """rises with every start: a result that carries an older one comes too late"""
    since: float = -inf
    ready: Compression[Message] | None = None
    why: str = ""
    """why the last one was given up"""
    rests_until: float = -inf
    in_vain: int = 0
    """the number in a row that failed, or were made for a history that changed"""

    @property
    def excuse(self) -> str:
        """Why no summary is ready."""
        if self.phase is Phase.PREPARING:
            return "the summary is still being prepared"
        return self.why or "no summary was prepared in time"


def begin(preparation: Preparation, now: float) -> Preparation:
    """Start, unless one is under way or ready, the last one failed a moment ago, or too many did."""
    is_busy = preparation.phase in (Phase.PREPARING, Phase.READY)
    if is_busy or now < preparation.rests_until or preparation.in_vain >= MOST_IN_VAIN:
        return preparation
    return Preparation(Phase.PREPARING, preparation.ticket + 1, now, in_vain=preparation.in_vain)


def arrive(preparation: Preparation, ticket: int, result: Compression[Message]) -> Preparation:
    """Take the result of the preparation under way; any other comes too late."""
    if preparation.phase is not Phase.PREPARING or preparation.ticket != ticket:
        return preparation
    return replace(preparation, phase=Phase.READY, ready=result)


def receive(preparation: Preparation, result: Compression[Message]) -> Preparation:
    """Take a fold that was prepared elsewhere, unless one is under way or ready here."""
    if preparation.phase in (Phase.PREPARING, Phase.READY):
        return preparation
    return Preparation(Phase.READY, preparation.ticket + 1, ready=result, in_vain=preparation.in_vain)


def fail(preparation: Preparation, ticket: int, why: str, rests_until: float) -> Preparation:
    """Give up the preparation under way, and rest."""
    if preparation.phase is not Phase.PREPARING or preparation.ticket != ticket:
        return preparation
    in_vain = preparation.in_vain + 1
    return replace(preparation, phase=Phase.DISCARDED, why=why, rests_until=rests_until, in_vain=in_vain)


def postpone(preparation: Preparation, ticket: int, rests_until: float) -> Preparation:
    """End the preparation under way because there is too little to fold yet: nothing failed, but rest."""
    if preparation.phase is not Phase.PREPARING or preparation.ticket != ticket:
        return preparation
    return Preparation(ticket=ticket, rests_until=rests_until, in_vain=preparation.in_vain)


def discard(preparation: Preparation, why: str) -> Preparation:
    """Give up what is under way or ready; the next one may start at once."""
    if preparation.phase not in (Phase.PREPARING, Phase.READY):
        return preparation
    return replace(preparation, phase=Phase.DISCARDED, ready=None, why=why)


def discard_stale(preparation: Preparation) -> Preparation:
    """Give up what was prepared for another history."""
    given_up = discard(preparation, "the history changed")
    if given_up is preparation:
        return preparation
    return replace(given_up, in_vain=preparation.in_vain + 1)


def conclude(preparation: Preparation) -> Preparation:
    """Start afresh, now that a compression was made; what is under way or ready came too late for it."""
    return replace(discard(preparation, "a compression came first"), in_vain=0)


def commit(preparation: Preparation, ticket: int) -> Preparation:
    """Use up the fold with this ticket, if it is still the one that is ready."""
    if preparation.phase is not Phase.READY or preparation.ticket != ticket:
        return preparation
    return Preparation(ticket=ticket)


def prepare_from(policy: CompressionPolicy) -> int:
    """Return the size of a request at which its fold is begun; one that is applied has to end below that."""
    return int(policy.threshold_tokens * PREPARE_FROM)


def is_time(tokens: int, policy: CompressionPolicy, state: CompressionState) -> bool:
    """Whether to begin on the fold of a request of this size: one that will be due, and is not overdue."""
    due = max(tokens, policy.threshold_tokens)
    is_near = tokens >= prepare_from(policy) and decide(due, policy, state).compress
    return is_near and can_wait(tokens, policy)


def can_wait(tokens: int, policy: CompressionPolicy) -> bool:
    """Whether a request may go as it is while its fold is being prepared."""
    return tier_of(tokens, policy.context_length) < Tier.COMPRESS


Work: TypeAlias = Callable[[], Compression[Message]]
Outcome: TypeAlias = Compression[Message] | BaseException
Report: TypeAlias = Callable[[Outcome], None]
Tell: TypeAlias = Callable[[Compression[Message]], None]
Launch: TypeAlias = Callable[[Work, Report], None]


def launch(work: Work, report: Report) -> None:
    """Do `work` in a thread beside the caller; an async caller gets the result on its event loop."""
    loop = running_loop()

    def deliver(done: "Future[Compression[Message]]") -> None:
        error = done.exception()
        outcome = done.result() if error is None else error
        if loop is None:
            report(outcome)
            return
        try:
            loop.call_soon_threadsafe(report, outcome)
        except RuntimeError:  # the loop has ended; the engine may live on in another
            report(outcome)

    start_thread(work, "midfold-prepare").add_done_callback(deliver)


class Background:
    """Holds the one preparation of an engine; every step is made under a lock that nothing waits behind."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        deadline_seconds: float = DEADLINE_SECONDS,
        cooldown_seconds: float = COOLDOWN_SECONDS,
        launch: Launch = launch,
    ) -> None:
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self._cooldown_seconds = cooldown_seconds
        self._launch = launch
        self._lock = Lock()
        self._preparation = Preparation()
        self._workers = 0
        self.tell: Tell | None = None
        """called with each fold that is ready, in the thread that prepared it"""

    @property
    def preparation(self) -> Preparation:
        """The preparation as it stands; one that is past its deadline has failed."""
        with self._lock:
            self._preparation = self._expire(self._preparation)
            return self._preparation

    def start(self, work: Work) -> None:
        """Start a preparation where none is under way; at once, whatever `work` will take."""
        started = self._advance(self._begin)
        if started is None:
            return
        try:
            self._launch(lambda: self._run_work(work), lambda outcome: self._finish(started.ticket, outcome))
        except RuntimeError as error:  # no thread is to be had
            self._release_worker()
            self._finish(started.ticket, error)

    def receive(self, result: Compression[Message]) -> None:
        """Take a fold that was prepared elsewhere, unless one is under way or ready here."""
        self._advance(lambda preparation: receive(preparation, result))

    def discard(self, why: str) -> None:
        """Give up what is under way or ready; its result, should it still come, is ignored."""
        self._advance(lambda preparation: discard(preparation, why))

    def discard_stale(self) -> None:
        """Give up what is under way or ready, since it was made for another history."""
        self._advance(discard_stale)

    def conclude(self) -> None:
        """Give up what is under way or ready, since a compression came first."""
        self._advance(conclude)

    def commit(self, ticket: int) -> bool:
        """Use up the fold that is ready under this ticket; true for one caller and no other."""
        return self._advance(lambda preparation: commit(preparation, ticket)) is not None

    def forget(self) -> None:
        """Be as new, but for the tickets: what was asked for in another conversation stays ignored."""
        self._advance(lambda preparation: Preparation(ticket=preparation.ticket))

    def describe(self) -> dict[str, object]:
        """Return the figures of a status line; `seconds` is the age of the preparation under way."""
        preparation = self.preparation
        is_under_way = preparation.phase is Phase.PREPARING
        seconds = round(self._clock() - preparation.since, 1) if is_under_way else 0.0
        return {"phase": str(preparation.phase), "seconds": seconds, "why": preparation.why}

    def _advance(self, step: Callable[[Preparation], Preparation]) -> Preparation | None:
        """Make a step, and return the state after it; `None` when it changed nothing."""
        with self._lock:
            before = self._expire(self._preparation)
            self._preparation = step(before)
            return None if self._preparation is before else self._preparation

    def _expire(self, preparation: Preparation) -> Preparation:
        if self._clock() - preparation.since < self._deadline_seconds:
            return preparation
        why = f"no summary within {self._deadline_seconds:.0f} s"
        return fail(preparation, preparation.ticket, why, self._rest())

    def _begin(self, preparation: Preparation) -> Preparation:
        """Begin, and count who works; the lock is held."""
        begun = preparation if self._workers >= MOST_WORKERS else begin(preparation, self._clock())
        self._workers += begun is not preparation
        return begun

    def _run_work(self, work: Work) -> Compression[Message]:
        try:
            prepared = work()
            if self.tell is not None and prepared.summarizer != DIGEST:
                self.tell(prepared)
            return prepared
        finally:
            self._release_worker()

    def _release_worker(self) -> None:
        with self._lock:
            self._workers -= 1

    def _finish(self, ticket: int, outcome: Outcome) -> None:
        """Receive the outcome of a preparation; one that the digest had to write is a failure."""
        if isinstance(outcome, BaseException):
            self._give_up(ticket, f"{type(outcome).__name__}: {outcome}")
        elif outcome.fold is None:
            self._advance(lambda preparation: postpone(preparation, ticket, self._rest()))
        elif outcome.summarizer == DIGEST:
            self._give_up(ticket, outcome.warning or "the summariser gave nothing")
        else:
            self._advance(lambda preparation: arrive(preparation, ticket, outcome))

    def _give_up(self, ticket: int, why: str) -> None:
        self._advance(lambda preparation: fail(preparation, ticket, why, self._rest()))

    def _rest(self) -> float:
        return self._clock() + self._cooldown_seconds


PREPARED_AHEAD = "prepared ahead, applied now"
"""The reason that a result gives when its fold was ready before it was due."""


def apply_prepared_fold(
    prepared: Compression[Message], now: Run, *, count: Count, key: bytes
) -> Compression[Message]:
    """Apply a prepared fold to the list as it is now, longer than it was; nobody is asked anything.

    Raises `StaleFold` when the list no longer begins as it did.
    """
    if prepared.fold is None or not is_prepared_for(prepared, now.messages):
        raise StaleFold
    fold = _with_newest_task(prepared.fold, prepared.before, now, key)
    messages = apply(fold, now.messages)
    tokens_after = now.tokens_with(messages, count)
    is_fold = fold.summary is not None
    return replace(
        prepared,
        messages=messages,
        before=tuple(now.messages),
        fold=fold,
        reason=PREPARED_AHEAD,
        state=note_outcome(now.state, effective=True, is_fold=is_fold, tokens=tokens_after),
        tokens_before=now.tokens,
        tokens_after=tokens_after,
        summary_tokens=count(fold.summary) if fold.summary else 0,
    )


def is_prepared_for(prepared: Compression[Message], messages: Sequence[Message]) -> bool:
    """Whether `messages` say what they said when the fold was prepared, as far as it reaches.

    A client that sends its history again may have dropped thinking, or reworded its system prompt, meanwhile.
    """
    fold = prepared.fold
    if fold is None or fold.prefix_digest not in chain_digests(messages):
        return False
    return fold.belongs_to(messages)


def is_still_useful(applied: Compression[object], prepared: Compression[Message], below_tokens: int) -> bool:
    """Whether a prepared fold, once applied, saves enough, and a fresh one would not do better.

    Where the list has room to end below `below_tokens` it must; where even the prepared fold had none, it may
    have grown by no more than it could have otherwise.
    """
    is_enough = is_worth_it(applied.saved_tokens, applied.tokens_before)
    most_tokens = max(below_tokens, prepared.tokens_after + below_tokens - prepared.budget_tokens)
    return applied.changed and is_enough and applied.tokens_after < most_tokens


def _with_newest_task(fold: Fold, before: Sequence[Message], now: Run, key: bytes) -> Fold:
    """Name the newest request as the active task: the one of back then may be done by now."""
    bodies = {summary: find_body(summary.text) or "" for summary in fold.summaries}
    framed = next((each for each, body in bodies.items() if TASK_HEADING in split_sections(body)), None)
    lead = count_leading_system(now.messages)
    earlier = find_summary(now.messages, lead, reach_head(now.sizes, lead, now.policy), key)
    task = active_task(now.messages, earlier)
    if framed is None or task == active_task(before, earlier):
        return fold
    words = with_section(bodies[framed], TASK_HEADING, redact(task, key=key))
    return fold.with_summary(make_summary_message(words, key, like=framed), framed)
