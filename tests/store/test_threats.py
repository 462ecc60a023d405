"""Hostile ids, texts and neighbours, as far as they are the store's."""

import random
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import midfold
from midfold.errors import SessionNotFound, StoreError
from midfold.messages.digests import chain_digests
from midfold.store import Call, Order, SessionKind, open_store
from midfold.store.sqlite.store import SqliteStore
from midfold.tokens.usage import CanonicalUsage
from midfold.wire import parse

HOSTILE = (
    "../../../../etc/passwd",
    "..\\..\\windows",
    "/etc/passwd",
    "a/../../b",
    "CON",
    ".",
    "..",
    "~",
    "%2e%2e%2f",
    "a\0b",
    "\ud800",
    "' OR '1'='1",
    "'; DROP TABLE messages; --",
    '" UNION SELECT value FROM meta --',
    "1) OR (1=1",
    "%",
    "_",
    "\\",
    "a" * 10_000,
    "$(reboot)",
    "{{7*7}}",
    "\u202eevil",
    "",
)


def _texts(store: SqliteStore, session: str, text: str) -> dict[str, Callable[[], object]]:
    """Return every verb that takes a text, with this one."""
    call = Call(CanonicalUsage(1), text, purpose=text, id=text or None, cost_kind=text, raw=text)
    return {
        "title": lambda: store.set_title(session, text),
        "content": lambda: store.append(session, {"role": "user", "content": text}),
        "role": lambda: store.append(session, {"role": text, "content": "x"}),
        "finish": lambda: store.append(session, {"role": "user", "content": "x"}, finish_reason=text),
        "new": lambda: store.create_session(source=text, model=text, title=text, system=text),
        "id": lambda: store.create_session(session_id=text or None),
        "call": lambda: store.record_call(session, call),
        "search": lambda: store.search(text, role=text, tool=text),
        "order": lambda: store.search(text, order=Order.RELEVANCE),
        "scan": lambda: store.find_substring(session, text),
        "source": lambda: store.sessions(source=text),
        "lease": lambda: store.release_lease(store.acquire_lease(session, text)),
        "summary": lambda: store.remember_summary(b"x", text, text, text),
        "tenant": lambda: store.for_tenant(text).sessions(),
    }


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_data_in_every_place_that_takes_one(tmp_path: Path, text: str) -> None:
    """It is stored or refused, changes nothing else, and makes no file."""
    with open_store(tmp_path / "store" / "s.db", synchronous="NORMAL") as store:
        kept = store.create_session(session_id="kept").id
        store.append(kept, {"role": "user", "content": "safe and sound"})
        session = store.create_session().id
        for verb in _texts(store, session, text).values():
            with suppress(midfold.MidfoldError):
                verb()
        assert store.messages(kept) == [{"role": "user", "content": "safe and sound"}]
        assert store.check() == []
    files = {each.name for each in tmp_path.rglob("*") if each.is_file()}
    assert files <= {"s.db", "s.db-wal", "s.db-shm", "s.db.writer", "s.db.mark"}


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_any_text_is_an_id_of_its_own_or_none(text: str) -> None:
    """Ids are compared as they are, never mended into one another."""
    with open_store("sqlite::memory:") as store:
        try:
            session = store.create_session(session_id=text).id
        except StoreError:
            return
        assert store.session(session).id == (text or session)
        with pytest.raises(SessionNotFound):
            store.session(f"{text}\u200b")


@settings(max_examples=40)
@given(st.text(st.characters(), max_size=80))
def test_any_text_can_be_stored_and_read(text: str) -> None:
    """What a database cannot hold becomes a sign of itself, everything else comes back."""
    with open_store("sqlite::memory:", redact=False) as store:
        session = store.create_session(dialect="openai_chat").id
        store.append(session, {"role": "user", "content": text})
        [item] = store.messages(session)
    mended = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else "\u2400" if c == "\0" else c for c in text)
    assert item == {"role": "user", "content": mended}


def test_no_verb_of_a_tenant_reaches_another(tmp_path: Path, rounds: int) -> None:
    """Probes with the ids, words and digests of others; ten thousand in the long form."""
    rng = random.Random(22)
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as store:
        tenants = {name: store.for_tenant(name) for name in ("a", "b", "a\u200b", "A")}
        own = {name: _settle(tenant, name) for name, tenant in tenants.items()}
        for _ in range(50 * rounds):
            mine, other = rng.sample(sorted(tenants), 2)
            probe = _probes(tenants[mine], own[other], f"word{sorted(tenants).index(other)}")
            assert probe[rng.randrange(len(probe))]()


def _settle(tenant: SqliteStore, name: str) -> str:
    session = tenant.create_session(session_id=f"session of {name}").id
    number = sorted(("a", "b", "a\u200b", "A")).index(name)
    tenant.append(session, {"role": "user", "content": f"word{number} is mine"})
    tenant.record_call(session, Call(CanonicalUsage(5), "m"))
    tenant.acquire_lease(session, name)
    tenant.remember_summary(name.encode(), "m", "p", name)
    return session


def _probes(tenant: SqliteStore, foreign: str, word: str) -> list[Callable[[], bool]]:
    """Return looks at what belongs to somebody else, each true when nothing is seen."""

    def unknown(verb: Callable[[str], object]) -> Callable[[], bool]:
        def probe() -> bool:
            try:
                verb(foreign)
            except SessionNotFound:
                return True
            return False

        return probe

    digests = chain_digests(parse([{"role": "user", "content": f"{word} is mine"}], "openai_chat"))
    return [
        *map(unknown, (tenant.messages, tenant.records, tenant.history, tenant.session, tenant.chain)),
        *map(unknown, (tenant.delete, tenant.end_session, tenant.undo_continuation, tenant.system)),
        *map(unknown, (tenant.get_compression_tip, tenant.usage, tenant.calls, tenant.folds)),
        unknown(lambda session: tenant.create_session(parent_id=session, kind=SessionKind.BRANCH)),
        unknown(lambda session: tenant.append(session, {"role": "user", "content": "x"})),
        unknown(lambda session: tenant.acquire_lease(session, "x")),
        unknown(lambda session: tenant.search("mine", session_id=session)),
        lambda: foreign not in {hit.session_id for hit in tenant.search(word).hits},
        lambda: tenant.search(word).hits == (),
        lambda: tenant.find_history(digests) is None,
        lambda: tenant.usage().input_tokens == 5,
        lambda: len(tenant.sessions()) == 1,
        lambda: len(list(tenant.calls())) == 1,
    ]


def test_what_is_missing_and_what_is_foreign_take_the_same_time(store: SqliteStore) -> None:
    """Neither words nor time tell them apart."""
    foreign = store.for_tenant("other").create_session().id
    missing = "0" * 32

    def ratio() -> float:
        times: dict[str, list[float]] = {foreign: [], missing: []}
        for _ in range(150):
            for session in (foreign, missing):
                start = time.perf_counter()
                with pytest.raises(SessionNotFound):
                    store.messages(session)
                times[session].append(time.perf_counter() - start)
        medians = [statistics.median(each) for each in times.values()]
        return max(medians) / min(medians)

    assert min(ratio() for _ in range(3)) < 3
