"""What a search costs, newest first and by relevance, and what the index adds to the size of the messages.

`python -m benchmarks.search 1000000` builds a larger store; that takes some minutes and two gigabytes.
"""

import json
import random
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import best_cpu, report
from midfold.search import Query, index_terms, make_snippet, read_query
from midfold.store import Order
from midfold.store.codec import stored_texts
from midfold.store.sqlite import index as search_index
from midfold.store.sqlite.driver import open_reader, open_writer, sqlite_version
from midfold.store.sqlite.migrations import migrate
from midfold.store.sqlite.search.conditions import MessageFilters
from midfold.store.sqlite.search.find import Coverage, FoundMessages, find

ROOT = Path(__file__).parents[1]
MESSAGES = 100_000
MESSAGES_PER_SESSION = 1_000
LINES_PER_MESSAGE = 12
PER_TRANSACTION = 5_000
CHINESE = "请修复登录页面的错误，然后运行测试。日志在 /var/log/app.log 里，先安装依赖再重启服务。"
QUERIES = {
    "a word in most messages": "the",
    "a word in many": "message",
    "a word in one": "needle4711",
    "three words": "message token error",
    "a phrase": '"of the"',
    "a prefix": "comp*",
    "a prefix of two letters": "co*",
    "either": "error OR warning OR summary",
    "one without the other": "the -of",
    "a dotted name": "midfold.folding.compression",
    "a part of an identifier": "HTTP",
    "two Chinese characters": "安装",
    "thirty-two common words": " ".join(["the", "of", "a", "in", "is", "and", "to", "it"] * 4),
    "a question": "why did the login fail when the server was started?",
    "a long question": "which message says how many tokens the summary may have before the fold is refused?",
    "a prefix of most words": " OR ".join(f"{first}{second}*" for first in "stcp" for second in "aeiou"),
}
MANY = 200
QUERY_WORDS = (1, 2, 3, 4, 6, 9)
NEWEST_GOALS = {100_000: "20 ms", 1_000_000: "60 ms"}
RELEVANCE_GOALS = {100_000: "30 ms", 1_000_000: "60 ms"}


