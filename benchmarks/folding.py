"""What a compression costs beyond counting, how it grows, and what the next turn of a long session costs."""

import gzip
import json
import time

from benchmarks.peers import DATA
from benchmarks.timing import best_cpu, report
from midfold.engines import ContextCompressor
from midfold.folding import CompressionPolicy, Strategy, compress, run
from midfold.messages import Message
from midfold.ports import Count
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import parse

COUNT = TokenCounter()
LONG_SESSION_TOKENS = 150_000


def main() -> None:
    """Print the figures."""
    session = _session(1_000, result_chars=4_400)
    sizes = [COUNT(message) for message in session]
    seconds = best_cpu(lambda: _fold(session, sizes, sum(sizes) // 10), runs=5)
    report(f"fold 1,000 messages, {sum(sizes):,} tokens, to a tenth", f"{seconds * 1000:.0f} ms", "150 ms")
    _report_real_sessions()
    ten, fifty = (_time_fold(count) for count in (10_000, 50_000))
    report("fold 10,000 messages beyond counting", f"{ten * 1000:.0f} ms", "-")
    report("50,000 against 10,000 messages", f"{fifty / ten:.2f} x", "5.5 x")
    report("next turn of a 10,000-message engine", f"{_time_turn() * 1000:.2f} ms", "2 ms")


def _report_real_sessions() -> None:
    """Fold long real sessions to a tenth, each by the digest and from nothing, and say what that takes."""
    tokens, seconds, sessions = 0, 0.0, 0
    for path in sorted(DATA.glob("*.json.gz")):
        messages = parse(json.loads(gzip.decompress(path.read_bytes()))["messages"])
        sizes = [COUNT(message) for message in messages]
        if sum(sizes) >= LONG_SESSION_TOKENS:
            sessions += 1
            tokens += sum(sizes)
            seconds += min(_time_beyond_counting(messages, sizes) for _ in range(7))
    if sessions:
        figure = f"{seconds * 1000 * 450_000 / tokens:.0f} ms"
        report(f"{sessions} real sessions, for 450,000 tokens, beyond counting", figure, "150 ms")


def _time_beyond_counting(messages: list[Message], sizes: list[int]) -> float:
    counting = 0.0

    def count(message: Message) -> int:
        nonlocal counting
        start = time.process_time()
        size = COUNT(message)
        counting += time.process_time() - start
        return size

    start = time.process_time()
    _fold(messages, sizes, sum(sizes) // 10, count)
    return time.process_time() - start - counting


def _session(count: int, result_chars: int = 800) -> list[Message]:
    return parse(transcript(turns=count // 4, result_chars=result_chars, last="Go on."))[:count]


def _fold(messages: list[Message], sizes: list[int], ceiling: int, count: Count = COUNT) -> object:
    policy = CompressionPolicy(max_tokens=ceiling, strategy=Strategy.STAGED)
    return run(compress(messages, policy=policy, count=count, sizes=sizes), _never)


def _time_fold(count: int) -> float:
    messages = _session(count)
    sizes = [COUNT(message) for message in messages]
    return best_cpu(lambda: _fold(messages, sizes, sum(sizes) // 10), runs=2)


def _time_turn() -> float:
    """Time one preflight after one more message, as a host does each turn."""
    engine = ContextCompressor(10_000_000)
    items = transcript(turns=2_600, result_chars=300)[:10_000]
    engine.should_compress_preflight(items)

    def turn() -> None:
        items.append({"role": "user", "content": "and now?"})
        engine.should_compress_preflight(items)

    return best_cpu(turn, runs=30)


def _never(_request: object) -> str:
    raise AssertionError("the digest asks nobody")


if __name__ == "__main__":
    main()
