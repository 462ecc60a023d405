"""Makes digests agree with the messages they are about; the checksum of a message does not cover them."""

import sqlite3
from collections.abc import Container

from midfold.messages import EMPTY_CHAIN, link, own_digest
from midfold.store.codec import DamagedRow, read_body
from midfold.store.sqlite.checksums import LOST_CHECKSUM

_SAID = """
    SELECT id, session, seq, role, dialect, body, seal, is_exact, digest, chain FROM messages
    WHERE origin = 'said' ORDER BY session, seq
"""
_LAST = """
    SELECT session, chain FROM messages m WHERE origin = 'said' AND chain IS NOT NULL
    AND seq = (SELECT max(seq) FROM messages n WHERE n.tenant = m.tenant AND n.session = m.session)
"""


def repair_chains(connection: sqlite3.Connection, roots: Container[int]) -> dict[int, bytes]:
    """Work digests out again where a message is stored as it was said; return the last link of each session.

    The chain of a session among `roots` begins with nothing. Behind a message that is lost it is believed.
    """
    repaired: list[tuple[bytes, bytes | None, int]] = []
    session, before = None, None
    for rowid, key, seq, role, dialect, body, seal, is_exact, digest, chained in connection.execute(_SAID):
        if key != session:
            session, before = key, EMPTY_CHAIN if seq == 0 and key in roots else None
        if seal == LOST_CHECKSUM:
            before = None
            continue
        own = _own_digest(dialect, body) if is_exact else digest
        right = chained if before is None or not own else link(before, own, role) or None
        if (own, right) != (digest, chained):
            repaired.append((own, right, rowid))
        before = right or EMPTY_CHAIN
    connection.executemany("UPDATE messages SET digest = ?, chain = ? WHERE id = ?", repaired)
    return dict(connection.execute(_LAST).fetchall())


def _own_digest(dialect: str, body: str) -> bytes:
    try:
        return own_digest(read_body(dialect, body))
    except DamagedRow:
        return b""
