"""What is known of a history that a client sends again: which session goes on, and from which message."""

from collections.abc import Callable

from midfold.folding.compression import Compression
from midfold.messages import chain_digests
from midfold.store import KnownHistory
from midfold.store.sqlite.store import SqliteStore
from midfold.wire import parse


def say(role: str, words: str) -> dict[str, object]:
    return {"type": "message", "role": role, "content": words}


THOUGHT = {"type": "reasoning", "summary": [], "encrypted_content": "c2lnbmVk"}
ASKED = [say("developer", "Be brief."), say("user", "What is 6 times 7?")]


def known(store: SqliteStore, items: list[dict[str, object]]) -> KnownHistory | None:
    return store.find_history(chain_digests(parse(items, "openai_responses")))


def test_thinking_that_follows_what_is_known_is_new(store: SqliteStore) -> None:
    session = store.create_session(dialect="openai_responses").id
    store.append(session, ASKED)
    assert known(store, [*ASKED, THOUGHT, say("assistant", "42")]) == KnownHistory(session, 2)


def test_thinking_that_was_stored_last_is_known(store: SqliteStore) -> None:
    session = store.create_session(dialect="openai_responses").id
    store.append(session, [*ASKED, THOUGHT])
    assert known(store, [*ASKED, THOUGHT, say("assistant", "42")]) == KnownHistory(session, 3)
    assert known(store, [*ASKED, THOUGHT, THOUGHT, say("assistant", "42")]) == KnownHistory(session, 3)
    assert known(store, [*ASKED, say("assistant", "42")]) == KnownHistory(session, 2)


def test_a_history_that_goes_on_from_earlier_is_no_end(store: SqliteStore) -> None:
    session = store.create_session(dialect="openai_responses").id
    store.append(session, [*ASKED, say("assistant", "41"), say("user", "Sure?")])
    assert known(store, [*ASKED, say("assistant", "42")]) == KnownHistory(session, 2, is_end=False)


def test_of_two_that_know_the_same_the_one_that_ends_there_is_found(store: SqliteStore) -> None:
    first = store.create_session(dialect="openai_responses").id
    store.append(first, ASKED)
    second = store.create_session(dialect="openai_responses").id
    store.append(second, [*ASKED, say("assistant", "42")])
    assert known(store, ASKED) == KnownHistory(first, 2)


def test_thinking_that_another_branch_goes_on_with_is_not_known(store: SqliteStore) -> None:
    first = store.create_session(dialect="openai_responses").id
    store.append(first, [*ASKED, THOUGHT, say("assistant", "41")])
    second = store.create_session(dialect="openai_responses").id
    store.append(second, ASKED)
    assert known(store, [*ASKED, THOUGHT, say("assistant", "42")]) == KnownHistory(second, 2)


def in_chat(store: SqliteStore, items: list[object]) -> KnownHistory | None:
    return store.find_history(chain_digests(parse(items, "openai_chat")))


def test_a_client_that_rewords_its_system_prompt_is_known_after_a_fold(
    store: SqliteStore,
    talk: Callable[..., list[object]],
    fold: Callable[[list[object]], Compression[object]],
) -> None:
    session = store.create_session(dialect="openai_chat").id
    store.append(session, [{"role": "system", "content": "It is Monday."}, *talk(30)])
    reworded = [{"role": "system", "content": "It is Tuesday."}, *talk(30)]
    result = fold(reworded)
    child = store.continue_session(session, result.messages, result)
    assert in_chat(store, reworded) == KnownHistory(child, len(reworded))
    store.append(child, talk(1, start=30))
    assert in_chat(store, [reworded[0], *talk(31)]) == KnownHistory(child, 1 + len(talk(31)))
    assert store.check() == []


def test_what_a_host_folded_before_it_was_saved_is_known(
    store: SqliteStore,
    talk: Callable[..., list[object]],
    fold: Callable[[list[object]], Compression[object]],
) -> None:
    session = store.create_session(dialect="openai_chat").id
    store.append(session, [{"role": "system", "content": "It is Monday."}, *talk(28)])
    reworded = [{"role": "system", "content": "It is Tuesday."}, *talk(30)]
    result = fold(reworded)
    child = store.continue_session(session, result.messages, result)
    assert in_chat(store, reworded) == KnownHistory(child, len(reworded))
    assert store.messages(child) == result.messages
    assert store.messages(store.undo_continuation(child)) == reworded
    assert store.check() == []
