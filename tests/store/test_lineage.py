"""Chains: a fold ends a session and opens its continuation, and everything can be taken back."""

import sqlite3
from collections.abc import Callable

import pytest

from midfold.errors import SessionBusy, SessionEnded, StoreError
from midfold.folding.compression import Compression
from midfold.folding.fold import apply
from midfold.messages.digests import chain_digests
from midfold.store import SessionKind
from midfold.store.sqlite.store import SqliteStore
from midfold.wire import parse, render

Talk = Callable[..., list[object]]
Folding = Callable[[list[object]], Compression[object]]


@pytest.fixture
def folded(store: SqliteStore, talk: Talk, fold: Folding) -> tuple[str, str, Compression[object]]:
    """A session and the one that continues it."""
    session = store.create_session(source="chat", model="m", title="t", system="Be kind.").id
    store.append(session, talk(30))
    result = fold(talk(30))
    return session, store.continue_session(session, result.messages, result), result


def test_the_continuation_says_what_the_fold_made(
    store: SqliteStore, folded: tuple[str, str, Compression[object]]
) -> None:
    session, child, result = folded
    assert store.messages(child) == result.messages
    opened, ended = store.session(child), store.session(session)
    assert (opened.kind, opened.parent_id, opened.conversation_id) == (
        SessionKind.CONTINUATION,
        session,
        session,
    )
    assert (opened.source, opened.model, opened.title) == ("chat", "m", "t")
    assert store.system(child) == "Be kind."
    assert (ended.end_reason, ended.ended_at is not None) == ("compression", True)


def test_the_old_session_stays_complete_and_nothing_is_written_twice(
    store: SqliteStore, folded: tuple[str, str, Compression[object]], talk: Talk
) -> None:
    session, child, result = folded
    assert store.messages(session) == talk(30)
    assert [record.item for record in store.history(child)] == talk(30)
    own = [record for record in store.records(child) if record.session_id == child]
    assert result.fold is not None
    assert len(own) == 1 + len(result.fold.edits) + len(result.fold.inserts)
    assert {record.origin for record in own} <= {"summary", "copy", "stub"}


def test_any_session_of_a_chain_leads_to_its_tip(store: SqliteStore, talk: Talk, fold: Folding) -> None:
    ids = [store.create_session().id]
    store.append(ids[0], talk(30))
    for number in range(1, 4):
        result = fold(store.messages(ids[-1]))
        ids.append(store.continue_session(ids[-1], result.messages, result))
        store.append(ids[-1], talk(20, start=100 * number))
    assert {store.get_compression_tip(each) for each in ids} == {ids[-1]}
    assert [each.id for each in store.chain(ids[2])] == ids
    assert len(store.folds(ids[0])) == 3
    history = [record.item for record in store.history(ids[1])]
    assert history == talk(30) + talk(20, start=100) + talk(20, start=200) + talk(20, start=300)


def test_a_session_that_was_continued_takes_no_more_and_names_its_tip(
    store: SqliteStore, folded: tuple[str, str, Compression[object]]
) -> None:
    session, child, result = folded
    with pytest.raises(SessionEnded) as caught:
        store.append(session, {"role": "user", "content": "late"})
    assert caught.value.tip == child
    with pytest.raises(SessionEnded):
        store.continue_session(session, result.messages, result)


def test_messages_the_store_had_not_seen_are_saved_before_they_are_folded(
    store: SqliteStore, talk: Talk, fold: Folding
) -> None:
    session = store.create_session().id
    store.append(session, talk(10))
    result = fold(talk(30))
    child = store.continue_session(session, result.messages, result)
    assert store.messages(session) == talk(30)
    assert store.messages(child) == result.messages


def test_messages_that_came_while_the_fold_was_made_follow_it(
    store: SqliteStore, talk: Talk, fold: Folding
) -> None:
    session = store.create_session().id
    store.append(session, talk(30))
    result = fold(talk(30))
    store.append(session, talk(2, start=50))
    child = store.continue_session(session, result.messages, result)
    assert store.messages(child) == result.messages + talk(2, start=50)


def test_a_list_that_differs_from_the_store_loses_nothing(
    store: SqliteStore, talk: Talk, fold: Folding
) -> None:
    """Hosts edit their lists: one result put aside, a notice added, much not stored yet."""
    session = store.create_session().id
    store.append(session, talk(5))
    live = talk(30)
    live[2] = {"role": "tool", "tool_call_id": "call_0", "content": "<persisted-output> zebra"}
    live.insert(9, {"role": "user", "content": "a notice that was added"})
    result = fold(live)
    child = store.continue_session(session, result.messages, result)
    assert store.messages(child) == result.messages
    assert store.messages(session) == talk(5)
    assert store.messages(store.undo_continuation(child)) == live
    said = [str(record.item) for record in store.history(session)]
    assert len(said) == len(set(said)) == len(live) + 1
    assert len(store.search("zebra", role="tool").hits) == 1
    assert store.check() == []
    assert len(store.chain(session)) == 3


