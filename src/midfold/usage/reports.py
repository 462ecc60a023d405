"""Reports on what a store holds: one conversation, or all of a period."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from midfold.messages import Message
from midfold.ports import Count
from midfold.store import Call, Session, Store, StoredFold, StoredMessage
from midfold.tokens import TokenCounter, ToolShare, break_down
from midfold.usage.savings import CountedCall, MessageKey, Reread, count_calls, find_rereads
from midfold.usage.totals import (
    Group,
    Totals,
    add_up,
    by_model,
    by_purpose,
    by_session,
    by_source,
    group_by,
    group_days,
    group_largest_first,
)
from midfold.wire import Request, parse

MOST_DAYS = 36_500
"""The longest period that can be asked for: a hundred years."""
READING_SECONDS = 3.0
"""The time for reading the tools of a period, newest conversations first; all may take minutes."""


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """The usage of a session, or of its whole chain."""

    session: Session
    chain: tuple[Session, ...]
    is_whole_chain: bool
    totals: Totals
    models: tuple[Group, ...]
    purposes: tuple[Group, ...]
    sessions: tuple[Group, ...]
    tools: tuple[ToolShare, ...]
    """of the messages that were said there, whether or not they were folded since"""
    cache_busts: Mapping[str, int]
    """how often the prompt cache went cold, by cause, as far as that was noted"""


@dataclass(frozen=True, slots=True)
class Insights:
    """The usage of a period."""

    since: float
    until: float
    conversations: int
    totals: Totals
    days: tuple[Group, ...]
    """every day, the first first"""
    models: tuple[Group, ...]
    sources: tuple[Group, ...]
    purposes: tuple[Group, ...]
    tools: tuple[ToolShare, ...]
    """about; of the newest conversations"""
    tools_of: int
    """how many conversations those are; what was read again is known of these, too"""


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A conversation read for a report."""

    sessions: tuple[Session, ...]
    history: tuple[StoredMessage, ...]
    messages: tuple[Message, ...]


def read_session_usage(store: Store, session_id: str, *, whole_chain: bool = False) -> SessionUsage:
    """Report on a session, or on all sessions of its chain."""
    session = store.session(session_id)
    found = _read_conversation(store, session_id, tuple(store.chain(session_id)))
    count = _make_counter(found.sessions or (session,))
    counted = _count(store, found, store.calls(session_id, whole_chain=True), store.folds(session_id), count)
    chosen = [each for each in counted if whole_chain or each.call.session_id == session_id]
    said = [
        message
        for record, message in zip(found.history, found.messages, strict=True)
        if whole_chain or record.session_id == session_id
    ]
    return SessionUsage(
        session=session,
        chain=found.sessions,
        is_whole_chain=whole_chain,
        totals=add_up(chosen),
        models=group_largest_first(chosen, by_model),
        purposes=group_largest_first(chosen, by_purpose),
        sessions=group_by(chosen, by_session),
        tools=break_down(said, count).tools,
        cache_busts=_count_busts(chosen),
    )


