"""Checks a database for damage: the same questions for the doctor and for tests of faults."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from midfold.messages import link, own_digest
from midfold.store.codec import DamagedRow, read_body, read_value
from midfold.store.fold_json import fold_from_json
from midfold.store.sqlite import index
from midfold.store.sqlite.checksums import CHECKED, LOST_CHECKSUM, is_fold_intact, is_intact
from midfold.store.sqlite.driver import any_text, driver, name_damage
from midfold.store.values import Area, Problem

_MANY_TIPS = """
    SELECT conversation, count(*) FROM sessions s WHERE undone_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM sessions c WHERE c.parent = s.key AND c.kind = 'continuation' AND c.undone_at IS NULL
    ) GROUP BY tenant, conversation HAVING count(*) <> 1
"""
_OVERLAPPING = """
    SELECT s.id, after.id FROM sessions s
    JOIN sessions after ON after.tenant = s.tenant AND after.conversation = s.conversation
    WHERE after.key > s.key AND after.first_position < s.first_position + s.next_seq
"""
_HALF_ENDED = """
    SELECT id FROM sessions s
    WHERE undone_at IS NULL AND (coalesce(end_reason, '') = 'compression') <> EXISTS (
        SELECT 1 FROM sessions c WHERE c.parent = s.key AND c.kind = 'continuation' AND c.undone_at IS NULL
    )
"""

_VALUES = (
    "SELECT system FROM sessions WHERE system IS NOT NULL",
    "SELECT facts FROM calls",
    "SELECT raw FROM calls",
    "SELECT facts FROM folds",
    "SELECT body FROM summaries",
    "SELECT body FROM states",
)


Check = Callable[[sqlite3.Connection], Iterator[Problem]]


def find_problems(connection: sqlite3.Connection, *, deep: bool = True) -> list[Problem]:
    """Look for damage in the file, the index, the messages and the chains; `deep` reads every message."""
    quick: list[Check] = [_check_file, _check_index, _check_sequences, _check_lineage, _check_ranges]
    with any_text(connection):
        return _run(connection, [*quick, _check_messages, _check_values] if deep else quick)


def find_damage(connection: sqlite3.Connection) -> list[Problem]:
    """Look for what only a fault of the disk, or somebody's hand, can have done."""
    with any_text(connection):
        return _run(connection, [_check_file, _check_index, _check_checksums, _check_values])


def find_index_problems(connection: sqlite3.Connection) -> list[Problem]:
    """Ask the index whether it is whole; in SQLite before 3.44 the connection must be one that writes."""
    return _run(connection, [_check_index])


def _run(connection: sqlite3.Connection, checks: Sequence[Check]) -> list[Problem]:
    problems: list[Problem] = []
    for check in checks:
        try:
            problems += check(connection)
        except (driver.Error, MemoryError, UnicodeDecodeError) as error:
            problems.append(Problem(Area.FILE, name_damage(error) or "memory ran out"))
        except (DamagedRow, TypeError, AttributeError) as error:
            problems.append(Problem(Area.MESSAGES, str(error)))
    return problems


def _check_file(connection: sqlite3.Connection) -> Iterator[Problem]:
    _refresh_index(connection)
    for (line,) in connection.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            area = Area.INDEX if "message_words" in line else Area.FILE
            yield Problem(area, line)
    for table, rowid, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield Problem(Area.MESSAGES, f"row {rowid} of {table} points to a missing row of {parent}")


def _refresh_index(connection: sqlite3.Connection) -> None:
    """Read in the index: what it remembers of before another process wrote would look like damage."""
    with suppress(driver.Error):  # real damage is reported by the checks
        connection.execute("SELECT rowid FROM message_words WHERE message_words MATCH 'midfold'").fetchone()


def _check_index(connection: sqlite3.Connection) -> Iterator[Problem]:
    try:
        for text in chain(index.check(connection), index.check_words(connection)):
            yield Problem(Area.INDEX, text)
    except (driver.Error, MemoryError, UnicodeDecodeError) as error:
        # Damage to the tables that the index is kept in is reported by the check of the file.
        yield Problem(Area.INDEX, f"the search index cannot be read: {name_damage(error)}")


