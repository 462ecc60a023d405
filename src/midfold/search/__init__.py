"""Search: queries, the terms of texts, one ranking for all that is searched, and what is shown of a hit."""

from midfold.search.documents import SEARCH_TOOLS, Collected, Document, Origin, Ranked
from midfold.search.index import SearchIndex
from midfold.search.matching import matches, words_in
from midfold.search.query import AllOf, AnyOf, Key, Node, Phrase, Query, Term, Without, read_query
from midfold.search.ranking import rank
from midfold.search.snippets import (
    ANSWER_CHARS,
    SNIPPET_CHARS,
    Mark,
    Snippet,
    make_snippet,
    make_substring_snippet,
)
from midfold.search.terms import index_terms, prefix_terms, terms_in, word_terms
from midfold.search.words import INDEX_VERSION, MAX_INDEXED_CHARS, WORD

__all__ = [
    "ANSWER_CHARS",
    "INDEX_VERSION",
    "MAX_INDEXED_CHARS",
    "SEARCH_TOOLS",
    "SNIPPET_CHARS",
    "WORD",
    "AllOf",
    "AnyOf",
    "Collected",
    "Document",
    "Key",
    "Mark",
    "Node",
    "Origin",
    "Phrase",
    "Query",
    "Ranked",
    "SearchIndex",
    "Snippet",
    "Term",
    "Without",
    "index_terms",
    "make_snippet",
    "make_substring_snippet",
    "matches",
    "prefix_terms",
    "rank",
    "read_query",
    "terms_in",
    "word_terms",
    "words_in",
]
