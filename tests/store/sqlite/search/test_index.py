"""The index and the messages stay in step, and an index that is lost is made again."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from midfold.search import index_terms
from midfold.store.sqlite import index


def words_in(shelf):
    shelf.connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, message_words, 'row')")
    found = shelf.connection.execute("SELECT term FROM temp.words ORDER BY term").fetchall()
    shelf.connection.execute("DROP TABLE temp.words")
    return [term for (term,) in found]


def fill(shelf):
    return [shelf.say(f"message {number} says fooBar 安装 and more") for number in range(300)]


def problems(shelf):
    return [*index.check(shelf.connection), *index.check_words(shelf.connection)]


def test_an_index_that_is_right_has_no_problems(shelf):
    assert problems(shelf) == []
    fill(shelf)
    assert problems(shelf) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(texts=st.lists(st.text(st.characters()), max_size=4))
def test_what_is_removed_leaves_nothing_behind(shelf, texts):
    rowids = [shelf.say(text) for text in texts]
    for rowid, text in zip(rowids, texts, strict=True):
        index.remove(shelf.connection, rowid, index_terms([text]))
        shelf.connection.execute("DELETE FROM messages WHERE id = ?", (rowid,))
    assert words_in(shelf) == []
    assert problems(shelf) == []


@pytest.mark.parametrize("others", [1, 3_000])
def test_words_of_removed_messages_are_gone_from_the_file_after_a_purge(shelf, others):
    rowid = shelf.say("kept needle4711")
    for number in range(others):
        shelf.say(f"kept {number:x} {number * 7919:x}")
    index.remove(shelf.connection, rowid, index_terms(["kept needle4711"]))
    index.want_purge(shelf.connection)
    while index.purge_some(shelf.connection):
        pass
    blocks = shelf.connection.execute("SELECT block FROM message_words_data").fetchall()
    assert not any(b"eedle4711" in bytes(block) for (block,) in blocks)


def test_messages_and_entries_without_one_another_are_noticed(shelf):
    first, *_ = fill(shelf)
    shelf.connection.execute("DELETE FROM messages WHERE id = ?", (first,))
    assert problems(shelf) == ["the search index has 1 entries without a message"]
    shelf.say("unindexed", origin="said")
    shelf.connection.execute("INSERT INTO message_words (message_words) VALUES ('delete-all')")
    assert index.rebuild(shelf.connection) == 300
    assert problems(shelf) == []


def test_an_index_of_another_version_is_noticed_and_rebuilt(shelf):
    fill(shelf)
    shelf.connection.execute("UPDATE meta SET value = 0 WHERE name = 'search_index_version'")
    assert not index.is_current(shelf.connection)
    assert problems(shelf) == ["the search index was made by another version"]
    index.rebuild(shelf.connection)
    assert index.is_current(shelf.connection)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE message_words_data SET block = zeroblob(4000)",
        "UPDATE message_words_data SET block = x'00ff' WHERE id = 10",
        "DELETE FROM message_words_data",
        "DELETE FROM message_words_docsize WHERE id % 2",
        "UPDATE message_words_config SET v = 99",
        "DELETE FROM message_words_config",
        "DROP TABLE message_words_idx",
        "DROP TABLE message_words_config",
    ],
)
def test_a_damaged_index_is_noticed_and_made_again_from_the_messages(shelf, tmp_path, damage):
    ids = fill(shelf)
    before = shelf.connection.execute("SELECT * FROM messages").fetchall()
    shelf.connection.execute(damage)
    path = tmp_path / "damaged.db"
    shelf.connection.execute("VACUUM INTO ?", (str(path),))
    shelf.connection.close()
    shelf.connection = type(shelf.connection)(str(path), isolation_level=None)
    assert _notices(shelf)
    shelf.connection.execute("BEGIN")
    assert index.rebuild(shelf.connection) == len(ids)
    shelf.connection.execute("COMMIT")
    assert problems(shelf) == []
    assert shelf.find("安装", limit=1_000) == ids[::-1]
    assert shelf.connection.execute("SELECT * FROM messages").fetchall() == before


def _notices(shelf):
    try:
        return bool(problems(shelf))
    except shelf.connection.DatabaseError:
        return True


def test_a_connection_that_only_reads_may_ask(shelf):
    fill(shelf)
    shelf.connection.execute("PRAGMA query_only = ON")
    assert problems(shelf) == []


def test_rebuilding_is_undone_with_the_transaction_it_is_part_of(shelf, monkeypatch):
    ids = fill(shelf)
    monkeypatch.setattr(index, "stored_texts", lambda _dialect, _body: [])
    shelf.connection.execute("BEGIN")
    index.rebuild(shelf.connection)
    assert shelf.find("message") == []
    shelf.connection.execute("ROLLBACK")
    assert shelf.find("message", limit=1_000) == ids[::-1]
