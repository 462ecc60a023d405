"""A store under every order of events, against a model of a few lists: invariants 33 to 38.

Two store objects share the file, processes are killed in between, and the clock goes where it likes.
"""

import os
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from midfold import faults
from midfold.errors import SessionEnded, SessionNotFound, StoreError
from midfold.folding.compression import Compression
from midfold.folding.fold import Fold, Replacement, Span, splice
from midfold.folding.state import CompressionState
from midfold.messages import Message, Text
from midfold.store import Call, SessionKind, open_store
from midfold.store.sqlite.driver import SAFE_VERSION, sqlite_version
from midfold.store.sqlite.health import find_problems
from midfold.tokens.usage import CanonicalUsage
from midfold.usage import read_insights
from midfold.wire import parse, render
from support.forgetful import Forgetful

STORES = 2 if sqlite_version() >= SAFE_VERSION else 1
STEPS = (-3600.0, -1.0, -0.01, 0.5, 3600.0, 10 * 365 * 86400.0)
WHO = st.integers(0, STORES - 1)
BEGAN = 1_700_000_000.0


@dataclass
class Folded:
    """A fold of the model: the list before it, and how many messages it left."""

    before: list[object]
    kept: int


@dataclass
class Talk:
    """A conversation of the model."""

    root: str
    tip: str
    view: list[object] = field(default_factory=list)
    said: list[object] = field(default_factory=list)
    folds: list[Folded] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    parent: "Talk | None" = None
    is_branch: bool = False
    begins_with: int = 0
    tokens: int = 0


class Clock:
    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


