"""A credential of any shape, planted wherever a store takes text, is found in nothing it keeps."""

import importlib.util
import json
import sqlite3
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

from midfold.errors import MidfoldError
from midfold.folding.compression import Compression
from midfold.folding.fold import Edit, Fold, Replacement, Span, splice
from midfold.folding.state import CompressionState
from midfold.messages import Message, Text
from midfold.store import Call, SessionKind, open_store
from midfold.store.sqlite.driver import driver
from midfold.store.sqlite.store import SqliteStore
from midfold.store.transfer import ExportView, export_session
from midfold.tokens.usage import CanonicalUsage
from midfold.wire import parse, render

SHAPES_FILE = Path(__file__).parents[1] / "redact" / "test_shapes.py"
LEAST_SHAPES = 60
# Shorter pieces of a credential than this occur by chance.
TELLING_CHARS = 8
FILLER = "about the harbour office " * 30


def _load_shapes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("midfold_shapes", SHAPES_FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def planted() -> list[tuple[str, list[str]]]:
    """Made-up credentials of every shape, and the parts of each that must not be found."""
    shapes = _load_shapes()
    templates = [template for _, template in shapes.rows(shapes.BY_SHAPE) + shapes.rows(shapes.BY_PLACE)]
    assert len(templates) >= LEAST_SHAPES
    drawn = [shapes.draw(template, 3) for template in templates]
    return [(text, [part for part in parts if len(part) >= TELLING_CHARS]) for text, parts in drawn]


@pytest.fixture(scope="module")
def kept(
    planted: Sequence[tuple[str, list[str]]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[str]]:
    """The file of a closed store that was given all of them in every place, and its exports."""
    path = tmp_path_factory.mktemp("secrets") / "s.db"
    exports: list[str] = []
    with open_store(path, synchronous="NORMAL") as store:
        for text, _ in planted:
            tip = _plant(store, text)
            exports += [export_session(store, tip, view=view).text for view in ExportView]
        store.search("harbour")
    return path, exports


@pytest.mark.slow
def test_no_table_holds_a_credential(
    planted: list[tuple[str, list[str]]], kept: tuple[Path, list[str]]
) -> None:
    path, _ = kept
    connection: sqlite3.Connection = driver.connect(str(path))
    found = []
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        values = "\n".join(_texts_of(connection, table))
        found += [f"{table}: {text}" for text, parts in planted if any(part in values for part in parts)]
    connection.close()
    assert found == []


def test_no_word_of_the_index_is_part_of_a_credential(
    planted: list[tuple[str, list[str]]], kept: tuple[Path, list[str]]
) -> None:
    path, _ = kept
    connection: sqlite3.Connection = driver.connect(str(path))
    connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 'message_words', 'row')")
    terms = {term for (term,) in connection.execute("SELECT term FROM terms")}
    connection.close()
    assert "harbour" in terms
    words = {part.lower() for _, parts in planted for part in parts}
    assert words & terms == set()


def test_no_byte_of_the_file_or_an_export_tells_a_credential(
    planted: list[tuple[str, list[str]]], kept: tuple[Path, list[str]]
) -> None:
    path, exports = kept
    data = b"".join(each.read_bytes() for each in path.parent.iterdir())
    text = "\n".join(exports)
    assert b"REDACTED" in data
    assert [secret for secret, parts in planted if any(part.encode() in data for part in parts)] == []
    assert [secret for secret, parts in planted if any(part in text for part in parts)] == []


def test_a_live_log_holds_no_credential_either(planted: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    """While the store is open, most of it is in the log."""
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as store:
        for text, _ in planted:
            store.append(store.create_session().id, {"role": "user", "content": f"use {text} here"})
        data = b"".join(each.read_bytes() for each in tmp_path.glob("s.db*"))
    assert [secret for secret, parts in planted if any(part.encode() in data for part in parts)] == []


def test_the_caller_s_own_messages_are_untouched_and_placeholders_are_stable(store: SqliteStore) -> None:
    secret = "ghp_" + "a1B2" * 9
    item = {"role": "user", "content": f"use {secret}"}
    session = store.create_session().id
    store.append(session, [item, item])
    assert item["content"] == f"use {secret}"
    first, second = store.messages(session)
    assert first == second
    assert all(record.is_redacted for record in store.records(session))
    other = store.create_session().id
    store.append(other, item)
    assert store.messages(other) != [first]


def test_a_store_may_be_told_to_keep_credentials(tmp_path: Path) -> None:
    item = {"role": "user", "content": "password=correct-horse-battery"}
    with open_store(tmp_path / "s.db", redact=False, synchronous="NORMAL") as store:
        session = store.create_session().id
        store.append(session, item)
        assert store.messages(session) == [item]


def test_no_error_of_the_store_tells_a_credential(
    planted: list[tuple[str, list[str]]], tmp_path: Path
) -> None:
    """What is refused is not quoted."""
    told: list[str] = []
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as store:
        session = store.create_session().id
        for text, _ in planted:
            for wrong in (
                {"role": "user", "content": [{text: object()}]},
                {"role": "user", text: {1, 2}},
                [text],
            ):
                with pytest.raises((MidfoldError, TypeError, ValueError)) as caught:
                    store.append(session, [{"role": "user", "content": text}, wrong])
                told.append(str(caught.value))
        assert store.messages(session) == []
    assert [secret for secret, parts in planted if any(p in "\n".join(told) for p in parts)] == []


def _plant(store: SqliteStore, text: str) -> str:
    """Give a store a text in every place that takes one; return the newest session."""
    arguments = {"note": text, "list": [text, {"deep": text}]}
    session = store.create_session(
        title=f"about {text}", source=text, model=f"m {text}", system=f"Use {text}."
    ).id
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "run", "arguments": json.dumps(arguments)}}
    ]
    items: list[object] = [
        {"role": "user", "content": f"Please use {text} now.\n{FILLER}"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": f"first line\n{text}\n{FILLER}"},
        {"role": "assistant", "content": [{"type": "text", "text": f"done with {text}"}]},
    ]
    store.append(session, items, finish_reason="stop")
    parsed = store.create_session(dialect="anthropic", parent_id=session, kind=SessionKind.SUBAGENT).id
    use = {"type": "tool_use", "id": "t1", "name": "run", "input": arguments}
    store.append(parsed, [{"role": "user", "content": text}, {"role": "assistant", "content": [use]}])
    talk = [{"role": "user", "content": f"{number} {text} {FILLER}"} for number in range(8)]
    store.append(session, talk)
    store.record_call(session, Call(CanonicalUsage(), "m", raw={"note": text}, facts={"failure": text}))
    store.remember_summary(sha256(text.encode()).digest(), "m", "p", f"a summary with {text}")
    store.set_title(session, text)
    return _fold(store, session, text)


def _fold(store: SqliteStore, session: str, text: str) -> str:
    """Fold by hand, with a summary that nobody looked through, and a message cut short."""
    before = tuple(parse(store.messages(session), "openai_chat"))
    edit = Edit(0, ((0, Text(f"short: {text}")),))
    summary = Message("user", (Text(f"a summary with {text}"),))
    fold = Fold((Replacement(Span(4, 10), summary),), edits=(edit,)).identified(before)
    result: Compression[object] = Compression(
        messages=render(splice(fold, before), "openai_chat"),
        before=before,
        fold=fold,
        reason=f"because of {text}",
        state=CompressionState(),
        tokens_before=9,
        tokens_after=5,
        budget_tokens=6,
        warning=text,
    )
    facts = {"note": text, "nested": {"deep": [text]}}
    return store.continue_session(session, result.messages, result, facts=facts, system={"text": text})


def _texts_of(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    for row in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608
        for value in row:
            yield value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
