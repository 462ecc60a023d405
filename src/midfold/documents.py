"""A message as a search sees it: what it says, what it only passes on, and who speaks."""

from collections.abc import Iterable, Mapping

from midfold.late_dataclasses import replace
from midfold.messages import Message, Text, ToolCall, ToolResult, texts_of
from midfold.provenance import Author, find_answer, is_summary, main_author, split_text
from midfold.search import SEARCH_TOOLS, Document, Origin

LEAST_REPEATED_CHARS = 80
"""From here on two messages that say the same are one find; two people who say yes say it twice."""

_NOBODY = ""
_HEAD_CHARS = 2_000
_SHORTEST_SUMMARY = 1_000
_OPENING_SIGNS = frozenset("<[#(*-=_{`")


def read_document(message: Message, tools: Iterable[str] = (), *, origin: Origin | None = None) -> Document:
    """Return a message for a search; `tools` are the names of the tools whose results it has.

    What a search asked and found is left out; a document without texts has nothing else.
    """
    names = tuple(tools)
    parts = tuple(part for part in message.parts if not _is_search(part, names))
    calls = [part for part in parts if isinstance(part, ToolCall)]
    results = [part for part in parts if isinstance(part, ToolResult)]
    said = texts_of(Message(message.role, tuple(part for part in parts if not isinstance(part, ToolCall))))
    carried = [call.name for call in calls]
    carried += texts_of(Message(message.role, tuple(calls)))
    speaker, found = _read_speaker(message, results, names)
    document = Document(tuple(said), speaker, origin or found, carried=tuple(carried))
    whole = (*document.texts, *document.carried)
    return document if sum(map(len, whole)) < LEAST_REPEATED_CHARS else replace(document, identity=whole)


def read_documents(messages: Iterable[Message]) -> list[Document]:
    """Return the messages of a conversation for a search."""
    names: dict[str, str] = {}
    found = []
    for message in messages:
        names |= {call.id: call.name for call in message.calls}
        found.append(read_document(message, _result_names(message, names)))
    return found


def _result_names(message: Message, names: Mapping[str, str]) -> list[str]:
    return [result.name or names.get(result.call_id, "") for result in message.results]


def _is_search(part: object, tools: tuple[str, ...]) -> bool:
    if isinstance(part, ToolCall):
        return part.name in SEARCH_TOOLS
    if isinstance(part, ToolResult):
        return part.name in SEARCH_TOOLS or (bool(tools) and SEARCH_TOOLS.issuperset(tools))
    return False


def _read_speaker(message: Message, results: list[ToolResult], names: tuple[str, ...]) -> tuple[str, Origin]:
    if results:
        is_answer = any(
            find_answer(ToolCall("", result.name or (names[0] if names else ""), "{}"), result)
            for result in results
        )
        return ("user", Origin.MESSAGE) if is_answer else ("tool", Origin.TOOL_OUTPUT)
    if message.role != "user":
        return message.role, Origin.MESSAGE
    author = _read_author(message)
    if author is Author.SUMMARY:
        return _NOBODY, Origin.SUMMARY
    return (message.role if author in (None, Author.PERSON) else _NOBODY), Origin.MESSAGE


def _read_author(message: Message) -> Author | None:
    """Say who wrote a message under the role of a person.

    To part a message takes longer than to rank it. What a client wrote begins with a sign that people seldom
    begin with, or is a summary.
    """
    text = next((part.text for part in message.parts if isinstance(part, Text)), "")
    head = text[:_HEAD_CHARS].lstrip()
    if len(text) >= _SHORTEST_SUMMARY and is_summary(head):
        return Author.SUMMARY
    if head[:1] not in _OPENING_SIGNS:
        return Author.PERSON
    return main_author(split_text(head))
