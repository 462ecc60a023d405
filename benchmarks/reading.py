"""Parsing, digesting and rendering whole conversations, and one request body as a gateway gets it."""

import json
import tracemalloc
from collections.abc import Callable

from benchmarks.timing import best_cpu, report
from midfold.engines import ContextCompressor
from midfold.messages import MessageCache, chain_digests
from midfold.testing import transcript
from midfold.transcripts import decode_json
from midfold.wire import DIALECTS, detect, parse, read_request, render

MESSAGES = 10_000
BODY_BYTES = 1_000_000


def main() -> None:
    """Print the figures for every dialect."""
    for dialect in sorted(DIALECTS):
        items = _many(dialect, MESSAGES)
        chars = len(json.dumps(items)) // MESSAGES
        seconds = best_cpu(_whole_path(items))
        report(
            f"parse + digest + render 10,000 {dialect} ({chars} B each)", f"{seconds * 1000:.0f} ms", "120 ms"
        )
    for dialect in sorted(DIALECTS):
        body = _body(dialect)
        seconds = best_cpu(_request_path(body))
        report(
            f"decode + parse + digest {len(body) / 1e6:.2f} MB of {dialect}",
            f"{seconds * 1000:.1f} ms",
            "10 ms",
        )

    for dialect in ("openai_chat", "openai_responses", "anthropic"):
        _report_fresh(dialect)


def _report_fresh(dialect: str) -> None:
    """Measure a request whose JSON is fresh and whose first 99 % were seen before, and the room it takes."""
    body = json.dumps(transcript(dialect, turns=250, result_chars=2_500)).encode()
    engine = ContextCompressor(1_000_000)
    seen = decode_json(body)
    engine.should_compress_preflight(seen[: len(seen) * 99 // 100])
    seconds = best_cpu(lambda: engine.should_compress_preflight(decode_json(body)))
    name = f"fresh JSON of a known {dialect} history, {len(body) / 1e6:.2f} MB"
    report(name, f"{seconds * 1000:.1f} ms", "15 ms")
    tracemalloc.start()
    cache = MessageCache(parse)
    cache.read(decode_json(body), dialect)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    report("what the cache takes, to the bytes it knows", f"{taken / len(body):.2f}", "1.5")


def _whole_path(items: list[object]) -> Callable[[], object]:
    def work() -> None:
        dialect = detect(items)
        messages = parse(items, dialect)
        chain_digests(messages)
        render(messages, dialect)

    return work


def _request_path(body: bytes) -> Callable[[], object]:
    def work() -> None:
        request = read_request(decode_json(body))
        chain_digests(parse(request.messages, request.dialect))

    return work


def _many(dialect: str, wanted: int) -> list[object]:
    items = transcript(dialect, turns=wanted // 3, result_chars=4000, thinking=True)
    return items[:wanted]


def _body(dialect: str) -> bytes:
    key = {"openai_responses": "input", "sharegpt": "conversations"}.get(dialect, "messages")
    items = _many(dialect, MESSAGES)
    return json.dumps({"model": "m", key: items[: _fitting(items)]}).encode()


def _fitting(items: list[object]) -> int:
    """How many items make about a megabyte, the size of a long agent session's request."""
    size = 0
    for count, item in enumerate(items):
        size += len(json.dumps(item)) + 2
        if size > BODY_BYTES:
            return count
    return len(items)


if __name__ == "__main__":
    main()