class StoreMachine(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "s.db"
        self.clock = Clock()
        self.talks: list[Talk] = []
        self.deleted: list[tuple[str, str]] = []
        self.made = 0
        self.open_stores()

    def open_stores(self) -> None:
        self.stores = [open_store(self.path, synchronous="NORMAL", clock=self.clock) for _ in range(STORES)]

    def close_stores(self) -> None:
        for store in self.stores:
            store.close()

    def teardown(self) -> None:
        if not hasattr(self, "stores"):
            return
        try:
            assert [problem for store in self.stores for problem in store.check()] == []
        finally:
            self.close_stores()
            self.folder.cleanup()

    def pick(self, number: int) -> Talk:
        return self.talks[number % len(self.talks)]

    def item(self) -> dict[str, object]:
        self.made += 1
        role = "user" if self.made % 2 else "assistant"
        return {"role": role, "content": f"word{self.made:05d}x about the harbour"}

    @rule(who=WHO)
    def create(self, who: int) -> None:
        root = self.stores[who].create_session(dialect="openai_chat").id
        self.talks.append(Talk(root, root))

    @precondition(lambda self: self.talks)
    @rule(who=WHO, which=st.integers(0, 99), count=st.integers(1, 4))
    def append(self, who: int, which: int, count: int) -> None:
        talk = self.pick(which)
        items = [self.item() for _ in range(count)]
        self.stores[who].append(talk.tip, items)
        talk.view += items
        talk.said += items

    @precondition(lambda self: self.talks)
    @rule(who=WHO, which=st.integers(0, 99), start=st.integers(0, 5), unsaved=st.booleans())
    def fold(self, who: int, which: int, start: int, unsaved: bool) -> None:
        talk = self.pick(which)
        extra = [self.item()] if unsaved else []
        before = [*talk.view, *extra]
        if len(before) < 3:
            return
        compression = fold_by_hand(before, min(start, len(before) - 2), self.made)
        child = self.stores[who].continue_session(talk.tip, compression.messages, compression)
        talk.said += extra
        talk.folds.append(Folded(before, len(compression.messages)))
        talk.ended.append(talk.tip)
        talk.tip, talk.view = child, compression.messages
        with pytest.raises(SessionEnded):
            self.stores[who].append(talk.ended[-1], self.item())

    @precondition(lambda self: self.talks)
    @rule(who=WHO, which=st.integers(0, 99))
    def undo(self, who: int, which: int) -> None:
        talk = self.pick(which)
        if not talk.folds:
            with pytest.raises(StoreError):
                self.stores[who].undo_continuation(talk.tip)
            return
        folded = talk.folds.pop()
        talk.ended.append(talk.tip)
        talk.tip = self.stores[who].undo_continuation(talk.ended[0])
        talk.view = [*folded.before, *talk.view[folded.kept :]]

    @precondition(lambda self: self.talks)
    @rule(who=WHO, which=st.integers(0, 99), kind=st.sampled_from([SessionKind.BRANCH, SessionKind.SUBAGENT]))
    def have_child(self, who: int, which: int, kind: SessionKind) -> None:
        parent = self.pick(which)
        child = self.stores[who].create_session(
            parent_id=parent.tip, kind=kind, dialect="openai_chat" if kind is SessionKind.SUBAGENT else None
        )
        view = list(parent.view) if kind is SessionKind.BRANCH else []
        said = list(parent.said) if kind is SessionKind.BRANCH else []
        self.talks.append(
            Talk(
                child.id,
                child.id,
                view,
                said,
                parent=parent,
                is_branch=kind is SessionKind.BRANCH,
                begins_with=len(said),
            )
        )

    @precondition(lambda self: self.talks)
    @rule(which=st.integers(0, 99), is_after=st.booleans())
    def crash(self, which: int, is_after: bool) -> None:
        """Another process appends a message, and dies in the commit of the next one."""
        talk = self.pick(which)
        first, second = self.item(), self.item()
        self.close_stores()
        point = f"store.commit.{'after' if is_after else 'before'}:kill:2"
        child = os.fork()
        if child == 0:
            store = open_store(self.path, synchronous="NORMAL", clock=self.clock)
            faults.arm(point)
            store.append(talk.tip, first)
            store.append(talk.tip, second)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        kept = [first, second] if is_after else [first]
        talk.view += kept
        talk.said += kept
        self.open_stores()

    @rule(step=st.sampled_from(STEPS))
    def step_clock(self, step: float) -> None:
        self.clock.now += step

    @rule(who=WHO)
    def reopen(self, who: int) -> None:
        self.stores[who].close()
        self.stores[who] = open_store(self.path, synchronous="NORMAL", clock=self.clock)

    @precondition(lambda self: self.talks)
    @rule(who=WHO, which=st.integers(0, 99), times=st.integers(1, 2))
    def record_call(self, who: int, which: int, times: int) -> None:
        talk = self.pick(which)
        self.made += 1
        call = Call(CanonicalUsage(input_tokens=self.made), "m", id=f"call{self.made}")
        for _ in range(times):
            self.stores[who].record_call(talk.tip, call)
        talk.tokens += self.made

    @precondition(lambda self: self.talks)
    @rule(who=WHO, which=st.integers(0, 99), branches=st.booleans())
    def delete(self, who: int, which: int, branches: bool) -> None:
        talk = self.pick(which)
        family = list(descendants(self.talks, talk))
        if any(each.is_branch for each in family[1:]) and not branches:
            with pytest.raises(StoreError):
                self.stores[who].delete(talk.tip)
            return
        self.remove(self.stores[who].delete(talk.root, branches=branches).session_ids, family)

    @precondition(lambda self: self.talks)
    @rule(who=WHO, keep=st.integers(0, 4_000))
    def prune(self, who: int, keep: int) -> None:
        planned = self.stores[who].prune(keep_bytes=keep, dry_run=True)
        done = self.stores[who].prune(keep_bytes=keep)
        assert set(done.session_ids) == set(planned.session_ids)
        self.remove(done.session_ids, [talk for talk in self.talks if talk.root in done.session_ids])

    def remove(self, session_ids: tuple[str, ...], doomed: list[Talk]) -> None:
        assert {talk.root for talk in self.talks if talk.root in session_ids} == {t.root for t in doomed}
        for talk in doomed:
            assert {talk.root, talk.tip, *talk.ended} <= set(session_ids)
            own = talk.said[talk.begins_with :]
            self.deleted += [(talk.tip, word_of(item)) for item in own[:1]]
            self.talks.remove(talk)

    @precondition(lambda self: self.talks)
    @rule(who=WHO, which=st.integers(0, 99), place=st.integers(0, 99))
    def search(self, who: int, which: int, place: int) -> None:
        """36: every message is found by a word of it, and what is gone is not."""
        talk = self.pick(which)
        own = talk.said[talk.begins_with :]
        if own:
            found = self.stores[who].search(word_of(own[place % len(own)])).hits
            assert [hit.conversation_id for hit in found] == [talk.root]
        for tip, word in self.deleted[-2:]:
            assert self.stores[who].search(word).hits == ()
            with pytest.raises(SessionNotFound):
                self.stores[who].messages(tip)

    @precondition(lambda self: self.talks)
    @rule(who=WHO)
    def report(self, who: int) -> None:
        """Totals that are kept are those of a full scan, whoever kept them."""
        assert read_insights(self.stores[who], now=BEGAN, zone=UTC) == read_insights(
            Forgetful(self.stores[who]), now=BEGAN, zone=UTC
        )

    @invariant()
    def everything_is_as_the_model_says(self) -> None:
        """33, 34 and 38, through a store that did not write it."""
        if not getattr(self, "talks", None):
            return
        store = self.stores[self.made % STORES]
        talk = self.talks[self.made % len(self.talks)]
        assert store.messages(talk.tip) == talk.view
        assert {store.get_compression_tip(each) for each in (talk.root, talk.tip, *talk.ended)} == {talk.tip}
        assert [record.item for record in store.history(talk.tip)] == talk.said
        assert store.count_history(talk.tip) == len(talk.said)
        assert store.usage(talk.root, whole_chain=True).input_tokens == talk.tokens
        chain = store.chain(talk.root)
        assert chain[-1].id == talk.tip
        assert [each.parent_id for each in chain[1:]] == [each.id for each in chain[:-1]]

    @rule()
    def look_for_problems(self) -> None:
        assert self.stores[0]._database.write(find_problems) == []


def fold_by_hand(items: list[object], start: int, number: int) -> Compression[object]:
    """Fold all messages but those before `start` and the last one."""
    before = tuple(parse(items, "openai_chat"))
    span = Span(start, len(before) - 1)
    summary = Message("user", (Text(f"summary{number} of {len(span)} messages"),))
    fold = Fold((Replacement(span, summary),)).identified(before)
    return Compression(
        messages=render(splice(fold, before), "openai_chat"),
        before=before,
        fold=fold,
        reason="by hand",
        state=CompressionState(),
        tokens_before=100,
        tokens_after=50,
        budget_tokens=60,
    )


def descendants(talks: list[Talk], talk: Talk) -> Iterator[Talk]:
    yield talk
    for each in talks:
        if each.parent is talk:
            yield from descendants(talks, each)


def word_of(item: object) -> str:
    assert isinstance(item, dict)
    return str(item["content"]).split()[0]


TestStoreMachine = StoreMachine.TestCase
# An example is a whole story with several processes in it: an eighth of the usual number says as much.
EXAMPLES = max(12, settings().max_examples // 8)
TestStoreMachine.settings = settings(max_examples=EXAMPLES, stateful_step_count=30)
pytestmark = pytest.mark.slow
