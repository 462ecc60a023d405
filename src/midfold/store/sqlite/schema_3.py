"""Schema 3: messages have an order of their own within a conversation, which no row id has a part in."""

import sqlite3

_SESSIONS = """
    SELECT key, tenant, conversation, next_seq, first_position FROM sessions
    ORDER BY tenant, conversation, key
"""


def upgrade(connection: sqlite3.Connection) -> None:
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
