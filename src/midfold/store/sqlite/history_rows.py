"""The numbers of messages in a history: where each session of a conversation begins, without reading it.

A message is numbered by the order in which everything was said, its session numbers what was written there.
What folds wrote stands before a session's own messages, so only that much has to be looked at.
"""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from midfold.errors import SessionNotFound
from midfold.late_dataclasses import dataclass
from midfold.store.rows import SAID
from midfold.store.sqlite.session_rows import SESSION_ROW, SessionRow, find_branch, find_session

_MADE = f"""
    SELECT m.session, m.seq FROM sessions s
    CROSS JOIN messages m ON m.tenant = s.tenant AND m.session = s.key AND m.seq < s.own_from
    WHERE s.tenant = ? AND s.conversation = ? AND m.origin <> '{SAID}' ORDER BY m.session, m.seq
"""  # noqa: S608 - constants only


@dataclass(frozen=True, slots=True)
class HistoryPiece:
    """What one session said: messages `start` to `stop` of the history."""

    session: SessionRow
    made: tuple[int, ...]
    """what folds wrote in it, by its numbers there"""
    start: int
    stop: int

    def number(self, seq: int) -> int | None:
        """Return the number in the history of what is message `seq` of the session, if it is there."""
        before = bisect_left(self.made, seq)
        is_made = before < len(self.made) and self.made[before] == seq
        number = self.start + seq - before
        return None if is_made or number >= self.stop else number

    def seq(self, number: int) -> int:
        """Return the number in the session of message `number` of the history."""
        seq = number - self.start
        for each in self.made:
            seq += each <= seq
        return seq


def find_pieces(connection: sqlite3.Connection, tenant: str, session_id: str) -> list[HistoryPiece] | None:
    """Return the pieces of a history in their order, those of the conversations it branched from included.

    `None` where it begins with messages of a conversation that is gone.
    """
    conversation = find_session(connection, tenant, session_id).conversation
    conversations: list[tuple[str, int | None]] = [(conversation, None)]
    while branch := find_branch(connection, tenant, conversation):
        conversation = branch.parent
        conversations.append((conversation, branch.said_before))
    pieces: list[HistoryPiece] = []
    for number, (each, most) in enumerate(reversed(conversations)):
        first, sessions = find_sessions(connection, tenant, each)
        if number == 0 and _takes_over(connection, tenant, first):
            return None
        made: dict[int, list[int]] = {}
        for key, seq in connection.execute(_MADE, (tenant, each)):
            made.setdefault(key, []).append(seq)
        start = pieces[-1].stop if pieces else 0
        pieces += _cut_off(_lay_out(sessions, made, start), None if most is None else start + most)
    return pieces


def find_sessions(
    connection: sqlite3.Connection, tenant: str, conversation: str
) -> tuple[SessionRow, list[SessionRow]]:
    """Return the first session of a conversation, and all of them in the order in which they were used."""
    rows = connection.execute(
        f"SELECT {SESSION_ROW}, kind FROM sessions WHERE tenant = ? AND conversation = ?"  # noqa: S608
        " ORDER BY first_position, key",
        (tenant, conversation),
    ).fetchall()
    first = next((SessionRow(*row[:-1]) for row in rows if row[-1] != "continuation"), None)
    if first is None:
        raise SessionNotFound(conversation)
    return first, [SessionRow(*row[:-1]) for row in rows]


def _takes_over(connection: sqlite3.Connection, tenant: str, session: SessionRow) -> bool:
    found = connection.execute(
        "SELECT 1 FROM ranges WHERE tenant = ? AND session = ? LIMIT 1", (tenant, session.key)
    ).fetchone()
    return found is not None


def _lay_out(
    sessions: Sequence[SessionRow], made: dict[int, list[int]], start: int
) -> Iterator[HistoryPiece]:
    for session in sessions:
        own = tuple(made.get(session.key, ()))
        stop = start + max(session.next_seq - len(own), 0)
        yield HistoryPiece(session, own, start, stop)
        start = stop


def _cut_off(pieces: Iterator[HistoryPiece], most: int | None) -> Iterator[HistoryPiece]:
    """Yield the pieces as far as a branch took them over."""
    for piece in pieces:
        stop = piece.stop if most is None else min(piece.stop, most)
        yield HistoryPiece(piece.session, piece.made, min(piece.start, stop), stop)
