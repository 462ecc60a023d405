"""What a store refuses or cuts: foreign spellings, endless names, values that no database holds."""

from collections.abc import Callable

import pytest

from midfold.errors import StoreError
from midfold.search import MAX_INDEXED_CHARS
from midfold.store.inputs import MAX_NAME_CHARS
from midfold.store.sqlite.store import SqliteStore
from midfold.testing import transcript

HUGE = 1 << 70
SURROGATE = "\ud800"


@pytest.mark.parametrize(
    ("session", "messages"),
    [("anthropic", "openai_chat"), ("openai_chat", "anthropic"), ("openai_responses", "sharegpt")],
)
def test_messages_of_another_dialect_are_refused(store: SqliteStore, session: str, messages: str) -> None:
    """Stored as they are, their calls would be no part of the history and not be found by their tool."""
    opened = store.create_session(dialect=session).id
    with pytest.raises(StoreError, match=f"in the dialect {session}, and these messages in {messages}"):
        store.append(opened, transcript(messages, seed=3, turns=6))
    assert store.messages(opened) == []


def test_words_that_anybody_could_have_written_fit_every_dialect(store: SqliteStore) -> None:
    session = store.create_session(dialect="anthropic").id
    assert store.append(session, {"role": "user", "content": "hello"}) == 0


def test_endless_names_are_cut_and_stay_different(store: SqliteStore) -> None:
    """Only messages count for a quota, so nothing else may grow for ever."""
    long = "x" * 5_000_000
    first = store.create_session(title=f"{long}1", source=f"{long}1", model=long)
    second = store.create_session(title=f"{long}2", source=f"{long}2")
    assert len(first.title or "") == len(first.source) == len(first.model or "") == MAX_NAME_CHARS
    assert first.title != second.title
    store.end_session(first.id, long)
    store.remember_summary(b"digest", "model", f"{long}1", {"text": "one"})
    assert store.recall_summary(b"digest", "model", f"{long}1") == {"text": "one"}
    assert store.recall_summary(b"digest", "model", f"{long}2") is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda store, _: store.sessions(source=SURROGATE),
        lambda store, _: store.create_session(session_id=SURROGATE),
        lambda store, _: store.session(SURROGATE),
        lambda store, _: store.messages(SURROGATE),
        lambda store, _: store.delete(SURROGATE),
        lambda store, _: store.sessions(limit=HUGE),
        lambda store, _: store.sessions(before=HUGE),
        lambda store, session: store.records(session, HUGE),
        lambda store, session: store.records(session, 0, HUGE),
        lambda store, _: store.search("harbour", since=HUGE),
        lambda store, _: store.calls(since=HUGE),
        lambda store, session: store.append(session, {"role": "user", "content": "x"}, tokens=[HUGE]),
    ],
)
def test_what_no_database_holds_is_refused_by_name(
    store: SqliteStore, ask: Callable[[SqliteStore, str], object]
) -> None:
    session = store.create_session(dialect="openai_chat").id
    with pytest.raises(StoreError):
        ask(store, session)
    assert store.append(session, {"role": "user", "content": "harbour"}) == 0


def test_a_message_is_found_by_its_first_words_however_long_it_is(store: SqliteStore) -> None:
    session = store.create_session(dialect="openai_chat").id
    text = "quay " + "harbour " * (MAX_INDEXED_CHARS // 8) + "lighthouse"
    store.append(session, {"role": "user", "content": text})
    assert store.search("quay").hits
    assert not store.search("lighthouse").hits
    assert store.find_substring(session, "lighthouse").hits
    assert store.check() == []
    store.delete(session)
    assert store.check() == []
