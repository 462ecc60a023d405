"""Promises about chains: folds that end sessions, can be taken back, and are made by one holder at a time."""

from midfold.errors import SessionBusy, SessionEnded, SessionGrew, StoreError
from midfold.store import EndReason, SessionKind, Store
from midfold.testing.conversations import transcript
from midfold.testing.stores.promises import DIALECT, fold, promise, refuses, say


def check_folding(store: Store) -> tuple[str, list[object]]:
    """Return the tip of a chain that was folded, taken back and folded again, and what it says."""
    items = transcript("openai_chat", seed=5, turns=12, result_chars=2_000)
    first = store.create_session(dialect="openai_chat", source="chat").id
    store.append(first, items)
    result = fold(items)
    second = store.continue_session(first, result.messages, result)
    promise("a continuation says what the fold made", store.messages(second) == result.messages)
    promise("what was folded stays complete", store.messages(first) == items)
    opened = store.session(second)
    promise(
        "a continuation names its parent",
        (opened.kind, opened.parent_id) == (SessionKind.CONTINUATION, first),
    )
    promise("a conversation keeps its id", opened.conversation_id == store.session(first).conversation_id)
    promise("a fold ends its session", store.session(first).end_reason == EndReason.COMPRESSION)
    promise("any session leads to the tip", store.get_compression_tip(first) == second)
    promise("a chain is listed in order", [each.id for each in store.chain(second)] == [first, second])
    newest, older = store.conversations(limit=2)
    promise("conversations are listed by their tips, newest first", newest == opened)
    promise("a page may be larger than anything", store.conversations(limit=1 << 80)[0] == newest)
    promise("each conversation is listed once", older.conversation_id != newest.conversation_id)
    page = [each.id for each in store.conversations(limit=1, after=newest.id)]
    promise("the next page comes after the last tip of this one", page == [older.id])
    listed = [each.id for each in store.conversations(limit=1, source="chat")]
    promise("conversations are listed by their source", listed == [second])
    again = "a session is folded once"
    refuses(SessionEnded, lambda: store.continue_session(first, result.messages, result), again)
    refuses(SessionEnded, lambda: store.append(first, say("x")), "a folded session takes no more")
    store.append(second, say("and on"))
    third = store.undo_continuation(first)
    promise("a fold can be taken back, and nothing is lost", store.messages(third) == [*items, say("and on")])
    tips = {store.get_compression_tip(each) for each in (first, second, third)}
    promise("what was taken back leads to the tip", tips == {third})
    result = fold(store.messages(third))
    last = store.continue_session(third, result.messages, result)
    promise("what was taken back can be folded again", store.messages(last) == result.messages)
    return last, result.messages


def check_leases(store: Store) -> None:
    """One holder at a time may fold a session, and who lost it cannot."""
    items = transcript(DIALECT, seed=6, turns=12, result_chars=2_000)
    session = store.create_session(dialect=DIALECT).id
    store.append(session, items)
    ours = store.acquire_lease(session, "us", 60.0)
    promise("a lease names its session and holder", (ours.session_id, ours.holder) == (session, "us"))
    taken = "what somebody holds is not given to another"
    refuses(SessionBusy, lambda: store.acquire_lease(session, "them", 60.0), taken)
    renewed = store.renew_lease(ours, 120.0)
    promise("a lease can be renewed", renewed.epoch == ours.epoch and renewed.expires_at > ours.expires_at)
    store.release_lease(renewed)
    theirs = store.acquire_lease(session, "them", 0.0)
    promise("a lease that was given back is free, and its epoch rises", theirs.epoch > ours.epoch)
    again = store.acquire_lease(session, "us", 60.0)
    promise("so is one that ran out", again.epoch > theirs.epoch)
    refuses(SessionBusy, lambda: store.renew_lease(theirs, 60.0), "a lease that was lost is not renewed")
    store.release_lease(theirs)
    refuses(SessionBusy, lambda: store.acquire_lease(session, "them", 60.0), "nor does it free another's")
    result = fold(items)
    lost = "nobody folds under a lease that was lost"
    refuses(SessionBusy, lambda: store.continue_session(session, result.messages, result, lease=theirs), lost)
    child = store.continue_session(session, result.messages, result, lease=again)
    promise("its holder does", store.messages(child) == result.messages)
    ended = "a session that ended has no lease to give"
    refuses(SessionEnded, lambda: store.acquire_lease(session, "us", 60.0), ended)


