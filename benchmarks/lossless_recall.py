"""What can be found again behind the summaries of the lossless engine, on real sessions folded to a tenth.

Probes are looked up by the number of their message and by their question, labelled queries by search, and
chains of folds are compared with the compressor's. Where there are no sessions, it says so.
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.counting import DATA
from benchmarks.timing import report
from midfold.engines import ContextCompressor, EngineSetup
from midfold.engines.lossless import LosslessEngine
from midfold.evaluation import (
    ChainResult,
    MeasuredConversation,
    MethodOutcome,
    chain_folds,
    find_labels,
    load_conversation,
    read_labels,
)
from midfold.evaluation.search_baseline import search_plainly
from midfold.folding import CompressionPolicy
from midfold.messages import texts_of
from midfold.store import open_store

RATIO = 0.1
MOST_TOKENS = 4_000
FIRST = 5
KEY = b"of this benchmark"
ENGINES = {"lcm": LosslessEngine, "compressor": ContextCompressor}
LENGTHS = (1, 2, 5, 10)


def main(limit: int = 1_000) -> None:
    """Print the tables for the first `limit` sessions."""
    paths = sorted((DATA / "corpus").glob("*.json.gz"))[:limit]
    loaded = [load_conversation(path, DATA / "probes") for path in paths]
    conversations = [each for each in loaded if isinstance(each, MeasuredConversation)]
    if not conversations:
        print(f"no real transcripts at {DATA}; set MIDFOLD_DATA to measure what is found again")
        return
    _report_found(conversations)
    _report_chains(conversations)


@dataclass
class Counts:
    """How many were asked for, and how many were found."""

    asked: int = 0
    by_number: int = 0
    in_context: int = 0
    by_question: int = 0
    queries: int = 0
    answered: int = 0
    plainly: int = 0
    most_tokens: float = 0.0
    unfound: list[str] = field(default_factory=list)


def _report_found(conversations: Sequence[MeasuredConversation]) -> None:
    counts = Counts()
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "s.db", redact=False) as store:
        for conversation in conversations:
            engine = _fold_stored(conversation, store, counts)
            _look_for_probes(conversation, engine, counts)
            _look_for_queries(conversation, engine, counts)
    part = lambda found, asked: f"{found:,} of {asked:,}, {found / max(asked, 1):.1%}"  # noqa: E731
    report("probes: found by the number of their message", part(counts.by_number, counts.asked), "100 %")
    report(
        "probes: found by their question in 4,000 tokens, or in sight",
        part(counts.by_question, counts.asked),
        "-",
    )
    report("  of these in the context", part(counts.in_context, counts.asked), "-")
    report("labelled queries: among five", part(counts.answered, counts.queries), "75 %")
    report("  FTS5, porter, any word, bm25", part(counts.plainly, counts.queries), "-")
    report("the fullest context to its ceiling", f"{counts.most_tokens:.1%}", "102 %")
    for unfound in counts.unfound[:10]:
        print(f"  not found: {unfound}")


def _fold_stored(conversation: MeasuredConversation, store, counts: Counts) -> LosslessEngine:
    items = conversation.request.messages
    session = store.create_session(dialect=conversation.request.dialect)
    store.append(session.id, items)
    setup = EngineSetup(CompressionPolicy(), key=KEY, store=store, prepare_ahead=False)
    engine = LosslessEngine.open(setup)
    engine.on_session_start(session.id)
    ceiling = conversation.ceiling(RATIO)
    result = engine.compress_result(items, conversation.tokens, most_tokens=ceiling)
    if result.changed:
        child = store.continue_session(session.id, result.messages, result)
        engine.on_session_start(child, boundary_reason="compression")
        if not result.over_budget:
            counts.most_tokens = max(counts.most_tokens, result.tokens_after / ceiling)
    engine.shown = json.dumps(result.messages, ensure_ascii=False)
    return engine


def _look_for_probes(conversation: MeasuredConversation, engine: LosslessEngine, counts: Counts) -> None:
    for probe in conversation.probes:
        counts.asked += 1
        found = any(_holds(_read_message(engine, number), probe.answer) for number in probe.evidence)
        counts.by_number += found
        if not found:
            counts.unfound.append(f"{conversation.name} {probe.kind} {probe.answer[:60]!r}")
        is_shown = _holds(engine.shown, probe.answer)
        arguments = {"question": probe.question, "max_tokens": MOST_TOKENS}
        counts.in_context += is_shown
        counts.by_question += is_shown or _holds(
            engine.handle_tool_call("lcm_expand_query", arguments), probe.answer
        )


def _read_message(engine: LosslessEngine, number: int) -> str:
    pages, page = [], 1
    while True:
        arguments = {"messages": str(number), "max_tokens": 8_000, "page": page}
        answer = json.loads(engine.handle_tool_call("lcm_expand", arguments))
        pages += [row["text"] for row in answer.get("sources", [])]
        if "next_page" not in answer:
            return "".join(pages)
        page = answer["next_page"]


def _holds(text: str, answer: str) -> bool:
    """Whether a text says it, also where JSON inside JSON spells it otherwise."""
    forms = {answer, json.dumps(answer)[1:-1], json.dumps(answer, ensure_ascii=False)[1:-1]}
    forms |= {json.dumps(form, ensure_ascii=False)[1:-1] for form in forms}
    return any(form in text for form in forms)


def _look_for_queries(conversation: MeasuredConversation, engine: LosslessEngine, counts: Counts) -> None:
    path = find_labels(DATA / "corpus" / f"{conversation.name}.json.gz", conversation.name, DATA / "gold")
    if path is None:
        return
    queries = read_labels(path, len(conversation.messages)).queries
    texts = ["\n".join(texts_of(message)) for message in conversation.messages]
    plainly = search_plainly(texts, [query.query for query in queries], FIRST)
    for query, plain in zip(queries, plainly, strict=True):
        answer = json.loads(
            engine.handle_tool_call("lcm_grep", {"query": query.query, "max_tokens": MOST_TOKENS})
        )
        counts.queries += 1
        counts.answered += query.index in [row["message"] for row in answer["results"][:FIRST]]
        counts.plainly += query.index in plain


def _report_chains(conversations: Sequence[MeasuredConversation]) -> None:
    methods = {name: _Method(engine) for name, engine in ENGINES.items()}
    start = time.process_time()
    links = [link for each in conversations for link in chain_folds(each, RATIO, methods, lengths=LENGTHS)]
    for name in ENGINES:
        for length in LENGTHS:
            _report_chain(
                name, length, [link for link in links if (link.method, link.length) == (name, length)]
            )
    print(f"{time.process_time() - start:.0f} s of CPU")


def _report_chain(name: str, length: int, links: Sequence[ChainResult]) -> None:
    owed = [link for link in links if link.owes_must_keep]
    parts = {
        "task": [link.task for link in links],
        "constraints": [link.constraints for link in links],
        "must-keep": [link.must_keep for link in owed],
        "everything": [link.everything for link in links],
    }
    written = ", ".join(
        f"{what} {sum(each.kept for each in tallies) / max(sum(each.asked for each in tallies), 1):.1%}"
        for what, tallies in parts.items()
    )
    print(f"{name}, {length} folds, {len(links)} sessions: {written}")


@dataclass(frozen=True)
class _Method:
    """An engine as a method of the evaluation: one key, so that it reads its own summaries again."""

    engine: type[ContextCompressor]

    def __call__(self, conversation: MeasuredConversation, ceiling: int) -> MethodOutcome:
        opened = self.engine(200_000, key=KEY, prepare_ahead=False)
        items = conversation.request.messages
        result = opened.compress_result(items, conversation.tokens, most_tokens=ceiling)
        summaries = "\n".join(summary.text for summary in result.fold.summaries) if result.fold else None
        return MethodOutcome(result.messages, result.tokens_after, 0.0, summaries)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
