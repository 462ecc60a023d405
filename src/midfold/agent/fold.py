"""The fold of an agent's conversation: memory first, then the fold, then its continuation in the store.

Either all of it happens or nothing: a fold that the store does not take is taken back, and one that is
interrupted was never made.
"""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from midfold.agent.active_model import ActiveModel
from midfold.agent.core import Core
from midfold.agent.events import (
    CompressionFinished,
    CompressionStarted,
    Continued,
    Emit,
    Level,
    Notice,
    Pressure,
    Topic,
    Why,
)
from midfold.agent.notices import describe_fault
from midfold.agent.session import ContinuedElsewhere, commit
from midfold.concurrency import run_in_thread, shield_until_done
from midfold.engines import NOTHING_YET, PREPARED_AHEAD, describe_error
from midfold.errors import EngineContractError, MidfoldError, SessionBusy, StillTooLarge, StoreError
from midfold.folding import (
    Compression,
    Tier,
    advise,
    pause_notice,
    summarize_manual_compression,
    tier_of,
)
from midfold.late_dataclasses import replace
from midfold.store import HeldLease, Lease, Store, StoredFold
from midfold.stored_notes import FACTS, correct_items, is_correction
from midfold.summaries import NoteChange, prompts
from midfold.tokens import TokenCounter

# What a request is brought down to that would not fit: counts are off by a few per cent.
_FITTING_PART = 0.9
TAKEN_BACK = "The fold was taken back: the conversation does not fit into the other model even so."


async def fold(
    core: Core,
    why: Why,
    emit: Emit,
    *,
    focus: str | None = None,
    keep_last: int | None = None,
    most_tokens: int | None = None,
) -> Compression[object]:
    """Compress the conversation, and go on in its continuation where that changed anything.

    Raises `StoreError`, such as `ContinuedElsewhere`, and then nothing has changed.
    """
    conversation = core.conversation
    is_asked = why is Why.COMMAND and keep_last is None
    if is_asked and not core.engine.has_content_to_compress(conversation.items):
        return _leave_unchanged(core, why, NOTHING_YET, emit)
    await commit(conversation.check_alone)  # before anything is paid for
    emit(CompressionStarted(why, core.estimate()))
    for problem in await run_in_thread(_save_first, core):
        emit(Notice(Level.WARNING, Topic.MEMORY, problem))
    is_stored = conversation.is_stored  # one that is not needs no lease
    async with _hold_lease(core.store, conversation.id) if is_stored else nullcontext() as lease:
        try:
            result = await _compress(core, focus, keep_last, most_tokens)
        except EngineContractError as error:
            emit(Notice(Level.WARNING, Topic.ENGINE, describe_fault(error)))
            await run_in_thread(core.try_save_state)
            return _leave_unchanged(core, why, str(error), emit)
        if result.changed:
            facts: dict[str, object] = {"why": str(why), **({"focus": focus} if focus else {})}
            await shield_until_done(_commit(core, why, result, lease, facts, emit))
        else:
            emit(_report(why, result))
            await run_in_thread(core.try_save_state)
    _emit_advice(core, result, emit)
    return result


async def _compress(
    core: Core, focus: str | None, keep_last: int | None, most_tokens: int | None
) -> Compression[object]:
    """Have the engine compress; raises `EngineContractError` where it fails at it."""
    engine = core.engine
    try:
        return await engine.acompress_result(
            core.conversation.items, focus_topic=focus, keep_last=keep_last, most_tokens=most_tokens
        )
    except MidfoldError:
        raise
    except Exception as error:  # an engine may be anybody's code
        promise = f"compress returns a result; it raised {describe_error(error)}"
        raise EngineContractError(engine.name, promise) from error


def _leave_unchanged(core: Core, why: Why, reason: str, emit: Emit) -> Compression[object]:
    """Leave the conversation as it is, and say why."""
    result = unchanged(core, reason)
    emit(_report(why, result))
    return result


def unchanged(core: Core, reason: str) -> Compression[object]:
    """Return a compression that did nothing."""
    tokens = core.estimate()
    return Compression(
        messages=list(core.conversation.items),
        before=tuple(core.conversation.messages),
        fold=None,
        reason=reason,
        state=core.engine.state,
        tokens_before=tokens,
        tokens_after=tokens,
        budget_tokens=core.engine.policy.target_tokens,
    )


async def fold_or_warn(core: Core, why: Why, emit: Emit, *, most_tokens: int | None = None) -> bool:
    """Compress unasked: a failure is a notice, and the conversation goes on as it is.

    Raises `ContinuedElsewhere`, as then it cannot go on.
    """
    try:
        return (await fold(core, why, emit, most_tokens=most_tokens)).changed
    except ContinuedElsewhere:
        raise
    except StoreError as error:
        emit(_not_compressed(error))
        return False


