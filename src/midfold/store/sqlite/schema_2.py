"""Schema 2: a chain begins behind the system prompt, and a fold names its parts by what digests cover.

Own digests stay as they are, so that what was said before credentials were hidden is still recognised; all
that is made of them is worked out again.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from midfold.folding import Edit, Fold, Insert, Span, replace_spans
from midfold.messages import (
    EMPTY_CHAIN,
    SYSTEM_ROLES,
    Media,
    Message,
    MessageDigest,
    Opaque,
    Part,
    Reasoning,
    Removed,
    Text,
    ToolCall,
    ToolResult,
    link,
    own_digest,
)
from midfold.store.codec import DamagedRow, pack_exact, read_body, read_value
from midfold.store.fold_json import fold_to_json
from midfold.store.sqlite.seals import seal_fold
from midfold.wire import parse, render

_PARTS: dict[str, type[Part]] = {
    kind.__name__: kind for kind in (Text, Reasoning, ToolCall, ToolResult, Media, Opaque, Removed)
}
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


def upgrade(connection: sqlite3.Connection) -> None:
    """Work out all chains and folds again."""
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
        place = (tenant, conversation)
        # Sessions of one conversation follow one another, whether a fold was taken back or not.
        chained = newest.get(place)
        if chained is None:
            chained = EMPTY_CHAIN
            if kind == "branch" and parent is not None:
                chained = _chain_before_branch(connection, tenant, parent, key, first)
            first[place] = chained
        newest[place] = _chain_session(connection, tenant, key, chained)


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
    body = seal_fold(pack_exact(fold_to_json(fold), None), stored.facts)
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
    kind = _PARTS[found.pop("part")]
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
