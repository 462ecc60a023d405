"""A client that sends its history again and again, and proof that its folds are paid for once.

`Simulation.request` plays one request and checks every promise that a fold makes to such a client:
what is sent is legal, a fold that was paid for is found, what was sent before is sent again byte by byte,
and the newest request stands word for word behind the summary.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from midfold.folding import CompressionPolicy, SummaryRequest
from midfold.messages import (
    SYSTEM_ROLES,
    Message,
    canonical_bytes,
    chain_digests,
    newest_request,
    own_digest,
    pair_calls,
)
from midfold.store import Store
from midfold.store.codec import clean_text
from midfold.testing.stores import StoreContractError
from midfold.wire import parse, render
from midfold.wire.validate import find_errors
from support.clients import Habit, resend
from support.pipeline import Handled, Pipeline, Refolded, stands_for

SMALL = CompressionPolicy(context_length=8_000)
"""A window that ten turns fill, so that folds come often."""

_NOTES = """## Goal
Make the parking meter follow its tariff.

## Completed Actions
{actions}

## Remaining Work
Go on with the newest request.
"""
_FACTS = 8


@dataclass
class Summarizer:
    """Writes plausible notes and counts how often it was asked."""

    calls: int = 0

    def __call__(self, request: SummaryRequest) -> str:
        self.calls += 1
        facts = "\n".join(
            f"{place}. Looked at `{fact}`" for place, fact in enumerate(request.facts[:_FACTS], 1)
        )
        return _NOTES.format(actions=facts or "1. Read the code")


@dataclass
class Figures:
    """What a simulation came to."""

    requests: int = 0
    folds: int = 0
    deepest: int = 0
    """the most folds that one request stood on"""
    refolded: int = 0
    """folds that were found and applied instead of being paid for again"""

    def add(self, other: "Figures") -> None:
        self.requests += other.requests
        self.folds += other.folds
        self.deepest = max(self.deepest, other.deepest)
        self.refolded += other.refolded


@dataclass(frozen=True, slots=True)
class _Paid:
    """A fold in the line of the client's history."""

    child_id: str
    reach: int
    """how many messages of the history, of those that say something, it is about"""


@dataclass(frozen=True, slots=True)
class _Sent:
    """What a client without habits would have been sent for."""

    history: list[object]
    folds: tuple[str, ...]
    spelled: list[str]


