"""Ranks texts and messages by how well they answer a question, with the ranking of every search."""

from collections.abc import Iterable, Sequence

from midfold.documents import read_documents
from midfold.messages import Message
from midfold.search import Document, SearchIndex

MOST_RANKED = 50


def rank_texts(query: str, texts: Sequence[str]) -> list[int]:
    """Order texts by how well they answer a query, the best first; those that do not are left out."""
    return _rank(query, (Document((text,)) for text in texts))


def rank_messages(query: str, messages: Sequence[Message]) -> list[int]:
    """Do the same for messages in their order."""
    return _rank(query, read_documents(messages))


def _rank(query: str, documents: Iterable[Document]) -> list[int]:
    return [found.number for found in SearchIndex(documents).search(query, MOST_RANKED)]
