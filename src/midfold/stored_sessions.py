"""Changes to a stored conversation that nobody works on: folding it, and pinning sentences in it.

Each takes the lease of the session first, and either all of it happens or nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from midfold.engines import (
    ContextCompressor,
    ContextEngine,
    EngineSetup,
    FoldingEngine,
    Summarizer,
    find_engine,
    open_engine,
)
from midfold.errors import ConfigError
from midfold.folding import (
    NOTES_CORRECTED,
    STATE_NAME,
    Compression,
    CompressionPolicy,
    CompressionState,
    state_from_json,
    state_to_json,
)
from midfold.late_dataclasses import replace
from midfold.store import EndReason, HeldLease, Lease, Session, Store, check_sound


def compress_session(
    store: Store,
    session_id: str,
    *,
    focus: str | None = None,
    policy: CompressionPolicy | None = None,
    engine: str | type[ContextEngine] = "compressor",
    summarizer: Summarizer | None = None,
    model: str | None = None,
) -> tuple[str, Compression[object]]:
    """Fold a stored conversation as a person asks for it; return the session that goes on, and the facts.

    Raises `StoreError`, such as `SessionBusy` while somebody works on it.
    """
    tip = store.session(store.get_compression_tip(session_id))
    records = store.records(tip.id)
    check_sound(tip.id, records)
    setup = EngineSetup(
        policy=policy or CompressionPolicy(),
        model=model or tip.model or "",
        summarizer=summarizer,
        key=store.conversation_key(tip.id),
        state=load_compression_state(store, tip.id),
        store=store,
        prepare_ahead=False,
    )
    opened = open_engine(find_engine(engine) if isinstance(engine, str) else engine, setup)
    opened.on_session_start(tip.id)
    with _hold(store, tip) as lease:
        items = [record.item for record in records]
        result = _compress(opened, items, store.system(tip.id), focus)
        if not result.changed:
            return tip.id, result
        facts = {"why": "command", **({"focus": focus} if focus else {})}
        going_on = _commit(store, tip, result, lease, facts, opened.state)
    return going_on, result


def _compress(
    engine: FoldingEngine, items: Sequence[object], system: object, focus: str | None
) -> Compression[object]:
    tokens = engine.estimate(items, system=system)
    if isinstance(engine, ContextCompressor):
        engine.request_compression("a person asked for it", focus)
    return engine.compress_result(items, tokens, focus)


def _commit(
    store: Store,
    tip: Session,
    result: Compression[object],
    lease: Lease,
    facts: Mapping[str, object],
    state: CompressionState,
) -> str:
    """Write the continuation; a session that was ended is ended again."""
    continued = store.continue_session_result(
        tip.id,
        result.messages,
        result,
        lease=lease,
        facts=facts,
        states={STATE_NAME: state_to_json(state)},
        expected_count=tip.message_count,
    )
    if tip.ended_at is not None:
        store.end_session(continued.session_id, tip.end_reason or EndReason.CLOSED)
    return continued.session_id


def pin_sentence(store: Store, session_id: str, text: str) -> tuple[str, ...]:
    """Keep a sentence word for word through every later fold of a conversation; return all that are."""
    return _change_state(store, session_id, lambda state: state.with_pin(_sentence(text)))


def unpin_sentence(store: Store, session_id: str, text: str) -> tuple[str, ...]:
    """Let go of a sentence; return those that are still pinned."""
    return _change_state(store, session_id, lambda state: state.without_pin(_sentence(text)))


def load_compression_state(store: Store, session_id: str) -> CompressionState:
    """Return what is remembered of a conversation; how often it was folded is what the store has of it."""
    folds = [fold for fold in store.folds(session_id) if fold.facts.get("reason") != NOTES_CORRECTED]
    return replace(
        state_from_json(store.load_state(session_id, STATE_NAME)),
        count=len(folds),
        folds=sum(stored.fold.summary is not None for stored in folds),
    )


@contextmanager
def _hold(store: Store, tip: Session) -> Iterator[Lease]:
    """Hold a session, reopened where it was ended."""
    if tip.ended_at is not None:
        store.reopen_session(tip.id)
    with HeldLease(store, tip.id) as held:
        yield held.lease


def _change_state(
    store: Store, session_id: str, change: Callable[[CompressionState], CompressionState]
) -> tuple[str, ...]:
    tip = store.get_compression_tip(session_id)
    with HeldLease(store, tip):
        state = change(load_compression_state(store, tip))
        store.save_state(tip, STATE_NAME, state_to_json(state))
    return state.pins


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    if not words:
        raise ConfigError("pin", text, hint="a sentence")
    return words
