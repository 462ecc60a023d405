"""Keeps the index in step with the messages: every change to one is a change to both, in one transaction.

The index holds no texts, only words. To take a message out, its words are worked out again from what is
stored; so they must be the words that went in, and an index made by another version is rebuilt first.
"""

import sqlite3
from collections.abc import Iterator

from midfold.store.codec import DamagedRow
from midfold.store.search.words import INDEX_VERSION, WORD, index_words
from midfold.store.sqlite.guards import unguarded
from midfold.store.sqlite.seals import SEALED, is_sealed
from midfold.store.sqlite.search.scan import ReadTexts

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
    SELECT id, CAST(dialect AS BLOB), CAST(body AS BLOB), {SEALED}
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


def add(connection: sqlite3.Connection, rowid: int, words: str) -> None:
    """Index a message by what `index_words` gave for it."""
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
        return getattr(error, "sqlite_errorcode", 0) & 0xFF != _ANY_ERROR
    return True


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether the index was made by this version; a new database has to be told with `mark_current`."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (_VERSION,)).fetchone()
    return row is not None and row[0] == INDEX_VERSION


def mark_current(connection: sqlite3.Connection) -> None:
    """Note that this version made the index."""
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_VERSION, INDEX_VERSION))


def rebuild(connection: sqlite3.Connection, read_texts: ReadTexts) -> int:
    """Make the index anew from the messages, in the caller's transaction; return how many there are.

    A damaged index is thrown away whole. The messages are only read; a damaged one is found by no word.
    """
    _empty(connection)
    count = 0
    for rowid, dialect, body in connection.execute(_MESSAGES):
        add(connection, rowid, _words(dialect, body, read_texts))
        count += 1
    mark_current(connection)
    return count


def _words(dialect: bytes, body: bytes, read_texts: ReadTexts) -> str:
    """Return what a message is found by: nothing, where it is damaged."""
    try:
        return index_words(read_texts(dialect.decode(errors="replace"), body.decode(errors="replace")))
    except DamagedRow:
        return ""


def check(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield what is wrong with the index, a sentence each; rebuilding it mends all of it."""
    if not is_current(connection):
        yield "the search index was made by another version"
    try:
        connection.execute("INSERT INTO message_words (message_words, rank) VALUES ('integrity-check', 0)")
    except connection.DatabaseError as error:
        # A connection that only reads may not ask; newer versions of SQLite answer to PRAGMA integrity_check.
        if error.sqlite_errorcode & 0xFF != _READ_ONLY:
            yield f"the search index is damaged: {error}"
            return
    missing, surplus = connection.execute(_DIFFERENCES).fetchone()
    if missing:
        yield f"{missing} messages are not in the search index"
    if surplus:
        yield f"the search index has {surplus} entries without a message"


def check_words(connection: sqlite3.Connection, read_texts: ReadTexts) -> Iterator[str]:
    """Look up some messages, spread over all, by words of theirs; yield a sentence when some are not found.

    An index that lost its words can be perfectly sound as far as the database can tell.
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
        words = set(WORD.findall(_words(dialect, body, read_texts))) if is_sealed(sealed) else set()
        lost += not all(_holds(connection, rowid, word) for word in sorted(words, key=len)[-_SAMPLED_WORDS:])
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
        _tear_out(connection)
    connection.execute(definition)


def _tear_out(connection: sqlite3.Connection) -> None:
    """Take away an index that is too damaged to be opened, and so to be dropped."""
    with unguarded(connection):
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'message_words'")
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute("DROP TABLE IF EXISTS message_words_data")
        connection.execute("DROP TABLE IF EXISTS message_words_idx")
        connection.execute("DROP TABLE IF EXISTS message_words_docsize")
        connection.execute("DROP TABLE IF EXISTS message_words_config")
