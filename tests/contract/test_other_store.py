"""The promises to clients that send their history again hold on any store: here, on one of dictionaries."""

import pytest

from midfold.folding import CompressionPolicy
from support.clients import Habit
from support.dict_store import DictStore, Shelf
from support.simulation import Simulation, Summarizer, find_requests


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "openai_responses"])
def test_all_habits_together_cost_no_fold_on_another_store(history, dialect):
    shelf = Shelf()
    items = history(dialect, seed=2, turns=12, steps=1, result_chars=6_000)
    policy = CompressionPolicy(context_length=6_000)
    one = Simulation(lambda: DictStore(shelf), dialect, policy=policy, summarize=Summarizer())
    for number, length in enumerate(find_requests(items, dialect)):
        if number % 5 == 0:
            one.restart()
        one.request(items[:length], Habit)
    assert one.workers[0].store.check() == []
    one.close()
    assert one.figures.folds >= 3
    assert one.figures.refolded > one.figures.folds
