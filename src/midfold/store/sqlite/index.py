"""The search index: it follows the messages, and a batch of them costs a fraction of what each costs alone.

Messages behind the last indexed one wait for the index. They are added when the writer has nothing else to
do, along with large appends, and before a search: a search finds all, or says that it could not. The index
holds no texts, only the terms of each message. To take a message out, its terms are worked out again from
what is stored; so they must be the terms that went in, and an index made by another version is rebuilt first.
Terms of messages that are deleted go first, a part at a time; where that was cut off, they are put back.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence

from midfold.faults import faultpoint
from midfold.search import INDEX_VERSION, index_terms
from midfold.store.codec import DamagedRow, stored_texts
from midfold.store.sqlite.checksums import CHECKED, LOST_CHECKSUM, is_intact
from midfold.store.sqlite.driver import any_text, primary_code, unguarded

# What is indexed in one transaction, since others wait for it: some ten milliseconds of work.
MAX_MESSAGES = 500
_MAX_CHARS = 1 << 18
# A process that takes words out for longer than this without another part is gone.
_HOLE_SECONDS = 60.0

_INDEXED = f"SELECT {CHECKED} FROM messages m JOIN message_words_docsize USING (id) WHERE m.id = ?"  # noqa: S608
_WAITING = "FROM messages WHERE id > (SELECT coalesce(max(id), 0) FROM message_words_docsize)"
_VERSION = "search_index_version"
_PURGE = "search_index_purge"
_HOLES = "search_index_holes"
# Pages of the index that are written anew at a time: some ten milliseconds of work.
_PURGED_PAGES = 64
# Fewer than this are the command's own, and nothing was left to do.
_CHANGES_OF_A_MERGE = 2
_SAMPLED_MESSAGES = 200
_SAMPLED_WORDS = 3
_MESSAGES = "SELECT id, CAST(dialect AS BLOB), CAST(body AS BLOB) FROM messages ORDER BY id"
_SAMPLED = f"""
    SELECT id, CAST(dialect AS BLOB), CAST(body AS BLOB), {CHECKED}
    FROM messages m JOIN message_words_docsize USING (id)
"""  # noqa: S608 - constants only
_ANY_ERROR, _READ_ONLY = 1, 8  # SQLite's primary result codes
# The index keeps the length of every entry in a table of its own: what it has, without reading it. Messages
# behind the last of them are not missing; they wait for their turn. Nor are those that are being deleted.
_DIFFERENCES = """
    SELECT
        (SELECT count(*) FROM messages WHERE id <= (SELECT max(id) FROM message_words_docsize)
            AND id NOT IN (SELECT id FROM message_words_docsize)
            AND NOT EXISTS (SELECT 1 FROM meta WHERE name = 'search_index_holes')),
        (SELECT count(*) FROM message_words_docsize WHERE id NOT IN (SELECT id FROM messages))
"""


def is_behind(connection: sqlite3.Connection) -> bool:
    """Whether there are messages that are not in the index yet."""
    (found,) = connection.execute(f"SELECT EXISTS (SELECT 1 {_WAITING})").fetchone()
    return bool(found)


def tidy(connection: sqlite3.Connection) -> bool:
    """Do a part of what can wait; return whether there may be more."""
    return bool(catch_up(connection)) or _fill_holes(connection) or purge_some(connection)


def catch_up(connection: sqlite3.Connection) -> int:
    """Index some of the oldest messages that wait, in the caller's transaction; return how many."""
    count = chars = 0
    with any_text(connection):
        rows = connection.execute(f"SELECT id, dialect, body {_WAITING} ORDER BY id LIMIT ?", (MAX_MESSAGES,))
        for rowid, dialect, body in rows:
            add(connection, rowid, _words(dialect, body))
            count, chars = count + 1, chars + len(body)
            if chars >= _MAX_CHARS:
                break
        rows.close()
    if count:
        faultpoint("store.index.after")
    return count