def main(count: int = MESSAGES) -> None:
    """Print the table for a store of `count` messages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.db"
        _build(path, count)
        connection = open_reader(path)
        version = ".".join(map(str, sqlite_version()))
        print(f"{count:,} messages, SQLite {version}")
        for order, goals in ((Order.NEWEST, NEWEST_GOALS), (Order.RELEVANCE, RELEVANCE_GOALS)):
            for name, text in QUERIES.items():
                _report(connection, f"{order}: {name}", text, order, goals.get(count, "-"))
        _report_many(connection, RELEVANCE_GOALS.get(count, "-"))
        filters = MessageFilters("", sessions=("s3",), role="user")
        _report(connection, "newest: in one session", "the", Order.NEWEST, "-", filters)
        connection.close()


def _report_many(connection: sqlite3.Connection, goal: str) -> None:
    """Print what pieces of messages cost as queries, by relevance, and how many of them were cut off."""
    seconds, cut = [], 0
    for text in _pieces():
        query = read_query(text)

        def search(query: Query = query) -> FoundMessages:
            found = find(connection, query, MessageFilters(""), order=Order.RELEVANCE)
            for row in found.rows:
                make_snippet(stored_texts(row.dialect, row.body), query)
            return found

        cut += search().coverage is Coverage.CUT
        seconds.append(best_cpu(search, runs=3))
    seconds.sort()
    median, late = seconds[MANY // 2] * 1e3, seconds[MANY * 95 // 100] * 1e3
    report(f"relevance: {MANY} pieces of messages", f"median {median:.1f}, p95 {late:.1f} ms", goal)
    report(f"relevance: of {MANY}, cut off", f"{cut}", "0")


def _pieces() -> Iterator[str]:
    source = random.Random(11)
    texts = list(_texts(2 * MANY))
    for number in range(MANY):
        words = re.sub('["()]', "", source.choice(texts)).split()
        count = source.choice(QUERY_WORDS)
        start = source.randrange(max(1, len(words) - count))
        piece = " ".join(words[start : start + count])
        yield piece if number % 20 else f"{piece[:3]}*"


def _report(
    connection: sqlite3.Connection,
    name: str,
    text: str,
    order: Order,
    goal: str,
    filters: MessageFilters = MessageFilters(""),  # noqa: B008 - it is frozen
) -> None:
    def search() -> FoundMessages:
        query = read_query(text)
        found = find(connection, query, filters, order=order)
        for row in found.rows:
            make_snippet(stored_texts(row.dialect, row.body), query)
        return found

    found = search()
    seconds = best_cpu(search, runs=3)
    start = time.perf_counter()
    search()
    wall = time.perf_counter() - start
    figure = f"{seconds * 1e3:.1f} ms, {wall * 1e3:.1f} by the clock"
    report(f"{name}: {len(found.rows)}, {found.coverage}", figure, goal)


def _build(path: Path, count: int) -> None:
    connection = open_writer(path, synchronous="OFF")
    migrate(connection)
    texts = list(_texts(count))
    payload = 0
    start = time.process_time()
    for first in range(0, count, PER_TRANSACTION):
        connection.execute("BEGIN")
        payload += sum(
            _insert(connection, index, texts[index]) for index in range(first, first + PER_TRANSACTION)
        )
        connection.execute("COMMIT")
    seconds = time.process_time() - start
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (index_bytes,) = connection.execute(
        "SELECT (SELECT sum(length(block)) FROM message_words_data)"
        " + (SELECT sum(length(sz)) FROM message_words_docsize)"
    ).fetchone()
    connection.close()
    _report_words(texts)
    report(f"writing {count:,} messages and their index", f"{seconds / count * 1e6:.0f} us each", "-")
    report("index to payload", f"{index_bytes / payload:.2f} of {payload / 1e6:,.0f} MB", "-")
    report("database to payload", f"{path.stat().st_size / payload:.2f}", "2")


def _report_words(texts: list[str]) -> None:
    english = [text for text in texts[:5_000] if text.isascii()]
    other = [text for text in texts[:5_000] if not text.isascii()]
    for name, some, goal in (("ASCII", english, "15 us"), ("other", other, "-")):
        seconds = best_cpu(lambda some=some: [index_terms([text]) for text in some], runs=3)
        figure = seconds / sum(map(len, some)) * 800 * 1e6
        report(f"words for the index, 800 characters of {name} text", f"{figure:.1f} us", goal)


def _insert(connection: sqlite3.Connection, index: int, text: str) -> int:
    session, seq = divmod(index, MESSAGES_PER_SESSION)
    if seq == 0:
        connection.execute(
            "INSERT INTO sessions (key, tenant, id, conversation, kind, source, started_at)"
            " VALUES (?, '', ?, ?, 'root', 'benchmark', 0)",
            (session, f"s{session}", f"s{session}"),
        )
    role = "user" if index % 2 else "assistant"
    body = json.dumps({"role": role, "content": text}, ensure_ascii=False)
    connection.execute(
        "INSERT INTO messages (id, tenant, session, seq, origin, role, tools, dialect, body, is_redacted,"
        " is_exact, digest, created_at)"
        " VALUES (?, '', ?, ?, 'said', ?, '', 'openai_chat', ?, 0, 1, ?, ?)",
        (index + 1, session, seq, role, body, index.to_bytes(32, "big"), float(index)),
    )
    search_index.add(connection, index + 1, index_terms([text]))
    return len(body.encode())


def _texts(count: int) -> Iterator[str]:
    """Yield messages made from lines of our own pages, code and transcripts, with some Chinese."""
    source = random.Random(7)
    files = [
        path
        for pattern in ("docs/*.md", "src/midfold/**/*.py", "tests/**/*.json")
        for path in ROOT.glob(pattern)
    ]
    lines = [line for path in sorted(files) for line in path.read_text("utf-8").splitlines() if line.strip()]
    short = [line[:300] for line in lines]
    for index in range(count):
        said = source.choices(short, k=source.randint(1, 2 * LINES_PER_MESSAGE))
        if index % 10 == 0:
            said.append(CHINESE)
        if index == count // 3:
            said.append("needle4711")
        yield "\n".join(said)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
