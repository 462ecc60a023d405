"""Promises about calls, states, tenants, deleting and the health of a store."""

from decimal import Decimal

from midfold.errors import SessionNotFound
from midfold.store import ActiveConversation, Call, CallSum, ConversationFigures, SessionKind, Store
from midfold.testing.stores.promises import DIALECT, promise, refuses, say
from midfold.tokens import CanonicalUsage


def check_calls(store: Store) -> None:
    """Calls are counted once, and added up."""
    session = store.create_session().id
    for number in (1, 2, 2, 1):
        usage = CanonicalUsage(input_tokens=10 * number, output_tokens=number)
        store.record_call(session, Call(usage, "m", id=f"check-{number}"))
    used = store.usage(session)
    promise("the same call is counted once", (used.input_tokens, used.output_tokens) == (30, 3))
    promise("calls can be listed", len(list(store.calls(session))) == 2)
    helper = store.create_session(parent_id=session, kind=SessionKind.SUBAGENT).id
    cost = Decimal("0.125")
    store.record_call(helper, Call(usage, "n", "summary", id="check-3", cost=cost, facts={"a": 1}))
    (call,) = store.calls(helper)
    facts = (call.model, call.purpose, call.id, call.cost, call.facts, call.session_id)
    promise("what is known of a call is kept", facts == ("n", "summary", "check-3", cost, {"a": 1}, helper))
    whole = store.usage(session, whole_chain=True)
    promise("a chain adds up its own calls", whole == store.usage(session))
    at = call.created_at
    promise("calls are dated", at is not None and call in store.calls(since=at))
    promise("and asked for by their time", call not in store.calls(until=at))


def check_figures(store: Store) -> None:
    """Calls are added up as they are listed, and figures are kept until a conversation changes."""

    def find(session: str) -> list[ActiveConversation]:
        return [each for each in store.active_conversations(9_000.0) if each.id == session]

    def sums(since: float) -> list[CallSum]:
        return [each for each in store.sum_calls(since, steps=(101,)) if each.source == "check-figures"]

    session = store.create_session(source="check-figures", model="m", dialect=DIALECT).id
    store.append(session, say("the serval leaps"))
    for number, cost in enumerate((Decimal("0.1"), Decimal("0.02"), None)):
        usage = CanonicalUsage(input_tokens=100 + number, cache_read_tokens=number)
        known = Call(usage, "m", id=f"check-figures-{number}", cost=cost, created_at=9_000.0)
        store.record_call(session, known)
    found = sums(9_000.0)
    promise("sums count every call", sum(each.calls for each in found) == 3)
    used = sum((each.usage for each in found), CanonicalUsage())
    promise("and their tokens", used == store.usage(session))
    cost = sum((each.cost for each in found if each.cost is not None), Decimal(0))
    promise("and their costs exactly", cost == Decimal("0.12"))
    promise("apart where prices differ", sorted(each.calls for each in found) == [1, 2])
    promise("from a time on", sums(9_000.5) == [])
    active = find(session)
    promise("a conversation with calls is active", [each.figures for each in active] == [None])
    store.keep_figures([ConversationFigures(session, active[0].mark, {"tools": 1})])
    promise("figures are kept", [each.figures for each in find(session)] == [{"tools": 1}])
    store.append(session, say("and lands"))
    promise("until it grows", [each.figures for each in find(session)] == [None])
    store.keep_figures([ConversationFigures("check-nobody", "1", {})])
    promise("figures of nobody are not kept", find("check-nobody") == [])
    store.delete(session)
    promise("what is deleted is neither summed nor active", (sums(0.0), find(session)) == ([], []))


