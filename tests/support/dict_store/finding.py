"""Searches in dictionaries: every message is looked at, by the rules of the query tree."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from midfold.store import Hit, KnownHistory, Order, SearchResults, StoredFold
from midfold.store.codec import read_body, texts_in
from midfold.store.rows import SAID, SUMMARY
from midfold.store.search import (
    Query,
    Snippet,
    make_snippet,
    make_substring_snippet,
    matches,
    read_query,
    words_in,
)
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
        order: Order = Order.NEWEST,
        limit: int = 20,
    ) -> SearchResults:
        """Find messages by words, phrases and prefixes; no query is an error."""
        asked = read_query(query)
        with self._lock:
            looked_at = self._scope(session_id)
            if asked.tree is None:
                return SearchResults(())
            found = [
                (_rank(asked, words), each)
                for each in looked_at
                if each.row.origin in (SAID, SUMMARY)
                and role in (None, each.row.role)
                and (tool is None or tool in each.row.tools.split())
                and (since is None or each.created_at >= since)
                and (until is None or each.created_at < until)
                and matches(asked.tree, words := words_in(_texts(each)))
            ]
            found.sort(key=lambda pair: (pair[0] if order is Order.RELEVANCE else 0, pair[1].number))
            best = [each for _rank_, each in reversed(found)][: max(0, limit)]
            return self._hits(best, lambda texts: make_snippet(texts, asked))

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
            return self._hits(found[: max(0, limit)], lambda texts: make_substring_snippet(texts, text))

    def find_history(self, chain: Sequence[bytes]) -> KnownHistory | None:
        """Find the session that a history belongs to, by its chained digests."""
        places = {digest: place for place, digest in enumerate(chain) if digest}
        with self._lock:
            known = [each for each in self._find_said() if each.chained in places]
            if not known:
                return None
            newest = max((each.chained for each in known), key=places.__getitem__)
            return self._choose(
                [each for each in known if each.chained == newest], chain.index(newest), chain.count(newest)
            )

    def find_fold(self, chain: Sequence[bytes]) -> StoredFold | None:
        """Find the fold that reaches furthest into a history."""
        places = {digest: place for place, digest in enumerate(chain)}
        with self._lock:
            found = [
                (places[kept.prefix_digest], number, kept.stored)
                for number, (child_id, kept) in enumerate(self._tenant.folds.items())
                if kept.prefix_digest in places and not self._find(child_id).session.is_undone
            ]
            return max(found, key=lambda each: each[:2])[2] if found else None

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

    def _hits(self, found: Sequence[Written], cut_out: Callable[[list[str]], Snippet]) -> SearchResults:
        return SearchResults(tuple(self._hit(each, cut_out(_texts(each))) for each in found))

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
        )


def _all_of(entry: Entry) -> list[Written]:
    return [*entry.before, *entry.view, *entry.written]


def _texts(written: Written) -> list[str]:
    return list(texts_in(read_body(written.row.dialect, written.row.body)))


def _rank(query: Query, words: Sequence[str]) -> float:
    """Say how much of a message is what was looked for."""
    wanted = {word.casefold() for term in query.terms for word in term.words}
    return sum(word in wanted for word in words) / len(words) if words else 0.0