def find_indexed(connection: sqlite3.Connection, tenant: str, session: int) -> list[int]:
    """Return the messages of a session that are in the index, by their ids."""
    rows = connection.execute(
        "SELECT id FROM messages JOIN message_words_docsize USING (id) WHERE tenant = ? AND session = ?",
        (tenant, session),
    )
    return [rowid for (rowid,) in rows]


def remove_messages(connection: sqlite3.Connection, messages: Iterable[int]) -> bool:
    """Take messages that are about to be deleted out of the index, as far as they are in it.

    Returns false where one is damaged: nobody knows its words any more, and once it is deleted the index has
    to be made anew. Nothing was taken out then.
    """
    words: list[tuple[int, str]] = []
    with any_text(connection):
        for rowid in messages:
            found = connection.execute(_INDEXED, (rowid,)).fetchone()
            if found is None:
                continue
            if found[-1] != LOST_CHECKSUM and not is_intact(found):
                return False
            words.append((rowid, _words(*found[-3:-1])))
    for rowid, indexed in words:
        remove(connection, rowid, indexed)
    want_purge(connection)
    return True


def remove_before(connection: sqlite3.Connection, messages: Sequence[int]) -> None:
    """Take messages out that another transaction deletes; should it never come, they are put back."""
    if remove_messages(connection, messages):
        note_holes(connection, time.time())
    faultpoint("store.delete.unindexed")


def _fill_holes(connection: sqlite3.Connection) -> bool:
    """Put some of those back that were taken out and not deleted; return whether there may be more."""
    made_at = find_holes(connection)
    if made_at is None or abs(time.time() - made_at) < _HOLE_SECONDS:
        return False
    rows = connection.execute(
        "SELECT id, dialect, body FROM messages WHERE id <= (SELECT max(id) FROM message_words_docsize)"
        " AND id NOT IN (SELECT id FROM message_words_docsize) LIMIT ?",
        (MAX_MESSAGES,),
    ).fetchall()
    for rowid, dialect, body in rows:
        add(connection, rowid, _words(dialect, body))
    if not rows:
        close_holes(connection)
    return bool(rows)


def add(connection: sqlite3.Connection, rowid: int, words: str) -> None:
    """Index a message by what `index_terms` gave for it."""
    connection.execute("INSERT INTO message_words (rowid, words) VALUES (?, ?)", (rowid, words))


def remove(connection: sqlite3.Connection, rowid: int, words: str) -> None:
    """Take a message out; `words` are the ones it was indexed by. They stay in the file until a purge."""
    connection.execute(
        "INSERT INTO message_words (message_words, rowid, words) VALUES ('delete', ?, ?)", (rowid, words)
    )


def want_purge(connection: sqlite3.Connection) -> None:
    """Note that the words of removed messages are still in the file."""
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, 1)", (_PURGE,))


def purge_some(connection: sqlite3.Connection) -> bool:
    """Drop a part of what removed messages left behind, if they did; return whether there may be more.

    To let the index overwrite each word as it is removed would take a hundred times as long.
    """
    if connection.execute("SELECT 1 FROM meta WHERE name = ?", (_PURGE,)).fetchone() is None:
        return False
    before = connection.total_changes
    # A negative number asks for everything to be merged into one, which is what drops the words.
    connection.execute(
        "INSERT INTO message_words (message_words, rank) VALUES ('merge', ?)", (-_PURGED_PAGES,)
    )
    if connection.total_changes - before >= _CHANGES_OF_A_MERGE:
        return True
    connection.execute("DELETE FROM meta WHERE name = ?", (_PURGE,))
    return False


def note_holes(connection: sqlite3.Connection, now: float) -> None:
    """Note that messages were taken out which are not deleted yet."""
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_HOLES, now))