async def make_room(core: Core, emit: Emit) -> int:
    """Compress before a request where that is due, see to it that it fits, and return what it will take.

    Raises `StillTooLarge` where nothing more can be folded. With compression off, nothing is done.
    """
    conversation, engine = core.conversation, core.engine
    is_due = engine.should_compress_preflight(
        conversation.items, system=conversation.system, tools=core.schemas
    )
    if is_due:
        await fold_or_warn(core, Why.PREFLIGHT, emit)
    tokens = core.estimate()
    window = engine.context_length
    if engine.enabled and 0 < window < tokens:
        await fold_or_warn(core, Why.OVERFLOW, emit, most_tokens=int(window * _FITTING_PART))
        tokens = core.estimate()
        if tokens > window:
            raise _too_large(core, tokens, window)
    core.tokens = tokens
    _emit_pressure(core, tokens, emit)
    _emit_approach(core, emit)
    return tokens


async def fold_after_reply(core: Core, emit: Emit) -> None:
    """Compress after a reply where the provider's own count calls for it."""
    if core.engine.should_compress():
        try:
            await fold_or_warn(core, Why.THRESHOLD, emit)
        except ContinuedElsewhere as error:  # the turn is done, and what it said is kept
            emit(_not_compressed(error))
    _emit_approach(core, emit)


def _emit_approach(core: Core, emit: Emit) -> None:
    """Emit that a compression is near, once for each approach: a turn of many tools may take hours."""
    words = core.engine.approach_warning() if core.engine.enabled else None
    if words:
        emit(Notice(Level.INFO, Topic.APPROACH, words))


def undo_fold(core: Core) -> bool:
    """Undo the newest fold of the conversation; false if there is none. Raises `StoreError`."""
    conversation, engine = core.conversation, core.engine
    stored = core.store.folds(conversation.id) if conversation.is_stored else []
    if not stored:
        return False
    shown = conversation.items
    conversation.undo_fold()
    if is_correction(stored[-1]):
        conversation.keep_said(shown, but=stored[-1].fold.spans[0].start)
        engine.cancel_preparation()
        return True
    items = engine.undo(shown)
    if items is not None and len(items) == len(conversation.items):
        conversation.items = items  # as they were said, before the store hid credentials
        conversation.has_placeholders = False
    if items is None:
        count, folds = max(engine.state.count - 1, 0), max(engine.state.folds - 1, 0)
        engine.adopt(replace(engine.state, count=count, folds=folds, paused_at_tokens=core.estimate()))
    core.try_save_state()
    core.removed_tokens = max(core.removed_tokens - _removed_by(stored[-1]), 0)
    return True


def correct_notes(core: Core, change: NoteChange) -> None:
    """Correct the notes of the newest fold, at once; raises `NoteNotFound` and `StoreError`."""
    conversation, engine = core.conversation, core.engine
    result = correct_items(
        conversation.items,
        conversation.dialect,
        change,
        model=core.model.ref.name,
        key=core.store.conversation_key(conversation.id),
        state=engine.state,
    )
    conversation.check_alone()
    with HeldLease(core.store, conversation.id) as held:
        conversation.continue_folded(
            result, system=conversation.system, lease=held.lease, facts=FACTS, state=engine.state
        )
    engine.cancel_preparation()  # it was made of the notes as they were
    conversation.mark_announced()


def _removed_by(fold: StoredFold) -> int:
    before, after = fold.facts.get("tokens_before"), fold.facts.get("tokens_after")
    return before - after if isinstance(before, int) and isinstance(after, int) else 0


def _too_large(core: Core, tokens: int, window_tokens: int) -> StillTooLarge:
    """Make the error that says where the tokens are."""
    shares = core.break_down().speakers
    return StillTooLarge(tokens, window_tokens, {share.name: share.tokens for share in shares})


def _emit_pressure(core: Core, tokens: int, emit: Emit) -> None:
    """Emit how full the window is, when it filled up to another tier."""
    tier = tier_of(tokens, core.engine.context_length)
    engine = core.engine
    if tier > core.tier:
        emit(Pressure(tier, tokens, engine.context_length, engine.threshold_tokens, engine.enabled))
    core.tier = tier


def _save_first(core: Core) -> list[str]:
    """Save what must outlive the fold; what goes wrong there is said and stops nothing."""
    problems = []
    try:
        core.memory.flush()
    except OSError as error:
        problems.append(f"Memory could not be written: {error.strerror}.")
    for hook in core.before_fold:
        try:
            hook(core.conversation.id, core.conversation.items)
        except Exception as error:  # noqa: BLE001 - anybody's code
            problems.append(f"A hook failed before the fold: {type(error).__name__}: {error}")
    return problems