def test_messages_appended_meanwhile_follow_a_list_that_differs(
    store: SqliteStore, talk: Talk, fold: Folding
) -> None:
    session = store.create_session().id
    store.append(session, talk(30))
    live = talk(30)
    live[5]["content"] = "edited"  # type: ignore[index]
    result = fold(live)
    store.append(session, talk(1, start=80))
    child = store.continue_session(session, result.messages, result)
    assert store.messages(child) == result.messages + talk(1, start=80)
    assert store.messages(store.undo_continuation(child)) == live + talk(1, start=80)


def test_a_list_that_took_another_way_is_not_followed_by_the_old_one(
    store: SqliteStore, talk: Talk, fold: Folding
) -> None:
    session = store.create_session().id
    store.append(session, talk(30))
    live = talk(20) + talk(10, start=200)
    result = fold(live)
    child = store.continue_session(session, result.messages, result)
    assert store.messages(child) == result.messages
    assert store.messages(store.undo_continuation(child)) == live


def test_another_conversation_and_another_list_are_refused(
    store: SqliteStore, talk: Talk, fold: Folding
) -> None:
    session = store.create_session().id
    store.append(session, talk(3, start=900))
    result = fold(talk(30))
    with pytest.raises(StoreError, match="another conversation"):
        store.continue_session(session, result.messages, result)
    with pytest.raises(StoreError, match="must begin with"):
        store.continue_session(session, talk(30), result)
    assert store.session(session).ended_at is None


def test_a_compression_that_changed_nothing_opens_nothing(store: SqliteStore, talk: Talk) -> None:
    import midfold

    session = store.create_session().id
    store.append(session, talk(1))
    result = midfold.compress(talk(1), max_tokens=100_000)
    with pytest.raises(StoreError, match="changed nothing"):
        store.continue_session(session, result.messages, result)
    assert store.session(session).ended_at is None


def test_undo_brings_everything_back_and_keeps_what_was_said_since(
    store: SqliteStore, folded: tuple[str, str, Compression[object]], talk: Talk
) -> None:
    session, child, _ = folded
    store.append(child, talk(2, start=70))
    again = store.undo_continuation(session)
    assert store.messages(again) == talk(30) + talk(2, start=70)
    assert {store.get_compression_tip(each) for each in (session, child, again)} == {again}
    assert store.session(child).is_undone
    assert [each.id for each in store.chain(child)] == [session, again]
    assert store.append(again, {"role": "user", "content": "on"}) == 0


def test_folds_can_be_taken_back_one_after_the_other(store: SqliteStore, talk: Talk, fold: Folding) -> None:
    first = store.create_session().id
    store.append(first, talk(30))
    result = fold(talk(30))
    second = store.continue_session(first, result.messages, result)
    store.append(second, talk(20, start=100))
    once = fold(store.messages(second))
    third = store.continue_session(second, once.messages, once)
    store.append(third, talk(1, start=500))
    assert store.messages(store.undo_continuation(third)) == result.messages + talk(20, start=100) + talk(
        1, start=500
    )
    assert store.messages(store.undo_continuation(first)) == talk(30) + talk(20, start=100) + talk(
        1, start=500
    )
    with pytest.raises(StoreError, match="no fold"):
        store.undo_continuation(first)


def test_a_chain_that_was_undone_can_be_folded_again(
    store: SqliteStore, folded: tuple[str, str, Compression[object]], talk: Talk, fold: Folding
) -> None:
    session, _, _ = folded
    again = store.undo_continuation(session)
    result = fold(store.messages(again))
    child = store.continue_session(again, result.messages, result)
    assert store.get_compression_tip(session) == child


@pytest.mark.parametrize("step", [-3600.0, -1.0, -0.01, 0.0, 10 * 365 * 86400.0])
def test_lineage_does_not_ask_the_clock(
    store: SqliteStore, clock: object, talk: Talk, fold: Folding, step: float
) -> None:
    """A sub-agent opened in the same moment is never taken for a continuation."""
    session = store.create_session().id
    store.append(session, talk(30))
    clock.now += step  # type: ignore[attr-defined]
    result = fold(talk(30))
    helper = store.create_session(parent_id=session, kind=SessionKind.SUBAGENT).id
    child = store.continue_session(session, result.messages, result)
    clock.now -= 2 * step  # type: ignore[attr-defined]
    branch = store.create_session(parent_id=session, kind=SessionKind.BRANCH).id
    assert store.get_compression_tip(session) == child
    assert store.get_compression_tip(helper) == helper
    assert store.get_compression_tip(branch) == branch


def test_hooks_run_first_and_their_failure_is_said_and_harmless(
    store: SqliteStore, talk: Talk, fold: Folding
) -> None:
    saved: list[object] = []

    def save_memory(session_id: str, messages: object) -> None:
        saved.append((session_id, messages))

    def broken(session_id: str, messages: object) -> None:
        raise RuntimeError("no memory today")

    hooked = SqliteStore(store._database, before_continue=[broken, save_memory])
    session = hooked.create_session().id
    hooked.append(session, talk(30))
    result = fold(talk(30))
    done = hooked.continue_session_result(session, result.messages, result)
    assert done.failed_hooks == ("broken: RuntimeError: no memory today",)
    assert saved == [(session, talk(30))]
    assert hooked.messages(done.session_id) == result.messages