@dataclass
class Simulation:
    """One client, and the workers that handle its requests.

    `make_store` opens one and the same store each time.
    """

    make_store: Callable[[], Store]
    dialect: str
    policy: CompressionPolicy = SMALL
    summarize: Summarizer | None = None
    key: bytes = b"a key of the simulation"
    figures: Figures = field(default_factory=Figures)

    def __post_init__(self) -> None:
        self.workers = [self._open()]
        self._line: list[_Paid] = []
        self._made: set[tuple[bytes, bytes]] = set()
        self._last: _Sent | None = None
        self._conversation = ""
        self._has_branched = False

    def _open(self) -> Pipeline:
        return Pipeline(self.make_store(), self.dialect, self.policy, summarize=self.summarize, key=self.key)

    def restart(self) -> None:
        """Close the store and forget everything else."""
        self.close()
        self.workers = [self._open()]

    def add_worker(self) -> None:
        """Let another worker with a store of its own on the same file take every second request."""
        self.workers.append(self._open())

    def close(self) -> None:
        """Close the stores."""
        for worker in self.workers:
            worker.store.close()

    def request(self, history: Sequence[object], habits: Iterable[Habit] = ()) -> Handled:
        """Send a history as a client with these habits does; raises where a promise is broken."""
        worker = self.workers[self.figures.requests % len(self.workers)]
        items = resend(history, self.dialect, habits, self.figures.requests)
        clean = parse(list(history), self.dialect)
        found = worker.refold(clean)
        is_branch = self._check_found(clean, found)
        asked = self.summarize.calls if self.summarize else 0
        handled = worker.handle(items)
        _promise(
            "a client's habits find the same folds",
            _ids(handled.refolded) == _ids(found),
            f"{len(found.folds)} folds, with habits {len(handled.refolded.folds)}",
        )
        self._check_paid(handled, asked)
        again = worker.refold(clean)
        self._note_fold(clean, handled, again)
        self._check_sent(items, handled, again)
        self._check_bytes(history, again)
        self._check_session(worker.store, clean, handled, is_branch)
        self._count(again, handled)
        return handled

    def _check_found(self, clean: list[Message], found: Refolded) -> bool:
        """Every fold about messages that this history begins with is found, in the same order.

        Returns whether this history goes another way than the last one.
        """
        last = parse(self._last.history, self.dialect) if self._last else []
        common = _count_common(last, clean)
        is_branch = common < _count_said(last)
        newest = newest_request(clean)
        # A fold that has put the request into its summary, which a client went back to, is of no use to it.
        until = _count_said(clean[:newest]) if is_branch else common
        self._line = [paid for paid in self._line if paid.reach <= min(common, until)]
        expected = [paid.child_id for paid in self._line]
        _promise(
            "a fold that was paid for is found again",
            _ids(found)[: len(expected)] == expected,
            f"{len(found.folds)} of {len(expected)} folds",
        )
        said = _count_said(clean)
        for fold in found.folds[len(expected) :]:
            # A fold that was made for another branch, about what both have in common.
            self._line.append(_Paid(fold.child_id, min(said, common)))
        return is_branch or not last

    def _check_paid(self, handled: Handled, asked: int) -> None:
        made = handled.compression.fold if handled.compression else None
        if self.summarize is not None and self.summarize.calls > asked:
            _promise("what was paid for is kept", made is not None, str(handled.compression))
        if made is not None:
            # A client that went back may need another fold of the same prefix: its newest request is in it.
            identity = (made.prefix_digest, made.span_digest)
            _promise("no fold is paid for twice", identity not in self._made)
            self._made.add(identity)

    def _note_fold(self, clean: list[Message], handled: Handled, again: Refolded) -> None:
        made = handled.compression if handled.compression and handled.compression.changed else None
        expected = [*_ids(handled.refolded), *([handled.session_id] if made else [])]
        _promise("a fold is found as soon as it is made", _ids(again) == expected)
        if made is None or made.fold is None:
            return
        behind = _count_said(made.before[made.fold.stop :])
        reach = max([_count_said(clean) - behind, *(paid.reach for paid in self._line)])
        self._line.append(_Paid(handled.session_id, reach))

    def _check_sent(self, items: list[dict[str, object]], handled: Handled, again: Refolded) -> None:
        dialect = self.dialect
        broken = _faults(handled.sent, dialect) - _faults(items, dialect)
        _promise("what is sent is legal", not broken, str(broken))
        sent = parse(handled.sent, dialect)
        _promise(
            "what is sent says what a client without habits is sent", _said(sent) == _said(again.messages)
        )
        for messages in (handled.refolded.messages, again.messages):
            reread = parse(render(messages, dialect), dialect)
            _promise("what was written reads as the same", chain_digests(reread) == chain_digests(messages))
        self._check_request(parse(items, dialect), sent, handled)

    def _check_request(self, asked: list[Message], sent: list[Message], handled: Handled) -> None:
        newest = newest_request(asked)
        if newest is None:
            return
        places = [place for place, message in enumerate(sent) if stands_for(message, asked[newest])]
        _promise("the newest request stays word for word", bool(places))
        made = handled.compression.fold if handled.compression else None
        folds = [*(found.fold for found in handled.refolded.folds), *([made] if made else [])]
        summaries = {own_digest(message) for fold in folds for message in fold.summaries}
        behind = {own_digest(message) for message in sent[places[-1] :]}
        _promise("the newest request stands behind the summary", summaries.isdisjoint(behind))

    def _check_bytes(self, history: Sequence[object], again: Refolded) -> None:
        """Compare bytes as a client without habits is sent them: all that it changes itself is left out."""
        spelled = [json.dumps(item) for item in render(again.messages, self.dialect)]
        last, self._last = self._last, _Sent(list(history), tuple(_ids(again)), spelled)
        if last is None or last.folds != self._last.folds:
            return
        if list(history[: len(last.history)]) == last.history:
            _promise(
                "what was sent before is sent again byte by byte",
                spelled[: len(last.spelled)] == last.spelled,
            )

    def _check_session(self, store: Store, clean: list[Message], handled: Handled, is_branch: bool) -> None:
        conversation = store.session(handled.session_id).conversation_id
        last, self._conversation = self._conversation, conversation
        # The answer to a branch may happen to be the one that was given before.
        is_free, self._has_branched = is_branch or self._has_branched, is_branch
        _promise("a history goes on in one conversation", is_free or conversation == last)
        records = store.records(handled.session_id)
        if any(record.is_redacted for record in records):
            return
        said = _storable(parse([record.item for record in records], self.dialect))
        # A branch is recorded as the client sent it, until it is folded itself.
        sent = _storable(parse(handled.sent, self.dialect))
        _promise("the session says what was sent", said in (sent, _storable(clean)))

    def _count(self, again: Refolded, handled: Handled) -> None:
        self.figures.add(
            Figures(
                requests=1,
                folds=int(handled.compression is not None and handled.compression.changed),
                deepest=len(again.folds),
                refolded=len(handled.refolded.folds),
            )
        )


def find_requests(history: Sequence[object], dialect: str) -> list[int]:
    """Return how long a history was at each request: whenever the model had to answer."""
    messages = parse(list(history), dialect)
    answered: dict[int, int] = {}
    for call, result in pair_calls(messages).answers.items():
        answered[call.message] = max(result.message, answered.get(call.message, 0))
    lengths, waits_until = [], -1
    for index, message in enumerate(messages):
        waits_until = max(waits_until, answered.get(index, -1))
        is_turn = index + 1 == len(messages) or messages[index + 1].role == "assistant"
        if is_turn and message.role != "assistant" and waits_until <= index:
            lengths.append(index + 1)
    return lengths


def _promise(promise: str, kept: bool, facts: str = "") -> None:
    if not kept:
        raise StoreContractError(f"{promise} ({facts})" if facts else promise)


def _ids(refolded: Refolded) -> list[str]:
    return [fold.child_id for fold in refolded.folds]


def _faults(items: Sequence[object], dialect: str) -> Counter[str]:
    return Counter(fault.code for fault in find_errors(items, dialect=dialect))


def _said(messages: Iterable[Message]) -> list[bytes]:
    """Spell what messages say, without what clients change as they like: thinking, markers, system prompt."""
    lead = True
    said = []
    for message in messages:
        lead = lead and message.role in SYSTEM_ROLES
        if not lead and not message.is_silent:
            said.append(canonical_bytes(message))
    return said


def _storable(messages: Iterable[Message]) -> list[str]:
    """Spell what messages say as a database can hold it."""
    return [clean_text(said.decode("utf-8", "surrogatepass")) for said in _said(messages)]


def _count_said(messages: Iterable[Message]) -> int:
    return len(_said(messages))


def _count_common(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Count the messages with which two histories begin, of those that say something."""
    pairs = list(zip(_said(one), _said(other), strict=False))
    return next((place for place, (old, new) in enumerate(pairs) if old != new), len(pairs))
