"""Full-text search over everything stored: what is indexed, what is asked, and what is shown of it."""

from midfold.store.search.matching import matches, words_in
from midfold.store.search.query import Query, read_query
from midfold.store.search.snippets import Snippet, make_snippet, make_substring_snippet

__all__ = [
    "Query",
    "Snippet",
    "make_snippet",
    "make_substring_snippet",
    "matches",
    "read_query",
    "words_in",
]