def test_a_history_sent_again_is_recognised_and_its_fold_is_found(
    store: SqliteStore, folded: tuple[str, str, Compression[object]], talk: Talk
) -> None:
    session, child, result = folded
    sent = parse([*talk(30), {"role": "user", "content": "something new"}], "openai_chat")
    chain = chain_digests(sent)
    known = store.find_history(chain)
    assert known is not None
    assert (known.session_id, known.length) == (child, 120)
    found = store.find_fold(chain)
    assert found is not None
    assert (found.session_id, found.child_id) == (session, child)
    assert render(apply(found.fold, sent), "openai_chat")[:-1] == result.messages
    assert found.facts["tokens_before"] == result.tokens_before
    assert store.for_tenant("other").find_fold(chain) is None
    assert store.for_tenant("other").find_history(chain) is None


def test_a_client_that_sends_folded_lists_is_recognised_too(
    store: SqliteStore, folded: tuple[str, str, Compression[object]]
) -> None:
    _, child, result = folded
    sent = chain_digests(parse([*result.messages, {"role": "user", "content": "on"}], "openai_chat"))
    known = store.find_history(sent)
    assert known is not None
    assert (known.session_id, known.length) == (child, len(result.messages))


def test_a_fold_that_was_taken_back_is_not_found_again(
    store: SqliteStore, folded: tuple[str, str, Compression[object]], talk: Talk
) -> None:
    session, _, _ = folded
    store.undo_continuation(session)
    assert store.find_fold(chain_digests(parse(talk(30), "openai_chat"))) is None


def test_folds_are_announced_once(store: SqliteStore, folded: tuple[str, str, Compression[object]]) -> None:
    _, child, _ = folded
    assert [each.child_id for each in store.folds(unannounced=True)] == [child]
    store.mark_announced(child)
    assert store.folds(unannounced=True) == []


def test_one_holder_at_a_time_and_the_loser_cannot_commit(
    store: SqliteStore, clock: object, talk: Talk, fold: Folding
) -> None:
    session = store.create_session().id
    store.append(session, talk(30))
    old = store.acquire_lease(session, "first", seconds=45)
    with pytest.raises(SessionBusy) as caught:
        store.acquire_lease(session, "second")
    assert caught.value.holder == "first"
    clock.now += 60  # type: ignore[attr-defined]
    new = store.acquire_lease(session, "second")
    assert new.epoch > old.epoch
    result = fold(talk(30))
    with pytest.raises(SessionBusy):
        store.continue_session(session, result.messages, result, lease=old)
    with pytest.raises(SessionBusy):
        store.renew_lease(old)
    store.release_lease(old)
    assert store.continue_session(session, result.messages, result, lease=store.renew_lease(new))


def test_a_lease_never_outlives_a_clock_that_was_set_back(store: SqliteStore, clock: object) -> None:
    """After a step of an hour nobody waits an hour."""
    session = store.create_session().id
    store.acquire_lease(session, "first", seconds=45)
    clock.now -= 3600  # type: ignore[attr-defined]
    assert store.acquire_lease(session, "second").holder == "second"


@pytest.mark.parametrize("step", [0.01, 1.0, 4.5])
def test_a_clock_that_steps_back_a_little_frees_no_live_lease(
    store: SqliteStore, clock: object, step: float
) -> None:
    session = store.create_session().id
    taken_at = store.acquire_lease(session, "first", seconds=45).expires_at - 45
    clock.now = taken_at - step - 1  # type: ignore[attr-defined]  # it goes on by a second a look
    with pytest.raises(SessionBusy):
        store.acquire_lease(session, "second")


def test_a_released_lease_is_free_at_once(store: SqliteStore) -> None:
    session = store.create_session().id
    store.release_lease(store.acquire_lease(session, "first"))
    assert store.acquire_lease(session, "second").holder == "second"


def test_a_summary_paid_for_is_found_by_its_own_tenant_alone(store: SqliteStore) -> None:
    """The key is the tenant, what it is about, the model and the prompt."""
    store.remember_summary(b"span", "m", "v1", "the summary")
    assert store.recall_summary(b"span", "m", "v1") == "the summary"
    for other in ((b"other", "m", "v1"), (b"span", "n", "v1"), (b"span", "m", "v2")):
        assert store.recall_summary(*other) is None
    assert store.for_tenant("x").recall_summary(b"span", "m", "v1") is None


def test_the_database_itself_refuses_a_second_continuation(
    store: SqliteStore, folded: tuple[str, str, Compression[object]]
) -> None:
    session, _, _ = folded

    def fork(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO sessions (tenant, id, conversation, parent, kind, source, started_at)"
            " SELECT tenant, 'fork', conversation, key, 'continuation', '', 0 FROM sessions WHERE id = ?",
            (session,),
        )

    with pytest.raises(StoreError, match="refuses"):
        store._database.write(fork)