def find_holes(connection: sqlite3.Connection) -> float | None:
    """Return when messages were taken out that may still be there."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (_HOLES,)).fetchone()
    return None if row is None else float(row[0])


def close_holes(connection: sqlite3.Connection) -> None:
    """Note that every message is where it should be."""
    connection.execute("DELETE FROM meta WHERE name = ?", (_HOLES,))


def is_readable(connection: sqlite3.Connection) -> bool:
    """Whether this SQLite can read the index; a later one may have written it in a newer format.

    One that is damaged is another matter: whether the file is sound has to be known before it is written to.
    """
    try:
        connection.execute("SELECT rowid FROM message_words WHERE message_words MATCH 'midfold'").fetchone()
    except (connection.DatabaseError, MemoryError) as error:
        return primary_code(error) != _ANY_ERROR
    return True


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether the index was made by this version; a new database has to be marked with `mark_current`."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (_VERSION,)).fetchone()
    return row is not None and row[0] == INDEX_VERSION


def mark_current(connection: sqlite3.Connection) -> None:
    """Note that this version made the index."""
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_VERSION, INDEX_VERSION))


def rebuild(connection: sqlite3.Connection) -> int:
    """Make the index anew from the messages, in the caller's transaction; return how many there are.

    A damaged index is thrown away whole. The messages are only read; a damaged one is found by no word.
    """
    _empty(connection)
    count = 0
    for rowid, dialect, body in connection.execute(_MESSAGES):
        add(connection, rowid, _words(dialect.decode(errors="replace"), body.decode(errors="replace")))
        count += 1
    mark_current(connection)
    return count


def _words(dialect: object, body: object) -> str:
    """Return what a message is found by: nothing, where it is damaged."""
    try:
        return index_terms(stored_texts(str(dialect), str(body)))
    except DamagedRow:
        return ""


def check(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield what is wrong with the index, a sentence each; rebuilding it repairs all of it."""
    if not is_current(connection):
        yield "the search index was made by another version"
    try:
        connection.execute("INSERT INTO message_words (message_words, rank) VALUES ('integrity-check', 0)")
    except connection.DatabaseError as error:
        # A connection that only reads may not ask; newer versions of SQLite answer to PRAGMA integrity_check.
        if primary_code(error) != _READ_ONLY:
            yield f"the search index is damaged: {error}"
            return
    missing, surplus = connection.execute(_DIFFERENCES).fetchone()
    if missing:
        yield f"{missing} messages are not in the search index"
    if surplus:
        yield f"the search index has {surplus} entries without a message"


def check_words(connection: sqlite3.Connection) -> Iterator[str]:
    """Look up some messages, spread over all, by words of theirs; yield a sentence when some are not found.

    An index that lost its words can be perfectly sound as far as the database knows.
    """
    (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM message_words_docsize").fetchone()
    step = newest // _SAMPLED_MESSAGES + 1
    lost = 0
    for at in range(0, newest, step):
        found = connection.execute(
            f"{_SAMPLED} WHERE id > ? AND id <= ? ORDER BY id LIMIT 1", (at, newest)
        ).fetchone()
        if found is None:
            break
        rowid, dialect, body, *sealed = found
        text = _words(dialect.decode(errors="replace"), body.decode(errors="replace"))
        words = text.split() if is_intact(sealed) else []
        lost += not all(
            _holds(connection, rowid, word) for word in sorted(set(words), key=len)[-_SAMPLED_WORDS:]
        )
    if lost:
        yield f"{lost} of {len(range(0, newest, step))} messages are not found by their words"


def _holds(connection: sqlite3.Connection, rowid: int, word: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM message_words WHERE message_words MATCH ? AND rowid = ?", (f'"{word}"', rowid)
    )
    return found.fetchone() is not None


def _empty(connection: sqlite3.Connection) -> None:
    [(definition,)] = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'message_words'")
    try:
        connection.execute("DROP TABLE message_words")
    except connection.DatabaseError:
        _drop_damaged(connection)
    connection.execute(definition)


def _drop_damaged(connection: sqlite3.Connection) -> None:
    """Remove an index that is too damaged to be opened, and so to be dropped by name."""
    with unguarded(connection):
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'message_words'")
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute("DROP TABLE IF EXISTS message_words_data")
        connection.execute("DROP TABLE IF EXISTS message_words_idx")
        connection.execute("DROP TABLE IF EXISTS message_words_docsize")
        connection.execute("DROP TABLE IF EXISTS message_words_config")