async def _commit(
    core: Core,
    why: Why,
    result: Compression[object],
    lease: Lease | None,
    facts: dict[str, object],
    emit: Emit,
) -> None:
    """Write the continuation; a fold that cannot be written is taken back."""
    conversation, engine = core.conversation, core.engine
    old_id, system = conversation.id, conversation.system
    if result.fold is not None and result.fold.summary is not None:
        system = await run_in_thread(core.renew_system_prompt)
    if result.system_note and (note := prompts.write_note(system)) not in system:
        system = f"{system}\n\n{note}"
    try:
        await run_in_thread(
            conversation.continue_folded, result, system=system, lease=lease, facts=facts, state=engine.state
        )
    except StoreError:
        engine.undo(result.messages)
        raise
    core.saved_state = engine.state
    core.removed_tokens += max(result.saved_tokens, 0)
    core.tier = Tier.CALM
    core.start_engine_session(boundary_reason="compression", old_session_id=old_id)
    emit(_report(why, result))
    emit(Continued(old_id, conversation.id, engine.state.folds))
    core.leave_out_idle_tools(result.before)
    try:
        await run_in_thread(conversation.mark_announced)
    except StoreError as error:
        emit(
            Notice(
                Level.WARNING,
                Topic.STORE,
                f"The fold is in place, but its announcement was not recorded: {error}",
            )
        )


def _not_compressed(error: StoreError) -> Notice:
    return Notice(Level.WARNING, Topic.STORE, f"The conversation was not compressed: {error}")


def _report(why: Why, result: Compression[object]) -> CompressionFinished:
    words = summarize_manual_compression(
        result.before, result.messages, result.tokens_before, result.tokens_after
    )
    return CompressionFinished(
        why=why,
        compression=result,
        headline=result.headline,
        token_line=str(words["token_line"]),
        was_prepared=result.reason == PREPARED_AHEAD,
    )


def _emit_advice(core: Core, result: Compression[object], emit: Emit) -> None:
    """Emit what the user should know: a summary that failed, a fold too many, a pause."""
    state = core.engine.state
    if result.warning:
        emit(Notice(Level.WARNING, Topic.SUMMARY, result.warning))
    is_fold = result.fold is not None and result.fold.summary is not None
    if is_fold and (words := advise(state)):
        emit(Notice(Level.INFO, Topic.FOLDED_OFTEN, words))
    if not result.changed and (words := pause_notice(state)):
        emit(Notice(Level.WARNING, Topic.PAUSED, words))


async def switch_model(core: Core, model: ActiveModel, emit: Emit) -> None:
    """Let `model` take over; the one so far, which has seen everything, folds for its window.

    Raises `StillTooLarge` where the conversation does not fit even when it is folded, and `StoreError`; then
    model and conversation stay as they are. Where compression is off, nothing is folded.
    """
    policy, conversation = core.policy_for(model), core.conversation
    tokens, window = _count(core, model), policy.context_length
    least = tokens - _count_messages(core, model)
    is_due = core.engine.enabled and bool(conversation.items) and tokens >= policy.threshold_tokens
    if is_due and least <= window:
        result = await fold(core, Why.MODEL, emit, most_tokens=policy.target_tokens)
        tokens = _count(core, model)
        if result.changed and tokens > window:
            error = _too_large(core, tokens, window)
            await commit(undo_fold, core)
            emit(Notice(Level.INFO, Topic.STORE, TAKEN_BACK))
            raise error
    if max(tokens, least) > window:
        raise _too_large(core, max(tokens, least), window)
    core.switch_to(model)


def _count(core: Core, model: ActiveModel) -> int:
    """Count the next request as another model does."""
    count, conversation = TokenCounter(model.ref.name), core.conversation
    beside = count.count_text(conversation.system) + count.count_tools(core.schemas)
    return beside + _count_messages(core, model)


def _count_messages(core: Core, model: ActiveModel) -> int:
    return sum(map(TokenCounter(model.ref.name), core.conversation.messages))


@asynccontextmanager
async def _hold_lease(store: Store, session_id: str) -> AsyncIterator[Lease]:
    """Hold a session until the end of the block; raises `SessionBusy` where a live process has it."""
    held = HeldLease(store, session_id)
    try:
        await commit(_acquire, store, session_id, held)
        yield held.lease
    finally:
        await commit(held.__exit__, None, None, None)


def _acquire(store: Store, session_id: str, held: HeldLease) -> None:
    try:
        held.__enter__()
    except SessionBusy as busy:
        if not _is_dead(busy.holder):
            raise
        # In its name, the lease is ours to give back; a holder that was quicker than we are is not disturbed.
        store.release_lease(store.acquire_lease(session_id, busy.holder))
        held.__enter__()


def _is_dead(holder: str) -> bool:
    """Whether a holder was a process of this machine that is no more; see `store.leasing.name_holder`."""
    host, _, rest = holder.partition("/")
    process = rest.partition("/")[0]
    if host != socket.gethostname() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # it is somebody else's, and lives
        return False
    return False
