"""The order within a conversation is a number of its own: row ids may be anything."""

import gzip
import json
from pathlib import Path

import pytest

from midfold.errors import SchemaTooNew
from midfold.store import SessionKind, open_store
from midfold.store.sqlite.driver import driver
from midfold.store.sqlite.rescue.salvage import salvage

DATABASES = Path(__file__).parent / "databases"
FACTS = json.loads(gzip.decompress((DATABASES / "schema-2.json.gz").read_bytes()))


@pytest.fixture
def old(tmp_path):
    """A database of schema 2, written by its own code: folds, one taken back, a branch of a branch, a list
    that its host had edited, and a sub-agent."""
    path = tmp_path / "sessions.db"
    path.write_bytes(gzip.decompress((DATABASES / "schema-2.db.gz").read_bytes()))
    return path


def turn_row_ids_round(path):
    """Number all messages backwards, as a copy might."""
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute("UPDATE messages SET id = -id")
    connection.execute("UPDATE messages SET id = id + 100000")
    connection.close()


def check(store):
    for session, said in FACTS["views"].items():
        assert store.messages(session) == said
    for session, places in FACTS["histories"].items():
        assert [[each.session_id, each.seq] for each in store.history(session)] == places
        assert store.count_history(session) == len(places)
    for session, tip in FACTS["tips"].items():
        assert store.get_compression_tip(session) == tip
    for session, found in FACTS["found"].items():
        for word, places in found.items():
            hits = store.search(word, session_id=session).hits
            # What is found does not hang on row ids; that the newest hit comes first does, in the index.
            assert sorted([hit.session_id, hit.seq] for hit in hits) == sorted(places), (session, word)


def test_a_database_of_schema_2_says_what_it_said(old):
    with open_store(old, synchronous="NORMAL") as store:
        check(store)
        assert store.check() == []


def test_histories_and_branches_ask_no_row_id(old):
    open_store(old, synchronous="NORMAL").close()
    turn_row_ids_round(old)
    with open_store(old, synchronous="NORMAL") as store:
        store.rebuild_index()
        check(store)
        assert store.check() == []


def test_a_conversation_goes_on_behind_all_that_was_written_in_it(old):
    open_store(old, synchronous="NORMAL").close()
    turn_row_ids_round(old)
    with open_store(old, synchronous="NORMAL") as store:
        tip = FACTS["tips"]["first"]
        before = [each.item for each in store.history(tip)]
        word = {"role": "user", "content": "one more: thylacine"}
        store.append(tip, word)
        branch = store.create_session(parent_id=tip, kind=SessionKind.BRANCH).id
        store.append(tip, {"role": "user", "content": "not on the branch"})
        back = store.undo_continuation(tip)
        store.append(back, {"role": "user", "content": "and on"})
        store.rebuild_index()
        assert [each.item for each in store.history(branch)] == [*before, word]
        last = [each.item["content"] for each in store.history(back)[-3:]]
        assert last == ["one more: thylacine", "not on the branch", "and on"]
        assert store.check() == []


def test_a_rescue_puts_what_it_saves_in_its_order(old, tmp_path):
    turn_row_ids_round(old)
    fresh = tmp_path / "fresh.db"
    assert salvage(old, fresh).is_whole
    with open_store(fresh, synchronous="NORMAL") as store:
        check(store)
        assert store.check() == []


def test_a_rescue_of_todays_schema_does_so_too(old, tmp_path):
    open_store(old, synchronous="NORMAL").close()
    fresh = tmp_path / "fresh.db"
    assert salvage(old, fresh).is_whole
    with open_store(fresh, synchronous="NORMAL") as store:
        check(store)
        assert store.check() == []


def test_sessions_that_overlap_are_told(old):
    open_store(old, synchronous="NORMAL").close()
    connection = driver.connect(str(old), isolation_level=None)
    connection.execute("UPDATE sessions SET first_position = 0 WHERE kind = 'continuation'")
    connection.close()
    with open_store(old, synchronous="NORMAL") as store:
        assert any("follow" in problem.text for problem in store.check())


def test_a_later_schema_is_refused(old):
    open_store(old, synchronous="NORMAL").close()
    connection = driver.connect(str(old), isolation_level=None)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(SchemaTooNew):
        open_store(old)
