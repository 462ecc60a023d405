"""What goes into a store comes out of it: every message, in order, as it was."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import midfold
from midfold.errors import ConfigError, SessionEnded, SessionGrew, SessionNotFound, StoreError, StoreFull
from midfold.messages import Message, Text
from midfold.store import Call, EndReason, SessionKind, open_store
from midfold.store.sqlite.store import SqliteStore
from midfold.testing import transcript
from midfold.tokens.usage import CanonicalUsage

Talk = Callable[..., list[object]]


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic", "sharegpt"])
def test_messages_of_every_dialect_come_back_equal(store: SqliteStore, dialect: str) -> None:
    items = transcript(dialect, seed=5, turns=12)
    session = store.create_session(dialect=dialect).id
    for start in range(0, len(items), 7):
        store.append(session, items[start : start + 7])
    assert store.messages(session) == items


def test_the_dialect_is_learnt_from_the_first_message_that_shows_it(store: SqliteStore) -> None:
    session = store.create_session().id
    store.append(session, {"role": "user", "content": "hello"})
    assert store.session(session).dialect is None
    store.append(session, transcript("anthropic", seed=1, turns=3))
    assert store.session(session).dialect == "anthropic"


def test_messages_made_by_midfold_are_spelled_in_the_session_s_dialect(store: SqliteStore) -> None:
    session = store.create_session(dialect="openai_chat").id
    store.append(session, Message("user", (Text("hi"),)))
    assert store.messages(session) == [{"role": "user", "content": "hi"}]


def test_numbers_are_dense_and_a_batch_is_all_or_nothing(store: SqliteStore) -> None:
    session = store.create_session().id
    assert (
        store.append(session, [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}])
        == 0
    )
    with pytest.raises(midfold.MidfoldError):
        store.append(session, [{"role": "user", "content": "three"}, 17])
    assert store.append(session, {"role": "user", "content": "three"}) == 2
    assert [record.seq for record in store.records(session)] == [0, 1, 2]


def test_a_part_of_a_session_can_be_read(store: SqliteStore, talk: Talk) -> None:
    session = store.create_session().id
    items = talk(5)
    store.append(session, items)
    assert [record.item for record in store.records(session, 3, 6)] == items[3:6]


def test_what_is_known_about_a_message_is_kept(store: SqliteStore, talk: Talk) -> None:
    session = store.create_session().id
    store.append(session, talk(1), tokens=[9, 8, 7, 6], finish_reason="stop")
    call, result, last = store.records(session)[1:]
    assert call.tools == ("read_file",)
    assert (result.role, result.tokens) == ("tool", 7)
    assert (last.finish_reason, last.origin, last.is_redacted) == ("stop", "said", False)


def test_counts_that_do_not_match_the_messages_are_refused(store: SqliteStore) -> None:
    session = store.create_session().id
    with pytest.raises(StoreError, match="1 messages came with 2 counts"):
        store.append(session, {"role": "user", "content": "x"}, tokens=[1, 2])


def test_a_session_that_ended_takes_no_more(store: SqliteStore) -> None:
    session = store.create_session().id
    store.end_session(session, EndReason.EXPIRED)
    with pytest.raises(SessionEnded):
        store.append(session, {"role": "user", "content": "x"})
    store.reopen_session(session)
    assert store.append(session, {"role": "user", "content": "x"}) == 0


def test_surrogates_and_nul_are_stored_as_signs_of_themselves(store: SqliteStore) -> None:
    """Neither can be held by every database."""
    session = store.create_session().id
    store.append(session, {"role": "user", "content": "cut \ud83d emoji and a \0 byte"})
    assert store.messages(session) == [{"role": "user", "content": "cut \ufffd emoji and a \u2400 byte"}]


def test_another_tenant_s_session_is_not_there(store: SqliteStore) -> None:
    """What is foreign and what is missing look alike."""
    session = store.create_session().id
    store.append(session, {"role": "user", "content": "mine"})
    other = store.for_tenant("other")
    foreign = _error(lambda: other.messages(session))
    missing = _error(lambda: other.messages("0" * 32))
    assert type(foreign) is type(missing) is SessionNotFound
    assert str(foreign).replace(session, "0" * 32) == str(missing)
    for verb in (other.get_compression_tip, other.chain, other.delete, other.end_session, other.usage):
        assert isinstance(_error(lambda verb=verb: verb(session)), SessionNotFound)


def test_ids_are_random_and_long(store: SqliteStore) -> None:
    """Nobody guesses 128 bits."""
    ids = {store.create_session().id for _ in range(50)}
    assert len(ids) == 50
    assert all(len(bytes.fromhex(each)) == 16 for each in ids)


def test_the_same_id_twice_is_refused(store: SqliteStore) -> None:
    store.create_session(session_id="fixed")
    with pytest.raises(StoreError):
        store.create_session(session_id="fixed")
    assert store.for_tenant("other").create_session(session_id="fixed").id == "fixed"


def test_sessions_are_listed_newest_first(store: SqliteStore) -> None:
    first = store.create_session(source="chat", title="first")
    second = store.create_session(source="gateway")
    assert [each.id for each in store.sessions()] == [second.id, first.id]
    assert [each.title for each in store.sessions(source="chat")] == ["first"]


def test_the_system_prompt_is_kept_with_the_session(store: SqliteStore) -> None:
    blocks = [{"type": "text", "text": "Be kind."}]
    assert store.system(store.create_session(system=blocks).id) == blocks


def test_a_quota_says_no_and_keeps_what_was_there(tmp_path: Path) -> None:
    store = open_store(tmp_path / "s.db", quota_bytes=2_000, synchronous="NORMAL")
    session = store.create_session().id
    store.append(session, {"role": "user", "content": "a" * 1_000})
    with pytest.raises(StoreFull):
        store.append(session, {"role": "user", "content": "b" * 1_000})
    assert len(store.messages(session)) == 1
    store.delete(session)
    assert store.append(store.create_session().id, {"role": "user", "content": "c" * 1_000}) == 0
    store.close()


def test_many_threads_append_without_losing_anything(store: SqliteStore) -> None:
    session = store.create_session().id

    def work(name: int) -> None:
        for turn in range(25):
            store.append(session, {"role": "user", "content": f"{name}/{turn}"})

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = store.records(session)
    assert [record.seq for record in records] == list(range(200))
    assert len({str(record.item) for record in records}) == 200


def test_a_store_in_memory_works_like_a_file(talk: Talk) -> None:
    store = open_store("sqlite::memory:")
    session = store.create_session().id
    store.append(session, talk(3))
    assert store.messages(session) == talk(3)
    assert store.search("module_2").hits
    store.close()


@pytest.mark.parametrize("url", ["", "sqlite:", "sqlite:///", "mysql://host/db", "sqlite:///a\0b"])
def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        open_store(url)


@pytest.mark.parametrize("form", ["{}", "sqlite://{}", "sqlite:///{}"])
def test_a_file_may_be_named_in_several_ways(tmp_path: Path, form: str) -> None:
    path = tmp_path / "my sessions" / "s.db"
    open_store(form.format(path)).close()
    assert path.exists()


def test_subagents_and_branches_have_conversations_of_their_own(store: SqliteStore, talk: Talk) -> None:
    root = store.create_session().id
    store.append(root, talk(2))
    helper = store.create_session(parent_id=root, kind=SessionKind.SUBAGENT)
    branch = store.create_session(parent_id=root, kind=SessionKind.BRANCH)
    assert store.messages(helper.id) == []
    assert store.messages(branch.id) == talk(2)
    assert len({root, helper.conversation_id, branch.conversation_id}) == 3
    assert {helper.parent_id, branch.parent_id} == {root}


def _error(action: Callable[[], object]) -> Exception:
    with pytest.raises(midfold.MidfoldError) as caught:
        action()
    return caught.value


def test_invariant_37_words_of_a_deleted_conversation_are_not_in_the_file(tmp_path: Path) -> None:
    """Invariant 37: neither rows nor the index keep them."""
    path = tmp_path / "s.db"
    with open_store(path, synchronous="NORMAL") as store:
        doomed, kept = store.create_session().id, store.create_session().id
        for number in range(150):
            store.append(doomed, {"role": "user", "content": f"uniquezebra{number} was here"})
            store.append(kept, {"role": "user", "content": f"plainhorse{number} stays"})
        assert store.search("uniquezebra7").hits
        store.delete(doomed)
        assert store.search("plainhorse7").hits
        assert store.check() == []
    data = path.read_bytes()
    assert b"uniquezebra" not in data
    assert b"plainhorse" in data


def test_credentials_in_names_and_reasons_are_not_stored(tmp_path: Path) -> None:
    """Every column, not only messages."""
    canary = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    path = tmp_path / "s.db"
    with open_store(path, synchronous="NORMAL") as store:
        session = store.create_session(title=canary, source=canary, model=canary, system=canary).id
        store.append(session, {"role": "user", "content": "x"}, finish_reason=f"error {canary}")
        call = Call(CanonicalUsage(1, 1), f"m {canary}", purpose=canary, id=canary, raw={"k": canary})
        store.record_call(session, call)
        store.record_call(session, call)
        assert store.usage(session).input_tokens == 1
        lease = store.acquire_lease(session, canary)
        store.release_lease(store.renew_lease(lease))
        store.remember_summary(b"span", canary, canary, canary)
        assert store.recall_summary(b"span", canary, canary)
        store.end_session(session, f"because {canary}")
    assert canary.encode() not in b"".join(each.read_bytes() for each in tmp_path.iterdir())


@pytest.mark.parametrize("tenant", ["a\0", "\ud800"])
def test_a_tenant_whose_name_would_be_mended_is_refused(store: SqliteStore, tenant: str) -> None:
    """Two names must never become one."""
    with pytest.raises(StoreError):
        store.for_tenant(tenant)


def test_an_append_after_other_messages_than_expected_adds_nothing(store: SqliteStore, talk: Talk) -> None:
    session = store.create_session().id
    store.append(session, talk(2), expected_count=0)
    with pytest.raises(SessionGrew) as caught:
        store.append(session, {"role": "user", "content": "late"}, expected_count=0)
    assert caught.value.count == len(talk(2)) == store.session(session).message_count
    store.append(session, {"role": "user", "content": "next"}, expected_count=caught.value.count)
    assert store.messages(session) == [*talk(2), {"role": "user", "content": "next"}]


def test_of_two_who_append_at_once_after_the_same_messages_one_is_told(
    store: SqliteStore, talk: Talk
) -> None:
    session = store.create_session().id
    store.append(session, talk(2))
    count, start = store.session(session).message_count, threading.Barrier(2)
    told: list[SessionGrew] = []

    def say(words: str) -> None:
        start.wait()
        try:
            store.append(session, {"role": "user", "content": words}, expected_count=count)
        except SessionGrew as error:
            told.append(error)

    threads = [threading.Thread(target=say, args=(words,)) for words in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [error.count for error in told] == [count + 1]
    assert store.session(session).message_count == count + 1
