"""The yardstick of a search: the same texts in a plain full-text index, any of the words, the best first."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from midfold.search import WORD


def search_plainly(texts: Sequence[str], queries: Sequence[str], limit: int) -> list[list[int]]:
    """Return for each query the texts that SQLite finds best: FTS5 with porter, OR and bm25."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (words, tokenize = 'porter unicode61')")
        cleaned = ((number, text.encode("utf-8", "replace").decode()) for number, text in enumerate(texts))
        connection.executemany("INSERT INTO texts (rowid, words) VALUES (?, ?)", cleaned)
        return [_search(connection, query, limit) for query in queries]


def _search(connection: sqlite3.Connection, query: str, limit: int) -> list[int]:
    match = " OR ".join(f'"{word}"' for word in WORD.findall(query))
    if not match:
        return []
    rows = connection.execute(
        "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?", (match, limit)
    )
    return [number for (number,) in rows]
