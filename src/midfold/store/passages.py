"""Searches for a model: hits with the passages that answer, as many tokens of them as a model is given."""

from midfold.search import ANSWER_CHARS
from midfold.store.base import Search
from midfold.store.values import SearchResults
from midfold.tokens import TokenCounter

ANSWER_TOKENS = 4_000
_HEAD_TOKENS = 70
"""Of the line that names a hit."""


def search_passages(store: Search, query: str, *, session_id: str | None, limit: int) -> SearchResults:
    """Search by relevance, with as much of each hit as 4,000 tokens have room for."""
    found = store.search(query, session_id=session_id, limit=limit, snippet_chars=ANSWER_CHARS)
    room = ANSWER_TOKENS - _HEAD_TOKENS * len(found.hits)
    tokens = TokenCounter().count_text("\n".join(hit.snippet for hit in found.hits))
    if tokens <= room:
        return found
    # A script without spaces, or figures, have more tokens in as many characters.
    shorter = [chars * room * 9 // (tokens * 10) for chars in ANSWER_CHARS]
    return store.search(query, session_id=session_id, limit=limit, snippet_chars=shorter)
