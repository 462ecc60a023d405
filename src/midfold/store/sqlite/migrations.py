"""Brings a file to the schema of this version: numbered steps, each in one transaction with its number.

SQL files have the statements of each step; what SQL alone cannot do is here. Schema 2: a chain begins behind
the system prompt, and a fold names its parts by what digests cover. Own digests stay as they are, so that
what was said before credentials were hidden is still recognised; all that is made of them is worked out
again. Schema 3: messages have an order of their own within a conversation, which no row id has a part in.
Schema 4: another index of words, which is filled later.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from midfold.errors import SchemaTooNew, StoreUnavailable
from midfold.faults import faultpoint
from midfold.folding import Edit, Fold, Insert, Span, replace_spans
from midfold.late_dataclasses import dataclass
from midfold.messages import (
    EMPTY_CHAIN,
    PARTS,
    SYSTEM_ROLES,
    Message,
    MessageDigest,
    Part,
    Text,
    link,
    own_digest,
)
from midfold.store.codec import DamagedRow, pack_exact, read_body, read_value
from midfold.store.fold_json import fold_to_json
from midfold.store.sqlite.checksums import add_checksum
from midfold.store.sqlite.driver import APPLICATION_ID, roll_back
from midfold.wire import parse, render

# The first schema named parts by their classes.
_OLD_PARTS = {kind.__name__: kind for kind in PARTS.values()}
_OLD_FIELDS = frozenset({"spans", "at", "summary", "edits", "inserts"})
# The messages that a session began with, in order; those that a fold made are among them.
_VIEW = """
    SELECT m.id, m.digest, m.role, m.dialect FROM ranges r CROSS JOIN messages m
        ON m.tenant = r.tenant AND m.session = r.source AND m.seq >= r.start AND m.seq < r.stop
    WHERE r.tenant = ?1 AND r.session = ?2
    ORDER BY r.position, m.seq
"""
_OWN = """
    SELECT m.id, m.digest, m.role, m.dialect FROM messages m JOIN sessions s ON s.key = m.session
    WHERE m.tenant = ?1 AND m.session = ?2 AND m.seq >= s.own_from ORDER BY m.seq
"""
# The newest message that a branch took over says how much of its parent was said by then.
_SAID_BEFORE_BRANCH = """
    SELECT m.chain FROM sessions s JOIN messages m ON m.tenant = s.tenant AND m.session = s.key
    WHERE s.tenant = ?1 AND s.conversation = ?2 AND m.origin = 'said' AND m.id <= (
        SELECT max(t.id) FROM ranges r CROSS JOIN messages t
            ON t.tenant = r.tenant AND t.session = r.source AND t.seq = r.stop - 1
        WHERE r.tenant = ?1 AND r.session = ?3
    )
    ORDER BY m.id DESC LIMIT 1