def check_expectations(store: Store) -> None:
    """A caller that missed something gets an error, and a fold takes states, facts and a prompt with it."""
    items = transcript(DIALECT, seed=7, turns=12, result_chars=2_000)
    session = store.create_session(dialect=DIALECT, system="be brief").id
    store.append(session, items, expected_count=0)
    grew = "a caller that knows of fewer messages is told"
    refuses(SessionGrew, lambda: store.append(session, say("x"), expected_count=0), grew)
    result = fold(items)
    refuses(
        SessionGrew,
        lambda: store.continue_session_result(session, result.messages, result, expected_count=1),
        "so is one that folds",
    )
    promise("and nothing was changed", store.session(session).ended_at is None)
    continued = store.continue_session_result(
        session,
        result.messages,
        result,
        facts={"asked": "by hand"},
        system="be long",
        states={"check": {"count": 1}},
        expected_count=len(items),
    )
    child = continued.session_id
    promise("no hook failed", continued.failed_hooks == ())
    promise("a fold saves states with it", store.load_state(child, "check") == {"count": 1})
    promise("and a system prompt", (store.system(child), store.system(session)) == ("be long", "be brief"))
    promise("a continuation begins with no messages of its own", store.session(child).message_count == 0)
    (kept,) = store.folds(child)
    promise("a fold is listed with its facts", kept.facts.get("asked") == "by hand")
    ends = (kept.session_id, kept.child_id, kept.is_announced)
    promise("a fold names both of its sessions, and was told to nobody", ends == (session, child, False))
    promise("it is among all that were told to nobody", kept in store.folds(unannounced=True))
    store.mark_announced(child)
    unannounced = [each.child_id for each in store.folds(unannounced=True)]
    promise("a fold is told once", child not in unannounced and store.folds(child)[0].is_announced)
    store.undo_continuation(child)
    promise("one that was taken back is not listed", store.folds(session) == [])
    refuses(StoreError, lambda: store.undo_continuation(session), "what was not folded is not taken back")


def check_numbers(store: Store, session_id: str) -> None:
    """Every message of a history is found there by where it was written."""
    written = [(each.session_id, each.seq) for each in store.history(session_id)]
    numbers = store.find_numbers(session_id, [*written, ("no-such-session", 0), (session_id, 1 << 40)])
    promise("a message is found by where it was written", numbers == [*range(len(written)), None, None])


def check_branches(store: Store) -> None:
    """All that was said stays readable in its order, folded or not, and a branch begins with it."""
    items = transcript(DIALECT, seed=9, turns=12, result_chars=2_000)
    first = store.create_session(dialect=DIALECT).id
    store.append(first, items)
    result = fold(items)
    second = store.continue_session(first, result.messages, result)
    store.append(second, say("after the fold"))
    said = [*items, say("after the fold")]
    promise("a history has all that was said", [each.item for each in store.history(first)] == said)
    middle = [each.item for each in store.history(second, 1, len(said) - 1)]
    promise("a part of it can be read", middle == said[1:-1])
    promise("it can be counted", store.count_history(second) == len(said))
    check_numbers(store, second)
    branch = store.create_session(parent_id=second, kind=SessionKind.BRANCH).id
    promise("a branch begins with what its parent says", store.messages(branch) == store.messages(second))
    store.append(second, say("on the one way"))
    store.append(branch, say("on the other"))
    ways = [store.history(second)[-1].item, store.history(branch)[-1].item]
    promise("each goes its own way", ways == [say("on the one way"), say("on the other")])
    history = [each.item for each in store.history(branch)]
    promise("a branch has the history before it", history == [*said, say("on the other")])
    part = [each.item for each in store.history(branch, 1)]
    promise("a part of that can be read, too", part == history[1:])
    promise("that can be counted, too", store.count_history(branch) == len(history))
    check_numbers(store, branch)
    refuses(StoreError, lambda: store.delete(first), "a conversation with branches is not deleted alone")
    deleted = store.delete(second, branches=True)
    promise("it is deleted with them", set(deleted.session_ids) == {first, second, branch})
