"""Texts that break a naive search: they are words to look for, quick and without side effects."""

import time

import pytest

from midfold.search import make_snippet, read_query
from midfold.store.sqlite.search.find import MessageFilters, find
from midfold.store.values import Order

SYNTAX = (
    *(
        '"',
        '""',
        '"""',
        '"a',
        'a"',
        'a"b',
        '"a" "',
        '"a""b',
        "'",
        "''",
        "'a",
        "`a`",
        "[a]",
        "{a}",
        "{a b}: c",
    ),
    *(
        "(",
        ")",
        "()",
        "(a",
        "a)",
        "((a)",
        "(a))",
        "(a OR",
        ")a(",
        "(" * 500,
        "((((" * 60 + "a",
        "a" + ")" * 500,
    ),
    *("*", "**", "a**", "*a", "a*b", '"a"*', '"a b" *', "^", "^a", "a ^b", "^ ^", "+", "a + b", "a +", "+ a"),
    *(
        "AND",
        "OR",
        "NOT",
        "AND AND",
        "a AND",
        "AND a",
        "a OR OR b",
        "a NOT",
        "NOT a",
        "NOT NOT a",
        "a AND NOT",
    ),
    *(
        "NEAR",
        "NEAR(",
        "NEAR()",
        "NEAR(a",
        "NEAR(a b)",
        "NEAR(a b, 5)",
        "NEAR(a b, -1)",
        "NEAR/3",
        "a NEAR/2 b",
    ),
    *(
        ":",
        "a:",
        ":a",
        "words:",
        "words:a",
        "words : a",
        "nosuch:a",
        "- words : a",
        "{words}: a",
        "rowid:1",
        "rank:1",
    ),
    *(
        "-",
        "--",
        "-a",
        "- a",
        "--a",
        "-(a",
        '-"a',
        "a -",
        "a - b",
        "-a -b",
        "-(-(-(a)))",
        "-NOT a",
        "a NOT -b",
    ),
    *(
        "%",
        "_",
        "a%",
        "\\",
        "\\\\",
        '\\"',
        "a\\",
        "$a",
        "?1",
        ":name",
        "@a",
        ";",
        "a;b",
        "/*",
        "*/",
        "--",
        "#",
        "~a",
    ),
    *(
        "\0",
        "a\0b",
        "\0a",
        "\x01",
        "\x1b[31m",
        "\n\n",
        "\r",
        "\t",
        "\ufeff",
        "\u202e",
        "\u200b",
        "\ud800",
        "a\udfff",
    ),
    *(
        "é",
        "e\u0301",
        "\u0301",
        "ß",
        "İ",
        "ﬁ",
        "ｆ",
        "安",
        "安*",
        '"安装',
        "안",
        "ก",
        "🫡",
        "👩‍👩‍👧",
        "\U0010ffff",
        "\u19b0",
    ),
)
HEAVY = (
    *("a " * 500, "a OR " * 250, "a AND " * 200, "a NOT " * 200, "-a " * 300, '"a ' * 300, "x" * 100_000),
    *(
        "安" * 5_000,
        '"' * 5_001,
        "co* " * 200,
        " OR ".join(f"{first}o*" for first in "abcdefghijklmnopqrstuvwxyz"),
    ),
    *("(a OR (b AND " * 80, "((" * 499 + "a", "aB" * 600, "NEAR(" * 200, "word " * 20_000, "\ud800" * 5_000),
)
INJECTIONS = (
    *(
        "'",
        "''",
        "';--",
        "' OR '1'='1",
        "' OR 1=1--",
        '" OR ""="',
        "') OR ('1'='1",
        "1; DROP TABLE messages",
        "1 OR 1=1",
    ),
    *(
        "'; DROP TABLE messages;--",
        "' UNION SELECT body FROM messages--",
        "' UNION ALL SELECT NULL,NULL,NULL--",
    ),
    *(
        "') UNION SELECT name FROM sqlite_master--",
        "1' AND randomblob(100000000)--",
        "' || (SELECT tenant) || '",
    ),
    *(
        "' AND 1=CAST((SELECT body FROM messages LIMIT 1) AS INT)--",
        "%27%20OR%201=1",
        "\\'; --",
        "'/**/OR/**/1=1",
    ),
    *(
        "a' AND '1'='1",
        "a' AND '1'='2",
        "' HAVING 1=1--",
        "' ORDER BY 99--",
        "0x27",
        "char(39)",
        "'\0",
        "*",
        "%",
        "_",
    ),
    *(
        "'; ATTACH DATABASE 'x' AS y;--",
        "'; PRAGMA query_only=0;--",
        "load_extension('x')",
        "['x']",
        '["x"]',
        "$.x",
        "null",
    ),
)


@pytest.fixture
def busy_shelf(shelf):
    for number in range(1_000):
        shelf.say(f"a co{number} word number {number} 安装依赖 to go on", session=f"s{number % 7}")
    return shelf


def test_no_query_is_an_error_nor_slow(busy_shelf):
    assert len(SYNTAX) >= 56
    suspects = [text for text in (*SYNTAX, *HEAVY) if _seconds(busy_shelf.connection, text) > 0.2]
    # What is slow is slow every time; a collection of garbage, or a busy machine, is not.
    slow = [text for text in suspects if min(_seconds(busy_shelf.connection, text) for _ in range(3)) > 1]
    assert slow == []


def _seconds(connection, text):
    start = time.process_time()
    query = read_query(text)
    for order in Order:
        for row in find(connection, query, MessageFilters(""), order=order).rows:
            make_snippet([row.body], query)
    return time.process_time() - start


def test_whoever_quotes_it_finds_it(shelf):
    texts = [text for text in SYNTAX if read_query(text).tree and text != "\u19b0"]
    said = {shelf.say(f"before {text} behind"): text for text in texts}
    missed = [
        text
        for rowid, text in said.items()
        if rowid not in shelf.find('"{}"'.format(text.replace('"', " ")), limit=1_000)
    ]
    assert missed == []


def test_no_parameter_is_read_as_sql(busy_shelf):
    before = _state(busy_shelf.connection)
    for text in INJECTIONS:
        assert busy_shelf.find("word", tenant=text) == []
        assert busy_shelf.find("word", sessions=(text,)) == []
        assert busy_shelf.find("word", conversation=text) == []
        assert busy_shelf.find("word", role=text) == []
        assert busy_shelf.find("word", tool=text) == []
        busy_shelf.find(text)
        assert busy_shelf.scan("word", session=text).rows == ()
        assert busy_shelf.scan("word", tenant=text).rows == ()
        busy_shelf.scan(text, session="s0")
    assert _state(busy_shelf.connection) == before


def test_a_lone_surrogate_in_a_filter_matches_nothing(busy_shelf):
    for name in ("tenant", "conversation", "role", "tool"):
        assert busy_shelf.find("word", **{name: "\ud800"}) == []
    assert busy_shelf.find("word", sessions=("\ud800",)) == []
    assert busy_shelf.scan("\ud800", session="\ud800").rows == ()


def _state(connection):
    tables = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    return tables, connection.execute("SELECT count(*), sum(id), sum(length(body)) FROM messages").fetchall()
