"""Ranks texts by how well they answer a question, with the ranking of every search."""

from collections.abc import Sequence

from midfold.search import Document, SearchIndex

MOST_RANKED = 50


def rank_texts(query: str, texts: Sequence[str], roles: Sequence[str] = ()) -> list[int]:
    """Order texts by how well they answer a query, the best first; those that do not are left out."""
    said = [*roles, *[""] * (len(texts) - len(roles))]
    index = SearchIndex(Document((text,), role) for text, role in zip(texts, said, strict=True))
    return [found.number for found in index.search(query, MOST_RANKED)]
