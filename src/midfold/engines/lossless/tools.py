"""The tools with which a model looks behind the summaries of its conversation.

Each answer is JSON and fits into the tokens that the call allows; what does not fit comes on the next page.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice

from midfold.engines.lossless.answers import CountText, fill_page, split_text, to_json
from midfold.engines.lossless.arguments import (
    MOST_PAGES,
    MOST_RANGE,
    BadCall,
    SearchFilters,
    read_choice,
    read_filters,
    read_number,
    read_range,
    read_switch,
    read_words,
    read_written_range,
)
from midfold.engines.lossless.history import NumberedMessage, SearchedMessage
from midfold.engines.lossless.looks import without_looks
from midfold.engines.lossless.memory import LosslessMemory
from midfold.engines.lossless.nodes import SummaryNode, format_spans
from midfold.engines.lossless.passages import (
    SNIPPET_CHARS,
    best_passage,
    rank_messages,
    rank_texts,
    text_around,
)
from midfold.engines.lossless.questions import FoundPassage, QuestionReader
from midfold.engines.lossless.regex import Finder, PatternRefused, compile_pattern
from midfold.errors import MidfoldError, SummaryUnavailable
from midfold.folding import Span, join_spans
from midfold.late_dataclasses import dataclass
from midfold.messages import Message, ToolCall, ToolResult, texts_of
from midfold.provenance import newest_asked
from midfold.redact import redact
from midfold.summaries.tool_calls import one_line

MOST_TOKENS = 8_000
DEFAULT_TOKENS = 2_000
FEWEST_TOKENS = 200
_ECHO_CHARS = 120
_PASSAGE_TOKENS = 300
_MOST_FOUND = 30
_MOST_MATCHES = 1_000


@dataclass(frozen=True, slots=True)
class LosslessTools:
    """Answers calls from the memory of one conversation; `shown` is the conversation as the model sees it."""

    memory: LosslessMemory
    count: CountText
    shown: Sequence[Message] = ()
    in_context: Sequence[SummaryNode] = ()
    """the summaries among `shown`"""
    most_read: int = 400
    """messages behind a summary that are all read to answer a question; of more, those that are found"""
    reader: QuestionReader | None = None
    """who answers questions; without one, passages do"""
    most_tokens: int = MOST_TOKENS
    """the most that a host has room for, whatever a call allows"""

    def handle(self, name: str, arguments: Mapping[str, object]) -> str:
        """Answer a call; whatever is wrong with it is said in the answer."""
        handlers: dict[str, Callable[[Mapping[str, object]], str]] = {
            "lcm_grep": self._grep,
            "lcm_describe": self._describe,
            "lcm_expand": self._expand,
            "lcm_expand_query": self._expand_query,
            "lcm_status": self._status,
        }
        if name not in handlers:
            return to_json({"error": f"unknown tool: {name}"})
        try:
            return handlers[name](arguments)
        except (BadCall, PatternRefused, MidfoldError) as error:
            return to_json({"error": str(error)})

    def _grep(self, arguments: Mapping[str, object]) -> str:
        query = read_words(arguments, "query")
        scope = read_choice(arguments, "scope", ("messages", "summaries", "all"))
        rows: list[dict[str, object]] = []
        find = compile_pattern(query) if read_switch(arguments, "regex") else None
        if scope in ("summaries", "all"):
            rows += self._search_summaries(query, find)
        if scope in ("messages", "all"):
            rows += self._search_messages(query, find, read_filters(arguments))
        facts: dict[str, object] = {"query": _echo(query), "found": len(rows)}
        if find is not None and len(rows) >= _MOST_MATCHES:
            facts["is_incomplete"] = True
        return self._page(facts, "results", rows, arguments)

    def _search_summaries(self, query: str, find: Finder | None) -> list[dict[str, object]]:
        read = self.memory.read_bodies()
        if find:
            places = ((node, body, find(body)) for node, body in read)
            shown = [(node, text_around(body, found[0])) for node, body, found in places if found]
        else:
            known = list(read)
            order = rank_texts(query, [body for _, body in known])
            shown = [(known[at][0], best_passage(query, known[at][1])) for at in order]
        return [{"id": node.id, "messages": node.format_range(), "text": text} for node, text in shown]

    def _search_messages(
        self, query: str, find: Finder | None, filters: SearchFilters
    ) -> list[dict[str, object]]:
        found = self._find(query, filters) if find is None else None
        if found is not None:
            kept = self._leave_out_found_request(found)
            return [self._hit(each, each.role, " ".join(each.text.split())[:SNIPPET_CHARS]) for each in kept]
        if find is not None:
            return list(islice(self._match_messages(find, filters), _MOST_MATCHES))
        originals = self._leave_out_request(without_looks(self._all()))
        originals = [each for each in originals if filters.keeps(each)]
        texts = ["\n".join(texts_of(each.message)) for each in originals]
        order = rank_messages(query, [each.message for each in originals])
        hits = ((originals[at], best_passage(query, texts[at])) for at in order)
        return [self._hit(each, each.message.role, text) for each, text in hits]

    def _match_messages(self, find: Finder, filters: SearchFilters) -> Iterator[dict[str, object]]:
        """Yield the messages that match a pattern, in order."""
        own_calls: set[str] = set()
        for block in self.memory.read_through(self.shown):
            for each in self._leave_out_request(without_looks(block, own_calls)):
                text = "\n".join(texts_of(each.message)) if filters.keeps(each) else ""
                if text and (found := find(text)) is not None:
                    yield self._hit(each, each.message.role, text_around(text, found[0]))

    def _leave_out_request(self, originals: Sequence[NumberedMessage]) -> list[NumberedMessage]:
        """Leave out the request that the model works on: it is in sight, and in the words of its question."""
        at = newest_asked(self.shown)
        asked = self.shown[at].text if at is not None else None
        return [
            each
            for each in originals
            if each.message.text != asked
            or each.message.role != "user"
            or self.memory.graph.covering(each.number) is not None
        ]

    def _leave_out_found_request(self, found: Sequence[SearchedMessage]) -> list[SearchedMessage]:
        """Do the same for what a search found; only what a person said since the last fold has to be read."""
        unsure = {
            each.number
            for each in found
            if each.role == "user" and self.memory.graph.covering(each.number) is None
        }
        read = self.memory.originals(join_spans(Span(each, each + 1) for each in unsure), self.shown)
        unsure -= {each.number for each in self._leave_out_request(read)}
        return [each for each in found if each.number not in unsure]

    def _hit(self, each: NumberedMessage | SearchedMessage, role: str, text: str) -> dict[str, object]:
        where = self._where(each.number, each.created_at)
        return {"message": each.number, "role": role, **where, "text": text}

    def _find(
        self, query: str, filters: SearchFilters, most: int = _MOST_FOUND
    ) -> list[SearchedMessage] | None:
        return self.memory.search(
            query, role=filters.role, since=filters.since, until=filters.until, most=most
        )

    def _describe(self, arguments: Mapping[str, object]) -> str:
        node = self._node(arguments)
        parent = self.memory.graph.parents.get(node.id)
        facts: dict[str, object] = {
            "id": node.id,
            "depth": node.depth,
            "messages": node.format_range(),
            "message_count": node.message_count,
            "source_tokens": node.source_tokens,
            "summary_tokens": node.tokens,
            **self._times(node),
            **({"made_of": list(node.children)} if node.children else {}),
            **({"condensed_into": parent} if parent else {}),
        }
        if left_out := max(node.source_tokens - node.tokens, 0):
            facts["left_out"] = f"about {left_out:,} tokens; lcm_expand shows them"
        return self._page(facts, "dropped", [{"text": fact} for fact in node.dropped], {})

    def _times(self, node: SummaryNode) -> dict[str, object]:
        """Say when the first and the last of its messages were said, where a store knows."""
        if not node.spans:
            return {}
        ends = (node.spans[0].start, node.spans[-1].stop - 1)
        found = self.memory.originals([Span(end, end + 1) for end in ends], self.shown)
        times = [each.created_at for each in found if each.created_at is not None]
        return {"from": _format_time(min(times)), "to": _format_time(max(times))} if times else {}

    def _expand(self, arguments: Mapping[str, object]) -> str:
        written = read_written_range(arguments)
        if written:
            return self._page(
                {"messages": _echo(written)}, "sources", self._show(read_range(written)), arguments
            )
        node = self._node(arguments)
        if not node.children and node.message_count > MOST_RANGE:
            raise BadCall(
                f"{node.id} stands for {node.message_count:,} messages, and a call shows at most "
                f"{MOST_RANGE:,}: give messages within {node.format_range()}, or search with lcm_grep"
            )
        children = [
            self.memory.graph.nodes[each] for each in node.children if each in self.memory.graph.nodes
        ]
        rows = [row for child in children for row in self._show_summary(child)] or self._show(node.spans)
        facts = {"id": node.id, "messages": node.format_range()}
        return self._page(facts, "sources", rows, arguments)

    def _show_summary(self, node: SummaryNode) -> list[dict[str, object]]:
        pieces = split_text(self.memory.body(node))
        return [{"id": node.id, "messages": node.format_range(), "text": piece} for piece in pieces]

    def _show(self, spans: Sequence[Span]) -> list[dict[str, object]]:
        found = self.memory.originals(spans, self.shown)
        if not found:
            raise BadCall(
                f"nothing is stored under {format_spans(spans)}: no message has that number, or it was not "
                f"folded and stands in the context; {self._name_known()}"
            )
        return [
            {"message": each.number, "role": each.message.role, "text": piece}
            for each in found
            for piece in split_text(_write_out(each.message))
        ]

    def _expand_query(self, arguments: Mapping[str, object]) -> str:
        question = read_words(arguments, "question")
        node = self._node(arguments) if arguments.get("id") else None
        pieces = [
            FoundPassage(each.number, each.message.role, piece)
            for each in self._leave_out_request(without_looks(self._read_for(question, node)))
            for piece in split_text(_write_out(each.message), _PASSAGE_TOKENS)
        ]
        passages = [pieces[at] for at in rank_texts(question, [piece.text for piece in pieces])]
        rows = [{"message": each.number, "role": each.role, "text": each.text} for each in passages]
        return self._page(
            {"question": _echo(question), **self._answer(question, passages, arguments)},
            "passages",
            rows,
            arguments,
        )

    def _answer(
        self, question: str, passages: Sequence[FoundPassage], arguments: Mapping[str, object]
    ) -> dict[str, object]:
        """Have a model answer, where one is to: in half of the room, so that passages prove what it says."""
        if self.reader is None or read_number(arguments, "page", 1, 1, MOST_PAGES) > 1:
            return {}
        try:
            return {"answer": self.reader.answer(question, passages, self._room(arguments) // 2)}
        except SummaryUnavailable as error:
            return {"no_answer": one_line(redact(str(error)), SNIPPET_CHARS)}

    def _read_for(self, question: str, node: SummaryNode | None) -> list[NumberedMessage]:
        """Read the messages that may answer a question: few of them all, of many those that are found."""
        if node is not None and node.message_count <= self.most_read:
            return self._behind(node)
        found = self._find(question, SearchFilters(), _MOST_FOUND if node is None else self.most_read)
        if found is None:
            return self._all() if node is None else self._behind(node)
        numbers = [each.number for each in found if node is None or each.number in node]
        return self.memory.originals(
            [Span(each, each + 1) for each in numbers[: _MOST_FOUND // 2]], self.shown
        )

    def _status(self, _arguments: Mapping[str, object]) -> str:
        graph = self.memory.graph
        tops = [node for node in graph.nodes.values() if node.id not in graph.parents]
        rows: list[dict[str, object]] = [
            {"id": node.id, "depth": node.depth, "messages": node.format_range(), "tokens": node.tokens}
            for node in sorted(self.in_context or tops, key=lambda node: node.first)
        ]
        facts = {"summaries": len(graph.nodes), "messages_behind_them": self.memory.count_messages()}
        return self._page(facts, "in_context", rows, {})

    def _name_known(self) -> str:
        known = join_spans(span for node in self.memory.graph.nodes.values() for span in node.spans)
        return f"summaries stand for {format_spans(known)}" if known else "nothing was folded yet"

    def _all(self) -> list[NumberedMessage]:
        return self.memory.originals([Span(0, self.memory.last_number(self.shown))], self.shown)

    def _behind(self, node: SummaryNode) -> list[NumberedMessage]:
        return self.memory.originals(node.spans, self.shown)

    def _where(self, number: int, created_at: float | None) -> dict[str, object]:
        node = self.memory.graph.covering(number)
        time = {"time": _format_time(created_at)} if created_at is not None else {}
        return {**({"summary": node.id} if node else {}), **time}

    def _node(self, arguments: Mapping[str, object]) -> SummaryNode:
        wanted = read_words(arguments, "id")
        node = self.memory.graph.nodes.get(wanted)
        if node is None:
            is_number = wanted[:1].isdigit()
            hint = "; messages shows messages by number" if is_number else ""
            raise BadCall(f"there is no summary {wanted[:40]!r}; lcm_status lists them{hint}")
        return node

    def _page(
        self,
        facts: Mapping[str, object],
        name: str,
        rows: Sequence[Mapping[str, object]],
        arguments: Mapping[str, object],
    ) -> str:
        return fill_page(
            facts,
            name,
            rows,
            page=read_number(arguments, "page", 1, 1, MOST_PAGES),
            most_tokens=self._room(arguments),
            count=self.count,
        )

    def _room(self, arguments: Mapping[str, object]) -> int:
        asked = read_number(arguments, "max_tokens", DEFAULT_TOKENS, FEWEST_TOKENS, MOST_TOKENS)
        return min(asked, self.most_tokens)


def _write_out(message: Message) -> str:
    """Write a message as a reader needs it: words, calls with their arguments, results."""
    written = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            written.append(f"{part.name}({part.arguments})")
        elif isinstance(part, ToolResult):
            written.append(part.text)
        elif text := getattr(part, "text", ""):
            written.append(str(text))
    return "\n".join(written)


def _echo(words: str) -> str:
    """Repeat what was asked, as far as there is room for it in the smallest answer."""
    return one_line(words, _ECHO_CHARS)


def _format_time(seconds: float | None) -> str:
    return datetime.fromtimestamp(seconds or 0, UTC).strftime("%Y-%m-%dT%H:%MZ")