def read_insights(
    store: Store,
    *,
    now: float,
    days: int = 30,
    zone: tzinfo | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Insights:
    """Report on the last `days` days, of which today is one; without a zone, days are local ones.

    Calls are all counted. Messages are read for `READING_SECONDS` by that clock, or of one conversation.
    """
    today = datetime.fromtimestamp(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    since = (today - timedelta(days=days - 1)).timestamp()
    active = _active(store, since)
    counted: list[CountedCall] = []
    tools: list[ToolShare] = []
    read = 0
    ends_at = clock() + READING_SECONDS
    for each in sorted(active, key=lambda each: each.calls[-1].created_at or 0.0, reverse=True):
        # A fold opens a session, and the folds of all other conversations are not read.
        folds = store.folds(each.id) if len(each.chain) > 1 else []
        count = _make_counter(each.chain)
        found = _Conversation((), (), ())
        if not read or clock() < ends_at:
            found = _read_conversation(store, each.id, each.chain)
            read += 1
            tools += break_down(found.messages, count).tools
        counted += _count(store, found, each.calls, folds, count)
    inside = sorted(
        (each for each in counted if (each.call.created_at or 0.0) >= since),
        key=lambda each: each.call.created_at or 0.0,
    )
    return Insights(
        since=since,
        until=now,
        conversations=len(active),
        totals=add_up(inside),
        days=group_days(inside, since, now, zone),
        models=group_largest_first(inside, by_model),
        sources=group_largest_first(inside, by_source),
        purposes=group_largest_first(inside, by_purpose),
        tools=_join_tools(tools),
        tools_of=read,
    )


def _make_counter(chain: Sequence[Session]) -> TokenCounter:
    """Count as the model of a conversation does, the newest first; else as its dialect's models do."""
    model = next((session.model for session in reversed(chain) if session.model), None)
    dialect = next((session.dialect for session in chain if session.dialect), None)
    return TokenCounter(model or (Request(dialect, []).counted_as if dialect else None))


@dataclass(frozen=True, slots=True)
class _Active:
    """A conversation with calls in a period: its sessions, and all its calls, those before it included."""

    id: str
    chain: tuple[Session, ...]
    calls: list[Call]


def _active(store: Store, since: float) -> list[_Active]:
    """Return the conversations that had a call since then."""
    recent = store.calls(since=since)
    homes: dict[str, str] = {}
    found: dict[str, _Active] = {}
    for name in dict.fromkeys(call.session_id for call in recent):
        if name is None or name in homes:
            continue
        chain = tuple(store.chain(name))
        root = chain[0].conversation_id if chain else store.session(name).conversation_id
        homes |= dict.fromkeys((name, *(session.id for session in chain)), root)
        found.setdefault(root, _Active(root, chain, []))
    started = min((session.started_at for each in found.values() for session in each.chain), default=since)
    for call in recent if started >= since else store.calls(since=started):
        home = homes.get(call.session_id or "")
        if home is not None:
            found[home].calls.append(call)
    return list(found.values())


def _read_conversation(store: Store, session_id: str, chain: tuple[Session, ...]) -> _Conversation:
    history = store.history(session_id)
    dialect = next((session.dialect for session in chain if session.dialect), None)
    messages = parse([record.item for record in history], dialect) if history else []
    return _Conversation(chain, tuple(history), tuple(messages))


def _count(
    store: Store,
    found: _Conversation,
    calls: Sequence[Call],
    folds: Sequence[StoredFold],
    count: Count,
) -> list[CountedCall]:
    rereads: Mapping[int, Reread] = {}
    if folds and found.history:
        rereads = find_rereads(found.history, found.messages, _folded_at(store, folds), calls, count)
    return count_calls(calls, folds, rereads)


def _folded_at(store: Store, folds: Sequence[StoredFold]) -> dict[MessageKey, float]:
    """Say when each message went that was folded or shortened."""
    gone: dict[MessageKey, float] = {}
    for fold in folds:
        view = store.records(fold.session_id)
        for index in (index for index in fold.fold.touched if index < len(view)):
            gone.setdefault((view[index].session_id, view[index].seq), fold.created_at)
    return gone


def _count_busts(counted: Sequence[CountedCall]) -> dict[str, int]:
    causes = [each.call.facts.get("cache_bust") for each in counted]
    named = [cause for cause in causes if isinstance(cause, str)]
    return {cause: named.count(cause) for cause in dict.fromkeys(named)}


def _join_tools(shares: Sequence[ToolShare]) -> tuple[ToolShare, ...]:
    """Add up the same tools of several conversations, largest first."""
    joined: dict[str, ToolShare] = {}
    for share in shares:
        seen = joined.get(share.name)
        joined[share.name] = share if seen is None else _both(seen, share)
    return tuple(sorted(joined.values(), key=lambda share: share.tokens, reverse=True))


def _both(one: ToolShare, other: ToolShare) -> ToolShare:
    return replace(
        one,
        calls=one.calls + other.calls,
        call_tokens=one.call_tokens + other.call_tokens,
        result_tokens=one.result_tokens + other.result_tokens,
        largest_result_tokens=max(one.largest_result_tokens, other.largest_result_tokens),
    )
