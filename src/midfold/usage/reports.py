"""The report on one conversation, or on one session of it."""

from collections.abc import Mapping, Sequence

from midfold.late_dataclasses import dataclass
from midfold.store import Session, Store
from midfold.tokens import ToolShare, share_by_tool
from midfold.usage.conversations import count_in, make_counter, read_conversation
from midfold.usage.savings import CountedCall
from midfold.usage.totals import (
    Group,
    Totals,
    add_up,
    by_model,
    by_purpose,
    by_session,
    group_by,
    group_largest_first,
)


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


def read_session_usage(store: Store, session_id: str, *, whole_chain: bool = False) -> SessionUsage:
    """Report on a session, or on all sessions of its chain."""
    session = store.session(session_id)
    chain = tuple(store.chain(session_id))
    sessions = chain or (session,)
    model = next((each.model for each in reversed(sessions) if each.model), None)
    dialect = next((each.dialect for each in sessions if each.dialect), None)
    count = make_counter(model, dialect)
    found = read_conversation(store, session_id, dialect)
    calls = store.calls(session_id, whole_chain=True)
    counted = count_in(store, found, calls, store.folds(session_id), count)
    chosen = [each for each in counted if whole_chain or each.call.session_id == session_id]
    said = [
        message
        for record, message in zip(found.history, found.messages, strict=True)
        if whole_chain or record.session_id == session_id
    ]
    return SessionUsage(
        session=session,
        chain=chain,
        is_whole_chain=whole_chain,
        totals=add_up(chosen),
        models=group_largest_first(chosen, by_model),
        purposes=group_largest_first(chosen, by_purpose),
        sessions=group_by(chosen, by_session),
        tools=share_by_tool(said, count),
        cache_busts=_count_busts(chosen),
    )


def _count_busts(counted: Sequence[CountedCall]) -> dict[str, int]:
    causes = [each.call.facts.get("cache_bust") for each in counted]
    named = [cause for cause in causes if isinstance(cause, str)]
    return {cause: named.count(cause) for cause in dict.fromkeys(named)}
