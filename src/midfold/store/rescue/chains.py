"""Makes digests agree with the messages they are about; the sum of a message does not cover them."""

import sqlite3
from collections.abc import Container
from hashlib import sha256

from midfold.messages.digests import spell
from midfold.store.codec import DamagedRow, read_body
from midfold.store.rows import short_digest
from midfold.store.seals import LOST_SEAL

_SAID = """
    SELECT id, session, seq, dialect, body, seal, is_exact, digest, chain FROM messages
    WHERE origin = 'said' ORDER BY session, seq
"""
_LAST = """
    SELECT session, chain FROM messages m WHERE origin = 'said' AND chain IS NOT NULL
    AND seq = (SELECT max(seq) FROM messages n WHERE n.tenant = m.tenant AND n.session = m.session)
"""


def mend_chains(connection: sqlite3.Connection, roots: Container[int]) -> dict[int, bytes]:
    """Work digests out again where a message is stored as it was said; return the last link of each session.

    The chain of a session among `roots` begins with nothing. Behind a message that is lost it is believed.
    """
    mended: list[tuple[bytes, bytes | None, int]] = []
    session, link = None, None
    for rowid, key, seq, dialect, body, seal, is_exact, digest, chained in connection.execute(_SAID):
        if key != session:
            session, link = key, b"" if seq == 0 and key in roots else None
        if seal == LOST_SEAL:
            link = None
            continue
        right = (digest, chained)
        if is_exact:
            right = _work_out(dialect, body, link, chained)
        if right != (digest, chained):
            mended.append((*right, rowid))
        link = right[1]
    connection.executemany("UPDATE messages SET digest = ?, chain = ? WHERE id = ?", mended)
    return dict(connection.execute(_LAST).fetchall())


def _work_out(
    dialect: str, body: str, link: bytes | None, chained: bytes | None
) -> tuple[bytes, bytes | None]:
    try:
        said = spell(read_body(dialect, body))
    except DamagedRow:
        return b"", chained
    if link is None:
        return short_digest(said), chained
    return short_digest(said), sha256(link + said).digest() if said else link
