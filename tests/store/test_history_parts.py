"""A part of a history is what stands there in the whole of it, and a message has the number it has there."""

import random
from collections.abc import Callable

import pytest

from midfold.folding.compression import Compression
from midfold.store import SessionKind
from midfold.store.sqlite.store import SqliteStore


def check(store: SqliteStore, session: str) -> None:
    said = store.history(session)
    written = [(each.session_id, each.seq) for each in said]
    assert store.find_numbers(session, written) == list(range(len(said)))
    assert store.count_history(session) == len(said)
    cuts = random.Random(len(said))
    for _ in range(20):
        start, stop = sorted(cuts.choices(range(len(said) + 3), k=2))
        assert store.history(session, start, stop) == said[start:stop]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_in_a_life_of_folds_undone_folds_and_branches(
    store: SqliteStore,
    seed: int,
    talk: Callable[..., list[object]],
    fold: Callable[[list[object]], Compression[object]],
) -> None:
    chance = random.Random(seed)
    session = store.create_session(dialect="openai_chat").id
    turns, sessions = 0, {session}
    for _ in range(8):
        store.append(session, talk(12, start=turns))
        turns += 12
        items = store.messages(session)
        if chance.random() < 0.3:  # the host goes on with words that it changed
            items = [*items[:-1], {"role": "user", "content": f"Changed at {turns}."}]
        result = fold(items)
        session = store.continue_session(session, result.messages, result)
        if chance.random() < 0.3:
            store.append(session, talk(2, start=turns))
            session = store.undo_continuation(session)
        if chance.random() < 0.3:
            session = store.create_session(parent_id=session, kind=SessionKind.BRANCH).id
        sessions.add(session)
    for each in sessions:
        check(store, each)
