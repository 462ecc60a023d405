"""What an engine remembers of a conversation is kept with it, goes with it, and hides credentials."""

import sqlite3

import pytest

from midfold import faults
from midfold.engines import ContextCompressor
from midfold.errors import SessionNotFound, StoreError
from midfold.folding import CompressionPolicy, Strategy
from midfold.messages.digests import chain_digests
from midfold.store import SessionKind, open_store
from midfold.testing import transcript

TOKEN = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def rows(tmp_path):
    with sqlite3.connect(tmp_path / "store" / "sessions.db") as connection:
        return connection.execute("SELECT conversation, name, body FROM states ORDER BY 1, 2").fetchall()


def test_a_state_is_found_again_by_its_name_from_every_session_of_the_chain(store, talk, fold):
    first = store.create_session(dialect="openai_chat").id
    messages = talk()
    store.append(first, messages)
    store.save_state(first, "compression", {"pins": ["Only metric units."], "count": 0})
    result = fold(messages)
    child = store.continue_session(first, result.messages, result)
    assert store.load_state(child, "compression") == {"pins": ["Only metric units."], "count": 0}
    store.save_state(child, "compression", {"count": 1})
    assert store.load_state(first, "compression") == {"count": 1}
    assert store.load_state(first, "other") is None


def test_a_state_without_a_value_is_forgotten(store, tmp_path):
    session = store.create_session().id
    store.save_state(session, "compression", {"count": 1})
    store.save_state(session, "compression", None)
    assert store.load_state(session, "compression") is None
    assert rows(tmp_path) == []


def test_nothing_is_kept_of_a_conversation_that_is_not_there(store, tmp_path):
    with pytest.raises(SessionNotFound):
        store.save_state("nobody", "compression", {})
    with pytest.raises(SessionNotFound):
        store.load_state("nobody", "compression")
    with pytest.raises(StoreError, match="name"):
        store.save_state(store.create_session().id, "a\0b", {})
    assert rows(tmp_path) == []


@pytest.mark.parametrize("how", ["delete", "prune"])
def test_states_go_with_their_conversation_and_no_other(store, clock, tmp_path, how):
    gone, below = store.create_session().id, None
    below = store.create_session(parent_id=gone, kind=SessionKind.SUBAGENT).id
    for session in (gone, below):
        store.save_state(session, "compression", {"count": 1})
    limit = clock()
    other = store.create_session().id
    store.save_state(other, "compression", {"count": 2})
    if how == "delete":
        store.delete(gone)
    else:
        store.prune(older_than=limit)
    assert [conversation for conversation, _, _ in rows(tmp_path)] == [other]


def test_credentials_in_a_state_are_hidden(store, tmp_path):
    session = store.create_session().id
    store.save_state(session, "compression", {"pins": [f"The key is {TOKEN}."]})
    assert TOKEN not in rows(tmp_path)[0][2]
    assert TOKEN.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "store").iterdir())


def test_a_branch_starts_with_what_its_parent_remembered_and_goes_its_own_way(store):
    parent = store.create_session().id
    store.append(parent, {"role": "user", "content": "hello"})
    store.save_state(parent, "compression", {"pins": ["Only metric units."]})
    branch = store.create_session(parent_id=parent, kind=SessionKind.BRANCH).id
    assert store.load_state(branch, "compression") == {"pins": ["Only metric units."]}
    store.save_state(branch, "compression", {"pins": []})
    assert store.load_state(parent, "compression") == {"pins": ["Only metric units."]}
    below = store.create_session(parent_id=parent, kind=SessionKind.SUBAGENT).id
    assert store.load_state(below, "compression") is None


def test_a_fold_and_the_state_after_it_are_written_together(store, talk, fold):
    session = store.create_session(dialect="openai_chat").id
    messages = talk()
    store.append(session, messages)
    result = fold(messages)
    store.continue_session_result(session, result.messages, result, states={"compression": {"count": 1}})
    assert store.load_state(session, "compression") == {"count": 1}


def test_a_fold_that_fails_leaves_the_state_as_it_was(store, talk, fold):
    session = store.create_session(dialect="openai_chat").id
    messages = talk()
    store.append(session, messages)
    store.save_state(session, "compression", {"count": 0})
    result = fold(messages)
    faults.arm("store.continue.linked:raise")
    try:
        with pytest.raises(StoreError):
            store.continue_session_result(
                session, result.messages, result, states={"compression": {"count": 1}}
            )
    finally:
        faults.arm(None)
    assert store.load_state(session, "compression") == {"count": 0}
    assert store.folds(session) == []


def test_tenants_do_not_see_one_anothers_states(store):
    session = store.create_session().id
    store.save_state(session, "compression", {"count": 1})
    with pytest.raises(SessionNotFound):
        store.for_tenant("other").load_state(session, "compression")


def test_a_conversation_has_one_key_before_and_after_it_is_stored_and_over_its_branches(store, tmp_path):
    key = store.conversation_key("chosen-id")
    session = store.create_session(session_id="chosen-id").id
    assert store.conversation_key(session) == key
    assert len(key) == 32
    branch = store.create_session(parent_id=session, kind=SessionKind.BRANCH).id
    assert store.conversation_key(branch) == key
    assert store.conversation_key(store.create_session().id) != key
    assert store.for_tenant("other").conversation_key("chosen-id") != key


def test_without_redaction_there_is_a_key_all_the_same(tmp_path):
    with open_store(tmp_path / "plain.db", redact=False) as store:
        assert len(store.conversation_key("any")) == 32


def secret_session():
    """A session with credentials in results that are folded, and in a long one that is only cut short."""
    items = transcript("openai_chat", turns=40, result_chars=2_500)
    results = [index for index, item in enumerate(items) if item["role"] == "tool"]
    for index in results[:: len(results) // 6]:
        words = f"GITHUB_TOKEN={TOKEN}\npassword: hunter2hunter2\n{items[index]['content']}"
        items[index] = {**items[index], "content": words}
    last = results[-1]
    line = f"deploy with {TOKEN} and wait\n"
    items[last] = {**items[last], "content": line * 3 + "error: it failed\n" * 600 + line * 600}
    return items


@pytest.mark.parametrize("strategy", list(Strategy))
def test_the_fold_that_is_stored_is_the_fold_that_was_sent(store, strategy):
    items = secret_session()
    session = store.create_session(dialect="openai_chat").id
    store.append(session, items)
    engine = ContextCompressor(
        30_000, policy=CompressionPolicy(strategy=strategy), key=store.conversation_key(session)
    )
    result = engine.compress_result(items)
    assert result.fold is not None
    if strategy is not Strategy.PRUNE:  # which leaves the tail alone
        assert max(edit.index for edit in result.fold.edits) >= len(items) - 3
    assert TOKEN not in str(result.fold)
    child = store.continue_session(session, result.messages, result)
    found = store.find_fold(chain_digests(result.before))
    assert found is not None
    assert found.fold == result.fold
    made = [record.item for record in store.records(child) if record.origin != "said"]
    assert made
    assert all(item in result.messages for item in made)