def _check_sequences(connection: sqlite3.Connection) -> Iterator[Problem]:
    rows = connection.execute(
        "SELECT s.id, s.next_seq, count(m.id), coalesce(max(m.seq), -1), coalesce(min(m.seq), 0)"
        " FROM sessions s LEFT JOIN messages m ON m.tenant = s.tenant AND m.session = s.key GROUP BY s.key"
        " HAVING count(m.id) <> s.next_seq OR coalesce(max(m.seq), -1) <> s.next_seq - 1"
        " OR coalesce(min(m.seq), 0) <> 0"
    )
    for session_id, expected, count, last, first in rows:
        yield Problem(
            Area.MESSAGES,
            f"session {session_id} should have {expected} messages, and has {count}, {first} to {last}",
        )


def _check_lineage(connection: sqlite3.Connection) -> Iterator[Problem]:
    for conversation, count in connection.execute(_MANY_TIPS):
        yield Problem(Area.LINEAGE, f"conversation {conversation} has {count} newest sessions")
    for session_id, next_id in connection.execute(_OVERLAPPING):
        yield Problem(Area.LINEAGE, f"session {next_id} does not follow session {session_id}, as it must")
    for (session_id,) in connection.execute(_HALF_ENDED):
        yield Problem(Area.LINEAGE, f"session {session_id} ended by a fold without going on, or goes on open")


def _check_ranges(connection: sqlite3.Connection) -> Iterator[Problem]:
    rows = connection.execute(
        "SELECT s.id, r.position FROM ranges r JOIN sessions s ON s.key = r.session"
        " JOIN sessions o ON o.key = r.source"
        " WHERE r.stop > o.next_seq OR r.start >= r.stop OR r.tenant <> o.tenant OR r.tenant <> s.tenant"
    )
    for session_id, position in rows:
        yield Problem(
            Area.LINEAGE, f"range {position} of session {session_id} names messages that are not there"
        )


def _check_checksums(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Compare every message with the sum that was written with it."""
    rows = connection.execute(
        f"SELECT s.id, {CHECKED} FROM messages m LEFT JOIN sessions s ON s.key = m.session"  # noqa: S608
        " WHERE m.seal IS NOT NULL AND m.seal <> ?",
        (LOST_CHECKSUM,),
    )
    for session_id, *row in rows:
        if not is_intact(row):
            yield Problem(Area.MESSAGES, f"message {row[1]} of session {session_id} is not what was stored")


def _check_messages(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Compare messages with their sums, then work out again what their digests say."""
    damaged = list(_check_checksums(connection))
    yield from damaged
    if not damaged:
        yield from _check_chains(connection)


def _check_values(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Read every JSON value that is kept beside the messages."""
    for statement in _VALUES:
        for (value,) in connection.execute(statement):
            yield from _complain(read_value, value)
    for key, body, facts in connection.execute("SELECT key, body, facts FROM folds"):
        yield from _complain(fold_from_json, body)
        if not is_fold_intact(str(body), str(facts)):
            yield Problem(Area.MESSAGES, f"fold {key} is not what was stored")


def _complain(read: Callable[[str], object], value: str) -> Iterator[Problem]:
    try:
        read(value)
    except DamagedRow as error:
        yield Problem(Area.MESSAGES, str(error))


def _check_chains(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Work out digests again, where the message is stored as it was said."""
    rows = connection.execute(
        "SELECT s.id, m.session, m.seq, m.dialect, m.body, m.is_exact, m.digest,"
        " coalesce(m.chain, x''), m.seal, m.seq >= s.own_from FROM messages m"
        " JOIN sessions s ON s.key = m.session WHERE m.origin = 'said' ORDER BY m.session, m.seq"
    )
    session, before = None, b""
    for session_id, key, seq, dialect, body, is_exact, digest, chained, seal, is_own in rows:
        if seal == LOST_CHECKSUM:  # what comes behind a lost message is taken as it is
            session = None
            continue
        if is_exact and not _agrees(dialect, body, digest, before if key == session else None, chained):
            yield Problem(Area.MESSAGES, f"message {seq} of session {session_id} is not what was stored")
        # What a list said in other words is no link of its chain, and the first link follows another session.
        session, before = key if is_own else None, bytes(chained)


def _agrees(dialect: str, body: str, digest: bytes, before: bytes | None, chained: bytes) -> bool:
    try:
        message = read_body(dialect, body)
    except DamagedRow:
        return False
    follows = before is None or chained == link(before, digest, message.role)
    return follows and own_digest(message) == digest
