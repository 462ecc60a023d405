"""Ranks texts and messages by how well they answer a question, as every search does, and shows the place."""

from collections.abc import Iterable, Sequence

from midfold.documents import read_documents
from midfold.engines.lossless.answers import split_text
from midfold.messages import Message
from midfold.search import Document, SearchIndex

MOST_RANKED = 50
SNIPPET_CHARS = 240


def rank_texts(query: str, texts: Sequence[str]) -> list[int]:
    """Order texts by how well they answer a query, the best first; those that do not are left out."""
    return _rank(query, (Document((text,)) for text in texts))


def rank_messages(query: str, messages: Sequence[Message]) -> list[int]:
    """Do the same for messages in their order."""
    return _rank(query, read_documents(messages))


def best_passage(query: str, text: str) -> str:
    """Return the passage that says most of the words."""
    pieces = split_text(text, SNIPPET_CHARS // 3)
    best = rank_texts(query, pieces) if len(pieces) > 1 else [0]
    return pieces[best[0] if best else 0].strip()[:SNIPPET_CHARS]


def text_around(text: str, index: int) -> str:
    """Return the text around an index."""
    start = max(0, index - SNIPPET_CHARS // 2)
    return text[start : start + SNIPPET_CHARS].strip()


def _rank(query: str, documents: Iterable[Document]) -> list[int]:
    return [found.number for found in SearchIndex(documents).search(query, MOST_RANKED)]
