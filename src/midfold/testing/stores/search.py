"""Promises about finding: messages by what they say, conversations by the history that is sent again."""

from midfold.errors import SessionNotFound
from midfold.folding import splice
from midfold.messages import chain_digests
from midfold.search import Origin
from midfold.store import Item, Order, Store
from midfold.testing.conversations import transcript
from midfold.testing.stores.promises import DIALECT, digests_of, fold, promise, refuses, say
from midfold.wire import parse

_HOSTILE_QUERIES = ('"', '" OR 1=1 --', "AND AND", "NEAR(", "*", "a:b", "\0", "\ud83d", "(" * 5_000, "^$%")


def check_search(store: Store) -> None:
    """Messages are found by their words, where they are looked for, and no query is an error."""
    session = store.create_session().id
    store.append(session, [say("the quaxolotl swims"), say("重要的客户反馈"), say("parse_quarkHeader fails")])
    for query in ("quaxolotl", '"quaxolotl swims"', "quaxo*", "客户", "quark"):
        hits = store.search(query).hits
        promise(
            f"every message is found by its words: {query}", [hit.session_id for hit in hits] == [session]
        )
    for order in Order:
        found = store.search("quaxolotl", session_id=session, role="user", order=order).hits
        promise("a search may be narrowed", len(found) == 1)
    promise("a search looks where it is told to", store.search("quaxolotl", role="assistant").hits == ())
    for query in _HOSTILE_QUERIES:
        store.search(query)
    stranger = "a search in a stranger's conversation is refused"
    refuses(SessionNotFound, lambda: store.search("quaxolotl", session_id="nobody"), stranger)
    at = store.records(session)[0].created_at
    promise("a search may be dated", len(store.search("quaxolotl", since=at).hits) == 1)
    promise("and end before a time", store.search("quaxolotl", until=at).hits == ())
    promise("a tool that was not used is in no message", store.search("quaxolotl", tool="t").hits == ())
    hit = store.search("quaxolotl").hits[0]
    marked = [hit.snippet[start:stop] for start, stop in hit.marks]
    promise("a hit shows what was found", marked == ["quaxolotl"] and hit.seq == 0)
    store.append(session, [say(f"axolotl {number} " + "swims on " * 200) for number in range(3)])
    shown = [len(hit.snippet) for hit in store.search("axolotl", snippet_chars=(900, 200)).hits]
    promise("as much of each hit is shown as was asked for", shown[0] > 800 > 210 > max(shown[1:]))


def check_questions(store: Store) -> None:
    """A question finds its answer; each message once, a summary as such, and never the search itself."""
    items = transcript(DIALECT, seed=12, turns=12, result_chars=2_000)
    session = store.create_session(dialect=DIALECT).id
    store.append(session, [*items, say("the quaxolotl lives in a mountain lake")])
    question = "where does the quaxolotl have its home?"
    found = store.search(question, session_id=session).hits
    promise("a question finds its answer", bool(found) and found[0].seq == len(items))
    promise("newest first, every word counts", store.search(question, order=Order.NEWEST).hits == ())
    promise("what somebody said is a message", found[0].origin is Origin.MESSAGE)
    for seed in (13, 14):
        store.append(session, transcript(DIALECT, seed=seed, turns=12, result_chars=2_000))
        result = fold(store.messages(session))
        session = store.continue_session(session, result.messages, result)
    hits = store.search("quaxolotl", session_id=session).hits
    said = [hit for hit in hits if hit.origin is Origin.MESSAGE]
    promise("what was said is found once, however often it was folded", len(said) == 1)
    promise("of several summaries the newest is found", len(hits) - len(said) <= 1)
    hits = store.search("quaxolotl", session_id=session, role="user").hits
    promise("nobody said a summary", all(hit.origin is not Origin.SUMMARY for hit in hits))
    asked: list[object] = [
        {"role": "assistant", "content": None, "tool_calls": [_recall("zyzzyva")]},
        {"role": "tool", "tool_call_id": "c1", "name": "recall", "content": "message 3: zyzzyva"},
    ]
    store.append(session, asked)
    promise("a search does not find itself", store.search("zyzzyva").hits == ())


def _recall(query: str) -> dict[str, object]:
    arguments = f'{{"query": "{query}"}}'
    return {"id": "c1", "type": "function", "function": {"name": "recall", "arguments": arguments}}


def check_substrings(store: Store) -> None:
    """A text that is no word is found letter by letter, in one session."""
    session = store.create_session().id
    store.append(session, [say("reads ../etc/hosts"), say("nothing"), say("reads ../ETC/passwd")])
    found = [hit.seq for hit in store.find_substring(session, "../etc/").hits]
    promise("a text is found letter by letter, newest first", found == [2, 0])
    promise("no more than asked for", len(store.find_substring(session, "../etc/", limit=1).hits) == 1)
    promise("what is not there is not found", store.find_substring(session, "../var/").hits == ())
    stranger = "a stranger's session is not searched"
    refuses(SessionNotFound, lambda: store.find_substring("nobody", "x"), stranger)


def check_histories(store: Store) -> None:
    """A history that a client sends again leads to its session and to its fold."""
    items = transcript(DIALECT, seed=8, turns=12, result_chars=2_000)
    promise("a history that nobody sent is not known", store.find_history(digests_of(items)) is None)
    promise("nor has it a fold", store.find_fold(digests_of(items)) is None)
    first = store.create_session(dialect=DIALECT).id
    store.append(first, items)
    longer = [*items, say("and on")]
    known = store.find_history(digests_of(longer))
    promise("a history is known as far as it goes", known is not None and known.length == len(items))
    promise("it leads to its session", known is not None and known.session_id == first)
    promise("nothing was said after it", known is not None and known.is_end)
    known = store.find_history(digests_of(longer[:3]))
    promise("a beginning is known, and what followed it", known is not None and not known.is_end)
    result = fold(items)
    second = store.continue_session(first, result.messages, result)
    known = store.find_history(digests_of(longer))
    promise("after a fold it leads to the tip", known is not None and known.session_id == second)
    known = store.find_history(digests_of(result.messages))
    promise("a folded list leads there, too", known is not None and known.session_id == second)
    found = store.find_fold(digests_of(longer))
    promise("a fold is found by the history it is for", found is not None and found.child_id == second)
    if found is not None:
        made = splice(found.fold, parse(items, DIALECT))
        promise("and makes of it what it made", chain_digests(made) == digests_of(result.messages))
    _check_own_folds(store, items, second)
    store.undo_continuation(second)
    promise("one that was taken back is not found", store.find_fold(digests_of(longer)) is None)


def _check_own_folds(store: Store, items: list[Item], folded: str) -> None:
    """Two conversations that begin alike keep apart: each has its own session and its own fold."""
    twin = store.create_session(dialect=DIALECT).id
    store.append(twin, items)
    known = store.find_history(digests_of(items), session_id=folded)
    promise("a conversation knows its own history first", known is not None and known.session_id == folded)
    found = store.find_fold(digests_of(items), session_id=twin)
    promise("a fold serves whoever says the same", found is not None and found.child_id == folded)
    result = fold(items)
    own = store.continue_session(twin, result.messages, result)
    for session in (folded, own):
        found = store.find_fold(digests_of(items), session_id=session)
        promise("a conversation has its own fold first", found is not None and found.child_id == session)
    store.delete(twin)
