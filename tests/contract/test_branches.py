"""Clients that go back, edit, clear and restart: what a fold is about decides whether it is found."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from midfold.folding import CompressionPolicy, Strategy
from midfold.wire import parse
from support.clients import CLEARED, Habit, clear_results
from support.simulation import Summarizer, find_requests

DIALECTS = ("openai_chat", "anthropic", "openai_responses")
TIGHT = CompressionPolicy(context_length=5_000, strategy=Strategy.FOLD, protect_last_n=1)


@pytest.fixture(params=DIALECTS)
def dialect(request):
    return request.param


def play(client, items, habits=(), *, start=0):
    """Send a history request by request, and return what became of each."""
    lengths = [length for length in find_requests(items, client.dialect) if length > start]
    return [client.request(items[:length], habits) for length in lengths]


def reach_of(client, items):
    """Return how many messages a history needs for its newest fold to be found."""
    refold, folds = (
        client.workers[0].refold,
        len(client.workers[0].refold(parse(items, client.dialect)).folds),
    )
    return next(
        length
        for length in range(len(items))
        if len(refold(parse(items[:length], client.dialect)).folds) == folds
    )


def go_on_from(history, items, length, dialect, suffix):
    """Go back to a request and say something else there."""
    return [*items[: length - 1], *history(dialect, suffix=suffix, system=False, seed=9, turns=3, steps=1)]


def requests_of_the_user(items, dialect):
    messages = parse(items, dialect)
    return [n for n in find_requests(items, dialect) if messages[n - 1].text]


def test_a_branch_behind_the_fold_stands_on_it_and_pays_nothing(client, history, dialect):
    items = history(dialect, seed=5)
    with client(dialect, policy=TIGHT, summarize=Summarizer()) as one:
        play(one, items)
        asked, folds = one.summarize.calls, one.figures.folds
        reach = reach_of(one, items)
        length = next(n for n in requests_of_the_user(items, dialect) if n > reach)
        branch = go_on_from(history, items, length, dialect, "_b")
        first = one.request(branch[:length], [Habit.REWORDS_SYSTEM, Habit.DROPS_THINKING])
        assert len(first.refolded.folds) == folds
        assert one.summarize.calls == asked


@pytest.mark.slow
def test_a_branch_inside_the_folded_range_is_folded_anew_once_and_the_main_line_keeps_its_fold(
    client, history, dialect
):
    items = history(dialect, seed=1)
    with client(dialect, policy=TIGHT, summarize=Summarizer()) as one:
        last = play(one, items)[-1]
        length = requests_of_the_user(items, dialect)[2]
        assert length < reach_of(one, items)
        branch = [*go_on_from(history, items, length, dialect, "_b"), *history(dialect, suffix="_c", seed=5)]
        if dialect != "anthropic":
            branch = [item for item in branch if item.get("role") not in ("system", "developer")]
        play(one, branch, [Habit.DUMPS_ARGUMENTS], start=length - 1)
        asked = one.summarize.calls
        assert one.request(branch).compression is None
        again = one.request(items, [Habit.MOVES_MARKERS, Habit.EMPTY_PARTS])
        assert one.summarize.calls == asked
        found = [fold.child_id for fold in again.refolded.folds]
        assert found[: len(last.refolded.folds)] == [fold.child_id for fold in last.refolded.folds]


def test_the_newest_request_stays_when_a_client_goes_back_to_one_that_is_folded(client, history, dialect):
    items = history(dialect, seed=3)
    with client(dialect, policy=TIGHT) as one:
        play(one, items)
        for length in reversed(find_requests(items, dialect)):
            one.request(items[:length])


def test_a_request_that_rides_with_a_long_result_keeps_its_fold(client):
    items = [{"role": "user", "content": "Request 0"}]
    for number in range(1, 6):
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"n": number}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "a long line\n" * 2_000}
        words = {"type": "text", "text": f"Request {number}"}
        items += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result, words]}]
    with client("anthropic", policy=TIGHT) as one:
        play(one, items)
    assert one.figures.folds >= 3


def test_results_that_the_client_cleared_behind_the_fold_leave_it_in_place(client, history, dialect):
    items = history(dialect, seed=3)
    with client(dialect, policy=TIGHT, summarize=Summarizer()) as one:
        play(one, items)
        asked, folds = one.summarize.calls, one.figures.folds
        reach = reach_of(one, items)
        cleared = [*items[:reach], *clear_results(items[reach:], len(items))]
        assert str(CLEARED) in str(cleared)
        assert len(one.request(cleared).refolded.folds) == folds
        assert one.summarize.calls == asked


def test_results_that_the_client_cleared_inside_the_fold_cost_one_more_and_no_third(client, history, dialect):
    items = history(dialect, seed=3)
    with client(dialect, policy=TIGHT, summarize=Summarizer()) as one:
        play(one, items)
        cleared = clear_results(items, len(items) // 3)
        one.request(cleared)
        asked = one.summarize.calls
        for _ in range(3):
            one.request(cleared, Habit)
        assert one.summarize.calls == asked


def test_a_restart_before_every_request_costs_nothing(client, history, dialect):
    items = history(dialect, seed=4)
    with client(dialect, policy=TIGHT, summarize=Summarizer()) as one:
        for length in find_requests(items, dialect):
            one.restart()
            one.request(items[:length], [Habit.REWORDS_SYSTEM])
    assert one.figures.folds == one.summarize.calls >= 2


def test_two_workers_take_turns(client, history, dialect):
    items = history(dialect, seed=4)
    with client(dialect, policy=TIGHT, summarize=Summarizer()) as one:
        one.add_worker()
        play(one, items, [Habit.SWITCHES_BLOCKS, Habit.EMPTY_MESSAGES])
        assert one.figures.folds == one.summarize.calls >= 2


def test_two_workers_with_one_key_write_the_same_bytes(client, history, dialect):
    items = history(dialect, seed=6)
    items[1]["content"] = "the key is ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with client(dialect, policy=TIGHT) as one, client(dialect, policy=TIGHT) as other:
        pairs = list(zip(play(one, items), play(other, items), strict=True))
    assert [mine.sent for mine, _ in pairs] == [theirs.sent for _, theirs in pairs]
    assert [mine.note for mine, _ in pairs] == [theirs.note for _, theirs in pairs]
    assert one.figures.folds >= 2


class Play:
    """Goes back, restarts and grows at random; everything random comes from one seed."""

    def __init__(self, client, history, dialect, seed):
        self.client, self.history, self.dialect = client, history, dialect
        self.chance = random.Random(seed)
        self.items = history(dialect, seed=seed, steps=1)
        self.length = 0
        self.branches = 0

    def run(self, requests):
        for _ in range(requests):
            self.happen()
            longer = [n for n in find_requests(self.items, self.dialect) if n > self.length]
            if not longer:
                self.grow(len(self.items))
                continue
            self.length = longer[0]
            count = self.chance.choice([0, 1, len(Habit)])
            self.client.request(self.items[: self.length], self.chance.sample(list(Habit), count))

    def happen(self):
        match self.chance.randrange(16):
            case 0:
                self.client.restart()
            case 1 if len(self.client.workers) < 2:
                self.client.add_worker()
            case 2 if self.length:
                past = [n for n in find_requests(self.items, self.dialect) if n <= self.length]
                self.grow(self.chance.choice(past))
            case 3:
                self.items = clear_results(self.items, self.chance.randint(0, self.length))

    def grow(self, length):
        """Keep so many messages and go on otherwise: with another answer, or another request."""
        self.branches += 1
        more = self.history(
            self.dialect, seed=self.chance.random(), suffix=f"_{self.branches}", system=False, steps=1
        )
        ends_in_request = length < len(self.items)
        self.items = [*self.items[:length], *(more[1:] if ends_in_request else more)]
        self.length = length if ends_in_request else self.length


@pytest.mark.slow
@settings(max_examples=10)
@given(st.sampled_from(DIALECTS), st.integers(0, 2**32), st.booleans())
def test_whatever_clients_do_in_whatever_order(client, history, dialect, seed, by_model):
    with client(dialect, policy=TIGHT, summarize=Summarizer() if by_model else None) as one:
        Play(one, history, dialect, seed).run(20)


@pytest.mark.faults
@pytest.mark.timeout(3_600)
def test_whatever_clients_do_in_whatever_order_for_long(client, history, rounds):
    for seed in range(rounds):
        dialect = DIALECTS[seed % len(DIALECTS)]
        with client(dialect, policy=TIGHT, summarize=Summarizer() if seed % 2 else None) as one:
            Play(one, history, dialect, seed).run(60)
