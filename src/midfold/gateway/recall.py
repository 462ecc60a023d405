"""Tools for models whose conversations were folded: they read back what left the context.

A tool answers from its own conversation alone: clients share a store, and none may read of another.
"""

import json
from collections.abc import Mapping, Sequence

from midfold.engines import FoldingEngine, fit_keywords
from midfold.errors import DialectError, MidfoldError
from midfold.gateway.session import GatewaySession
from midfold.gateway.turns import ClientTurn
from midfold.late_dataclasses import dataclass, field
from midfold.messages import ToolCall, texts_of
from midfold.offload import READER, FileSession, FileSink, OutputReader, read_tool_schema
from midfold.search import Origin
from midfold.store import Hit, Store, search_passages
from midfold.texts import read_text
from midfold.wire import parse
from midfold.wire.apis import convert_tools
from midfold.wire.joiners import can_join, name_tools

MOST_CHARS = 20_000
"""Of one answer."""
_MOST_HITS = 10
_MESSAGE_CHARS = 4_000
_ID_CHARS = 8


@dataclass(frozen=True, slots=True)
class RecallOffer:
    """The tools that are added to a request; none where it has to stay without."""

    names: frozenset[str] = frozenset()
    tools: list[object] = field(default_factory=list, repr=False)


@dataclass(frozen=True, slots=True)
class RecallTools:
    """Offers tools, and answers them. `outputs` holds what was offloaded, where that is done."""

    store: Store
    outputs: FileSink | None = None
    tenant: str = ""

    def offer(self, turn: ClientTurn, engine: FoldingEngine | None) -> RecallOffer:
        """Return the tools for a request, as its API wants them.

        A client that has a tool of the same name keeps its own. An answer that cannot be joined from
        several, such as one of two at once, gets none.
        """
        if not can_join(turn.request.raw or {}, turn.request.dialect):
            return RecallOffer()
        taken = name_tools(turn.request.tools or ())
        schemas = [_recall_schema(), *([read_tool_schema()] if self.outputs is not None else [])]
        schemas += engine.get_tool_schemas() if engine is not None else []
        offered: dict[str, object] = {}
        for schema in schemas:
            name = str(schema.get("name"))
            if name not in taken:
                try:
                    offered[name] = convert_tools([schema], turn.request.dialect)[0]
                except DialectError:  # a tool of an engine that no API could take
                    continue
        return RecallOffer(frozenset(offered), list(offered.values()))

    def answer(self, calls: Sequence[ToolCall], session: GatewaySession, *, most_chars: int) -> list[str]:
        """Return the result of each call; what is wrong is said to the model."""
        return [self._answer(call, session, most_chars)[:most_chars] for call in calls]

    def _answer(self, call: ToolCall, session: GatewaySession, most_chars: int) -> str:
        try:
            given = json.loads(call.arguments or "{}")
            if not isinstance(given, dict):
                return "Error: the arguments are no JSON object."
            if call.name == READER and self.outputs is not None:
                return OutputReader(self._open_outputs(self.outputs, session)).handle(given)
            if call.name == _recall_schema()["name"]:
                return self._recall(given, session)
            if session.engine is not None:
                answer = session.engine.handle_tool_call
                info = {"messages": [], "most_chars": most_chars}
                return answer(call.name, given, **fit_keywords(answer, info))
        except MidfoldError as error:
            return f"Error: {error}"
        except (ValueError, RecursionError):
            return "Error: the arguments are no JSON."
        return "Error: there is no such tool."

    def _open_outputs(self, outputs: FileSink, session: GatewaySession) -> FileSession:
        return outputs.session(session.conversation_id, tenant=self.tenant)

    def _recall(self, given: Mapping[str, object], session: GatewaySession) -> str:
        if (name := given.get("message")) and isinstance(name, str):
            return self._read(name, session)
        query = given.get("query")
        if not isinstance(query, str) or not query.strip():
            return "Error: give a query, or the id of a message."
        found = search_passages(self.store, query, session_id=session.id, limit=_MOST_HITS)
        hits = [hit for hit in found.hits if hit.origin is not Origin.SUMMARY]
        return "\n".join(map(_show_hit, hits)) or "[nothing was found]"

    def _read(self, name: str, session: GatewaySession) -> str:
        """Return a message and its neighbours as they were written."""
        beginning, _, number = name.partition(":")
        chain = [each for each in self.store.chain(session.id) if each.id.startswith(beginning)]
        if len(chain) != 1 or not beginning or not number.isdecimal():
            return f"Error: this conversation has no message {name[:80]!r}."
        own, seq = chain[0], int(number[:9])
        near = [each for each in self.store.records(own.id) if each.session_id == own.id]
        shown = [
            f"[{_name(own.id, record.seq)}, {record.role}]\n{_shorten(_words_of(record.item, own.dialect))}"
            for record in near
            if abs(record.seq - seq) <= 1
        ]
        return "\n\n".join(shown) or f"Error: this conversation has no message {name[:80]!r}."


def _recall_schema() -> dict[str, object]:
    schema: dict[str, object] = json.loads(read_text("midfold.gateway", "texts/recall.json"))
    return schema


def _show_hit(hit: Hit) -> str:
    who = " ".join((hit.role, *hit.tools))
    return f"[{_name(hit.session_id, hit.seq)}, {who}] {' '.join(hit.snippet.split())}"


def _name(session_id: str, seq: int) -> str:
    return f"{session_id[:_ID_CHARS]}:{seq}"


def _words_of(item: object, dialect: str | None) -> str:
    return "\n".join(text for message in parse([item], dialect) for text in texts_of(message))


def _shorten(words: str) -> str:
    if len(words) <= _MESSAGE_CHARS:
        return words
    return f"{words[:_MESSAGE_CHARS]}\n[… {len(words) - _MESSAGE_CHARS:,} more characters]"