"""
_SESSIONS = """
    SELECT key, tenant, conversation, next_seq, first_position FROM sessions
    ORDER BY tenant, conversation, key
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step, from the version before it to `version`."""

    version: int
    statements: tuple[str, ...]
    upgrade: Callable[[sqlite3.Connection], None] | None = None
    """what SQL alone cannot do, after the statements"""


def migrate(connection: sqlite3.Connection) -> int:
    """Apply what is missing and return the version; a killed run leaves the old version or the new one.

    Raises `SchemaTooNew` for a file that a later version wrote.
    """
    for step in load_migrations():
        if _version_of(connection) < step.version:
            _apply(connection, step)
    check_version(connection)
    return _version_of(connection)


def check_version(connection: sqlite3.Connection) -> None:
    """Raise `SchemaTooNew` for a later version, `StoreUnavailable` for one not brought up to date yet."""
    newest = load_migrations()[-1].version
    found = _version_of(connection)
    if found > newest:
        raise SchemaTooNew(found, newest)
    if found < newest:
        raise StoreUnavailable(f"it has schema {found} and cannot be brought to {newest} for now")


@cache
def load_migrations() -> tuple[Migration, ...]:
    """Read the numbered SQL files that come with the package."""
    folder = files("midfold.store.sqlite") / "sql"
    found = sorted(
        (each for each in folder.iterdir() if each.name.endswith(".sql")), key=lambda each: each.name
    )
    return tuple(
        Migration(
            int(each.name[:4]), split_statements(each.read_text("utf-8")), _UPGRADES.get(int(each.name[:4]))
        )
        for each in found
    )


def split_statements(text: str) -> tuple[str, ...]:
    """Split a script at semicolons; comments go. Our scripts hold no text with a semicolon in it."""
    bare = re.sub(r"--[^\n]*", "", text)
    return tuple(statement.strip() for statement in bare.split(";") if statement.strip())


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _apply(connection: sqlite3.Connection, step: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited for the lock.
        if _version_of(connection) < step.version:
            for statement in step.statements:
                faultpoint("store.migrate.statement")
                connection.execute(statement)
            if step.upgrade is not None:
                step.upgrade(connection)
                faultpoint("store.migrate.upgraded")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {step.version}")
        faultpoint("store.migrate.before_commit")
        connection.execute("COMMIT")
        faultpoint("store.migrate.after_commit")
    except BaseException:
        roll_back(connection)
        raise


def upgrade_to_2(connection: sqlite3.Connection) -> None:
    """Work out all chains and folds of a store of the first schema again."""
    _digest_what_folds_made(connection)
    _chain_sessions(connection)
    for key, count in _begun_by_folds(connection):
        _set_base(connection, key, count)
    for row in connection.execute("SELECT key, tenant, session, body, facts FROM folds").fetchall():
        _rewrite_fold(connection, _StoredFold(*row))
    # What was paid for is kept by a digest of another form; such summaries live for a day.
    connection.execute("DELETE FROM summaries")


def has_old_folds(connection: sqlite3.Connection) -> bool:
    """Whether there are folds of the first schema: what says its number may have been damaged."""
    found = connection.execute("SELECT 1 FROM folds WHERE body NOT LIKE '{\"version\":%' LIMIT 1")
    return found.fetchone() is not None


def read_old_fold(body: str) -> Mapping[str, Any]:
    """Return a fold of the first schema as it is stored. Raises `DamagedRow` when it is none."""
    value = read_value(body)
    if not isinstance(value, dict) or not value.keys() >= _OLD_FIELDS:
        raise DamagedRow("a stored fold cannot be read")
    return value


def _digest_what_folds_made(connection: sqlite3.Connection) -> None:
    """Digest summaries, copies and stubs as they are read from the store, which is what is sent."""
    rows = connection.execute("SELECT id, dialect, body FROM messages WHERE origin <> 'said'").fetchall()
    for key, dialect, body in rows:
        try:
            digest = own_digest(read_body(dialect, body))
        except DamagedRow:
            continue
        connection.execute("UPDATE messages SET digest = ? WHERE id = ?", (digest, key))


def _chain_sessions(connection: sqlite3.Connection) -> None:
    """Chain what was said, conversation by conversation."""
    newest: dict[tuple[str, str], bytes] = {}
    first: dict[tuple[str, str], bytes] = {}
    rows = connection.execute(
        "SELECT s.key, s.tenant, s.conversation, s.kind, p.conversation FROM sessions s"
        " LEFT JOIN sessions p ON p.key = s.parent ORDER BY s.key"
    ).fetchall()
    for key, tenant, conversation, kind, parent in rows:
        name = (tenant, conversation)
        # Sessions of one conversation follow one another, whether a fold was taken back or not.
        chained = newest.get(name)
        if chained is None:
            chained = EMPTY_CHAIN
            if kind == "branch" and parent is not None:
                chained = _chain_before_branch(connection, tenant, parent, key, first)
            first[name] = chained
        newest[name] = _chain_session(connection, tenant, key, chained)


def _chain_before_branch(
    connection: sqlite3.Connection,
    tenant: str,
    parent: str,
    key: int,
    first: Mapping[tuple[str, str], bytes],
) -> bytes:
    row = connection.execute(_SAID_BEFORE_BRANCH, (tenant, parent, key)).fetchone()
    if row is None:
        return first.get((tenant, parent), EMPTY_CHAIN)
    return bytes(row[0] or EMPTY_CHAIN)


def _chain_session(connection: sqlite3.Connection, tenant: str, key: int, chained: bytes) -> bytes:
    rows = connection.execute(
        "SELECT id, digest, role FROM messages"
        " WHERE tenant = ? AND session = ? AND origin = 'said' ORDER BY seq",
        (tenant, key),
    ).fetchall()
    links = []
    for message, digest, role in rows:
        chained = link(chained, bytes(digest), role)
        links.append((chained or None, message))
    connection.executemany("UPDATE messages SET chain = ? WHERE id = ?", links)
    connection.execute("UPDATE sessions SET last_chain = ? WHERE key = ?", (chained, key))
    return chained


def _begun_by_folds(connection: sqlite3.Connection) -> Iterator[tuple[int, int | None]]:
    """Yield the sessions that a fold opened, and how many messages the fold left."""
    for child, facts in connection.execute("SELECT child, facts FROM folds").fetchall():
        yield child, _whole(_facts(facts).get("messages_after"))


def _set_base(connection: sqlite3.Connection, key: int, count: int | None) -> None:
    (tenant,) = connection.execute("SELECT tenant FROM sessions WHERE key = ?", (key,)).fetchone()
    rows = connection.execute(_VIEW, (tenant, key)).fetchall()[:count]
    digests = _digests(rows)
    base = digests[-1].chained if digests else EMPTY_CHAIN
    connection.execute("UPDATE sessions SET base_digest = ? WHERE key = ?", (base, key))


def _digests(rows: Sequence[tuple[Any, ...]]) -> list[MessageDigest]:
    digests, chained = [], EMPTY_CHAIN
    for _, digest, role, _ in rows:
        chained = link(chained, bytes(digest), role)
        digests.append(MessageDigest(bytes(digest), chained))
    return digests


@dataclass(frozen=True, slots=True)
class _StoredFold:
    key: int
    tenant: str
    session: int
    body: str
    facts: str


def _rewrite_fold(connection: sqlite3.Connection, stored: _StoredFold) -> None:
    """Write a fold anew; one that cannot be read stays as it is, and is found by nobody."""
    count = _whole(_facts(stored.facts).get("messages_before"))
    rows = connection.execute(_VIEW, (stored.tenant, stored.session)).fetchall()
    rows = [*rows, *connection.execute(_OWN, (stored.tenant, stored.session)).fetchall()][:count]
    try:
        fold = _read_fold(connection, read_old_fold(stored.body), rows)
        fold = fold.identified([Message(role, ()) for _, _, role, _ in rows], _digests(rows))
    except (DamagedRow, KeyError, TypeError, ValueError, IndexError):
        return
    body = add_checksum(pack_exact(fold_to_json(fold), None), stored.facts)
    connection.execute(
        "UPDATE folds SET body = ?, prefix_digest = ? WHERE key = ?", (body, fold.prefix_digest, stored.key)
    )


def _read_fold(
    connection: sqlite3.Connection, value: Mapping[str, Any], rows: Sequence[tuple[Any, ...]]
) -> Fold:
    """Read a fold as the first schema wrote it: one summary at one index, parts by their position."""
    edits: list[Edit] = []
    note = None
    for each in value["edits"]:
        index, parts = each["index"], [(position, _read_part(part)) for position, part in each["parts"]]
        role = rows[index][2]
        if role in SYSTEM_ROLES and all(row[2] in SYSTEM_ROLES for row in rows[:index]):
            note = next((part.text for _, part in parts if isinstance(part, Text)), note)
            continue
        edits.append(Edit.at(index, _read_message(connection, rows[index]), parts))
    summary = value["summary"]
    made = None
    if summary is not None:
        made = Message(summary["role"], tuple(map(_read_part, summary["parts"])))
    inserts = [
        Insert(after, message)
        for after, stub in value["inserts"]
        for message in _read_stub(stub, rows[after][3])
    ]
    return Fold(
        replacements=replace_spans([Span(start, stop) for start, stop in value["spans"]], value["at"], made),
        edits=tuple(edits),
        inserts=tuple(inserts),
        note=note,
    )


def _read_stub(value: Mapping[str, Any], dialect: str) -> list[Message]:
    """Return the results of calls that never got one as they are read once they were sent."""
    results = Message(value["role"], tuple(map(_read_part, value["parts"])))
    return [Message(each.role, each.parts) for each in parse(render([results], dialect), dialect)]


def _read_message(connection: sqlite3.Connection, row: tuple[Any, ...]) -> Message:
    (body,) = connection.execute("SELECT body FROM messages WHERE id = ?", (row[0],)).fetchone()
    return read_body(row[3], body)


def _read_part(value: Mapping[str, Any]) -> Part:
    found = dict(value)
    kind = _OLD_PARTS[found.pop("part")]
    if "media" in found:
        found["media"] = tuple(map(_read_part, found["media"]))
    return kind(**found)


def _facts(body: str) -> Mapping[str, object]:
    try:
        facts = read_value(body)
    except DamagedRow:
        return {}
    return facts if isinstance(facts, dict) else {}


def _whole(value: object) -> int | None:
    return value if type(value) is int else None


def upgrade_to_3(connection: sqlite3.Connection) -> None:
    """Say where each session begins: a session takes messages until the next one of its chain is opened."""
    conversation, position = None, 0
    moved: list[tuple[int, int]] = []
    for key, tenant, name, count, known in connection.execute(_SESSIONS):
        if (tenant, name) != conversation:
            conversation, position = (tenant, name), 0
        if known != position:
            moved.append((position, key))
        position += count
    connection.executemany("UPDATE sessions SET first_position = ? WHERE key = ?", moved)


_UPGRADES = {2: upgrade_to_2, 3: upgrade_to_3}
