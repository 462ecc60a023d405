"""Searches in dictionaries: every message is looked at, by the rules of the query tree."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from midfold.search import (
    SNIPPET_CHARS,
    Document,
    Origin,
    Query,
    SearchIndex,
    Snippet,
    make_snippet,
    make_substring_snippet,
    matches,
    read_query,
    words_in,
)
from midfold.store import Hit, KnownHistory, Order, SearchResults, SessionKind, StoredFold
from midfold.store.codec import read_body, texts_in
from midfold.store.rows import SAID, SUMMARY
from support.dict_store.base import Verbs
from support.dict_store.shelf import Entry, Written


@dataclass(frozen=True, slots=True)
class _Said:
    """A message that a chained digest is known by, or the list that a continuation began with."""

    chained: bytes
    entry: Entry
    number: int
    is_base: bool


class SearchVerbs(Verbs):
    """`Search` of `midfold.store.base`."""

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        role: str | None = None,
        tool: str | None = None,
        since: float | None = None,
        until: float | None = None,
        order: Order = Order.RELEVANCE,
        limit: int = 20,
        snippet_chars: Sequence[int] = (SNIPPET_CHARS,),
    ) -> SearchResults:
        """Find messages by words, phrases and prefixes; no query is an error."""
        asked = read_query(query)
        shown = tuple(snippet_chars) or (SNIPPET_CHARS,)
        with self._lock:
            looked_at = self._scope(session_id)
            if asked.tree is None:
                return SearchResults(())
            known = [
                each
                for each in looked_at
                if self._is_current(each)
                and (role is None or (role == each.row.role and each.row.origin == SAID))
                and (tool is None or tool in each.row.tools.split())
                and (since is None or each.created_at >= since)
                and (until is None or each.created_at < until)
            ]
            known.sort(key=lambda each: each.number)
            found = _best(asked, known, limit) if order is Order.RELEVANCE else _newest(asked, known, limit)
            return SearchResults(
                tuple(
                    self._hit(
                        each, make_snippet(_texts(each), asked, chars=shown[min(place, len(shown) - 1)])
                    )
                    for place, each in enumerate(found)
                )
            )

    def find_substring(self, session_id: str, text: str, limit: int = 20) -> SearchResults:
        """Find a text letter by letter in what one session says, newest first."""
        wanted = text.casefold()
        with self._lock:
            view = self._find(session_id).view
            found = [
                each
                for each in reversed(view)
                if wanted and any(wanted in said.casefold() for said in _texts(each))
            ]
            return SearchResults(
                tuple(
                    self._hit(each, make_substring_snippet(_texts(each), text))
                    for each in found[: max(0, limit)]
                )
            )

    def find_history(self, chain: Sequence[bytes], *, session_id: str | None = None) -> KnownHistory | None:
        """Find the session that a history belongs to, by its chained digests."""
        places = {digest: place for place, digest in enumerate(chain) if digest}
        with self._lock:
            known = [each for each in self._find_said() if each.chained in places]
            if session_id is not None:
                own = self._find(session_id).session.conversation_id
                known = [each for each in known if each.entry.session.conversation_id == own] or known
            if not known:
                return None
            newest = max((each.chained for each in known), key=places.__getitem__)
            return self._choose(
                [each for each in known if each.chained == newest], chain.index(newest), chain.count(newest)
            )

    def find_fold(self, chain: Sequence[bytes], *, session_id: str | None = None) -> StoredFold | None:
        """Find the fold that reaches furthest into a history."""
        places = {digest: place for place, digest in enumerate(chain)}
        with self._lock:
            own = self._find(session_id).session.conversation_id if session_id is not None else None
            found = [
                (
                    self._find(child_id).session.conversation_id == own,
                    places[kept.prefix_digest],
                    number,
                    kept.stored,
                )
                for number, (child_id, kept) in enumerate(self._tenant.folds.items())
                if kept.prefix_digest in places and not self._find(child_id).session.is_undone
            ]
            return max(found, key=lambda each: each[:3])[3] if found else None

    def _find_said(self) -> Iterator["_Said"]:
        for number, entry in enumerate(self._tenant.entries.values()):
            yield _Said(entry.base_digest, entry, number, is_base=True)
            for each in entry.written:
                yield _Said(each.chain or b"", entry, number, is_base=False)

    def _choose(self, known: Sequence["_Said"], first: int, repeats: int) -> KnownHistory:
        """Choose the session that goes on, of those that know a history up to the message `first`.

        A message that says nothing repeats the digest before it: of `repeats` such messages as many are known
        as the session has.
        """
        tips = [self._find_tip(each.entry) for each in known]
        counts = Counter(tip.id for each, tip in zip(known, tips, strict=True) if not each.is_base)
        found = []
        for each, tip in zip(known, tips, strict=True):
            # The list that a continuation began with is no part of its chain.
            begins = each.is_base and tip is each.entry and tip.message_count == 0
            is_end = begins or tip.last_chain == each.chained
            found.append((is_end, first + max(1, min(counts[tip.id], repeats)), each.number, tip.id))
        is_end, length, _number, tip_id = max(found)
        return KnownHistory(tip_id, length, is_end)

    def _scope(self, session_id: str | None) -> list[Written]:
        if session_id is None:
            return list(self._tenant.all_written())
        entries = self._tenant.in_conversation(self._find(session_id).conversation)
        known = {each.number: each for entry in entries for each in _all_of(entry)}
        return list(known.values())

    def _hit(self, written: Written, cut: Snippet) -> Hit:
        session = self._find(written.session_id).session
        return Hit(
            session_id=session.id,
            conversation_id=session.conversation_id,
            seq=written.seq,
            role=written.row.role,
            tools=tuple(written.row.tools.split()),
            created_at=written.created_at,
            snippet=cut.text,
            marks=tuple((mark.start, mark.stop) for mark in cut.marks),
            title=session.title,
            origin=_origin(written),
        )

    def _is_current(self, written: Written) -> bool:
        """Whether it was said, or is a summary that no later one took up."""
        if written.row.origin != SUMMARY:
            return written.row.origin == SAID
        return not any(
            entry.session.parent_id == written.session_id
            and entry.session.kind is SessionKind.CONTINUATION
            and not entry.session.is_undone
            for entry in self._tenant.entries.values()
        )


def _all_of(entry: Entry) -> list[Written]:
    return [*entry.before, *entry.view, *entry.written]


def _texts(written: Written) -> list[str]:
    return list(texts_in(read_body(written.row.dialect, written.row.body)))


def _newest(query: Query, known: Sequence[Written], limit: int) -> list[Written]:
    tree = query.tree
    found = [each for each in reversed(known) if tree and matches(tree, words_in(_texts(each)))]
    return found[: max(0, limit)]


def _best(query: Query, known: Sequence[Written], limit: int) -> list[Written]:
    index = SearchIndex(
        Document(tuple(_texts(each)), each.row.role, _origin(each), (each.session_id, each.row.digest))
        for each in known
    )
    return [known[found.number] for found in index.search(query, max(0, limit))]


def _origin(written: Written) -> Origin:
    if written.row.origin == SUMMARY:
        return Origin.SUMMARY
    return Origin.TOOL_OUTPUT if written.row.role == "tool" else Origin.MESSAGE