def check_states(store: Store) -> None:
    """States live and die with their conversation."""
    session = store.create_session(dialect="openai_chat").id
    store.append(session, say("hello"))
    promise("what was never saved is not there", store.load_state(session, "compression") is None)
    store.save_state(session, "compression", {"pins": ["Only metric units."]})
    kept = {"pins": ["Only metric units."]}
    promise("a state comes back", store.load_state(session, "compression") == kept)
    promise("a state that is there is not added", not store.add_state(session, "compression", {"pins": []}))
    promise("and stays as it was", store.load_state(session, "compression") == kept)
    promise("one that is not there is added", store.add_state(session, "batch", [1]))
    promise("and comes back", store.load_state(session, "batch") == [1])
    branch = store.create_session(parent_id=session, kind=SessionKind.BRANCH).id
    promise("a branch starts with its parent's state", store.load_state(branch, "compression") == kept)
    key = store.conversation_key(session)
    promise("a branch has its parent's key", store.conversation_key(branch) == key != b"")
    other = store.create_session().id
    promise("each conversation has a key of its own", store.conversation_key(other) != key)
    store.delete(branch)
    store.delete(session)
    again = store.create_session(session_id=session).id
    promise("a state goes with its conversation", store.load_state(again, "compression") is None)
    store.delete(again)


def check_summaries(store: Store) -> None:
    """A summary that was paid for is there until it is used."""
    digest = b"check-store".ljust(32)
    promise("a summary nobody made is not there", store.recall_summary(digest, "m", "p") is None)
    store.remember_summary(digest, "m", "p", {"text": "short"})
    promise("a summary is kept", store.recall_summary(digest, "m", "p") == {"text": "short"})
    promise("for its model and prompt alone", store.recall_summary(digest, "n", "p") is None)


def check_deleting(store: Store) -> None:
    """A deleted session is gone, and nothing else is."""
    kept, doomed = store.create_session().id, store.create_session().id
    for session in (kept, doomed):
        store.append(session, say("the zyzzyva flies"))
    deleted = store.delete(doomed)
    promise("a deletion tells what it took", deleted.session_ids == (doomed,) and deleted.messages == 1)
    refuses(SessionNotFound, lambda: store.messages(doomed), "what was deleted is gone")
    found = [hit.session_id for hit in store.search("zyzzyva").hits]
    promise("what was deleted is not found, and nothing else is lost", found == [kept])


def check_tenants(store: Store) -> None:
    """A session of another tenant does not exist."""
    ours = store.create_session(session_id="check-tenants", dialect=DIALECT).id
    store.append(ours, say("the wombat digs"))
    other = store.for_tenant("check-tenants-other")
    promise("a tenant begins with nothing", other.sessions() == [])
    refuses(SessionNotFound, lambda: other.messages(ours), "what belongs to another tenant does not exist")
    promise("nor is it found", other.search("wombat").hits == ())
    theirs = other.create_session(session_id=ours).id
    other.append(theirs, say("the numbat digs"))
    promise("two tenants may use one id", store.messages(ours) == [say("the wombat digs")])
    keys = {store.conversation_key(ours), other.conversation_key(theirs)}
    promise("and have keys of their own", len(keys) == 2)
    other.delete(theirs)
    promise("a tenant deletes its own", store.messages(ours) == [say("the wombat digs")])


def check_pruning(store: Store) -> None:
    """Sessions go that nobody touched for long, or that are too many."""
    pruned = store.for_tenant("check-pruning")
    old, new = (pruned.create_session(dialect=DIALECT).id for _ in range(2))
    for session in (old, new):
        pruned.append(session, say("the quokka smiles"))
    nothing = pruned.prune(older_than=0.0)
    promise("what is younger stays", (nothing.session_ids, nothing.messages) == ((), 0))
    would = pruned.prune(keep_bytes=0, dry_run=True)
    promise("a dry run says what would go", set(would.session_ids) == {old, new} and would.messages == 2)
    promise("and deletes nothing", len(pruned.sessions()) == 2)
    future = pruned.records(new)[0].created_at + 1e9
    gone = pruned.prune(older_than=future)
    promise("what is older goes", set(gone.session_ids) == {old, new} and pruned.sessions() == [])
    promise("and is not found", pruned.search("quokka").hits == ())


def check_upkeep(store: Store) -> None:
    """A sound store says that it is, and its index can be made anew."""
    status = store.status
    promise("a store says where and on what it is", bool(status.path and status.engine))
    promise("a store that works may write", status.may_write and status.problem is None)
    promise("a sound store has no problems", store.check() == [] == store.check(deep=False))
    before = store.search("quaxolotl").hits
    promise("an index is made of all messages", store.rebuild_index() > 0)
    promise("and finds what it found", store.search("quaxolotl").hits == before)
    store.forget_loss()
    promise("what is put away is no warning", store.status.warning is None)
