"""Recall beyond the window: the tools for lasting memory, earlier messages and offloaded output."""

from collections.abc import Callable
from datetime import UTC, datetime

from midfold.agent.memory import Memory, MemoryFull, Target
from midfold.agent.tools.output_recall import find_in_outputs
from midfold.agent.tools.registry import Tool, ToolFailed, tool
from midfold.errors import StoreError
from midfold.late_dataclasses import replace
from midfold.messages import texts_of
from midfold.offload import READER, OutputReader, OutputSink, read_tool_schema
from midfold.search import Origin
from midfold.store import Hit, SessionStore, search_passages
from midfold.wire import parse

MAX_HITS = 20
MAX_OUTPUTS = 3
AROUND_CHARS = 20_000
"""The most that one call shows of old messages."""
_MESSAGE_CHARS = 4_000


def memory_tool(memory: Memory) -> Tool:
    """Return the tool that keeps facts over all sessions."""

    @tool
    def memory_(action: str, entry: str = "", target: str = "memory") -> str:
        """Keep facts that future sessions need: what was learnt, how the user wants things done.

        Entries are short sentences. Every new session begins with them, and no fold touches them.
        Never keep credentials, or what only matters now.
        action: add, remove or show
        entry: the sentence to add; for remove, a part of the sentence that no other one has
        target: memory for facts about the work, user for facts about the user
        """
        if target not in list(Target):
            raise ToolFailed(f"target is one of {', '.join(Target)}")
        return _change(memory, action, entry, Target(target))

    return replace(memory_, name="memory")


def _change(memory: Memory, action: str, entry: str, target: Target) -> str:
    try:
        match action:
            case "add" if entry.strip():
                memory.add(target, entry)
                return f"Kept in {target.file_name}; new sessions will see it."
            case "remove" if entry.strip():
                if (removed := memory.remove(target, entry)) is None:
                    raise ToolFailed(f"not exactly one entry of {target.file_name} holds {entry!r}")
                return f"Removed from {target.file_name}: {removed}"
            case "show":
                return memory.show() or "[nothing is kept yet]"
        raise ToolFailed("action is add or remove with an entry, or show")
    except MemoryFull as error:
        raise ToolFailed(str(error)) from None
    except OSError as error:
        raise ToolFailed(
            f"{target.file_name} cannot be read and is left as it is: {error.strerror}"
        ) from None


def recall_tool(
    store: SessionStore,
    session_id: Callable[[], str | None],
    sink: Callable[[], OutputSink] | None = None,
) -> Tool:
    """Return the tool that finds what was said before, folded or not, here and in other sessions.

    `session_id` names the session that is going on; where it names none, all sessions are searched. `sink`
    has the output that was offloaded in it.
    """

    @tool(reads=True)
    def recall(query: str = "", everywhere: bool = False, session: str = "", message: int = -1) -> str:
        """Find what was said earlier: messages that a fold took out of sight, and other sessions.

        Search with a query; then read what is around a result with its session and message number.
        query: a question or words to search for; "quotes" for a phrase, word* for a beginning
        everywhere: whether to search all sessions and not only this conversation
        session: with message, the session of a search result
        message: the number of the message to read, with those around it
        """
        try:
            if session and message >= 0:
                return _read_around(store, session, message)
            if not query.strip():
                raise ToolFailed("give a query, or a session and a message number")
            found = _search(store, query, None if everywhere else session_id())
            return "\n".join([*found, *_search_outputs(query, sink)]) or "[nothing was found]"
        except StoreError as error:
            raise ToolFailed(str(error)) from None

    return recall


def output_tool(sink: Callable[[], OutputSink]) -> Tool:
    """Return the tool that reads offloaded output back."""
    schema = read_tool_schema()
    parameters = schema["parameters"]
    return Tool(
        name=str(schema["name"]),
        description=str(schema["description"]),
        parameters=parameters if isinstance(parameters, dict) else {},
        run=lambda arguments: OutputReader(sink()).handle(arguments),
        reads=True,
    )


def _search(store: SessionStore, query: str, session_id: str | None) -> list[str]:
    found = search_passages(store, query, session_id=session_id, limit=MAX_HITS)
    more = ["[there may be more]"] if found.is_incomplete or len(found.hits) == MAX_HITS else []
    return [*map(_format_hit, found.hits), *(more if found.hits else [])]


def _search_outputs(query: str, sink: Callable[[], OutputSink] | None) -> list[str]:
    """Search what was offloaded here; where its files cannot be read, the messages are all there is."""
    try:
        found = find_in_outputs(query, sink(), MAX_OUTPUTS) if sink is not None else []
    except OSError:
        return []
    return [
        f"offloaded output {each.info.reference} of {each.info.tool}, line {each.line} on "
        f"({READER} shows it): {each.snippet}"
        for each in found
    ]


def _format_hit(hit: Hit) -> str:
    at = datetime.fromtimestamp(hit.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    what = "summary" if hit.origin is Origin.SUMMARY else hit.role
    who = f"{what} {' '.join(hit.tools)}".strip()
    return f"session {hit.session_id} message {hit.seq} ({who}, {at}): {' '.join(hit.snippet.split())}"


def _read_around(store: SessionStore, session_id: str, seq: int) -> str:
    """Return a message and its neighbours as they were written."""
    records = [each for each in store.records(session_id) if each.session_id == session_id]
    near = [each for each in records if abs(each.seq - seq) <= 1]
    if not near:
        raise ToolFailed(f"the session {session_id} has no message {seq}")
    dialect = store.session(session_id).dialect
    shown = []
    for record in near:
        words = "\n".join(text for part in parse([record.item], dialect) for text in texts_of(part))
        shown.append(f"[message {record.seq}, {record.role}]\n{_shorten(words)}")
    return "\n\n".join(shown)[:AROUND_CHARS]


def _shorten(words: str) -> str:
    if len(words) <= _MESSAGE_CHARS:
        return words
    return f"{words[:_MESSAGE_CHARS]}\n[… {len(words) - _MESSAGE_CHARS:,} more characters]"
