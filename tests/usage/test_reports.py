"""Reports on a real store: chains, folds, what was read again, and a period of days."""

from datetime import UTC

import pytest

import midfold
from midfold.store import open_store
from midfold.usage import make_call, read_insights, read_session_usage
from midfold.usage.export import insights_as_dict, session_usage_as_dict

SONNET = "claude-sonnet-4-5"
DAY = 86_400


class Clock:
    def __init__(self):
        self.now = 1_770_000_000.0

    def __call__(self):
        self.now += 1
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    with open_store(tmp_path / "sessions.db", clock=clock, synchronous="NORMAL") as opened:
        yield opened


def reading(number, text):
    """One turn: the file is asked for, and comes."""
    call = f"call_{number}"
    function = {"name": "read_file", "arguments": f'{{"path":"src/module_{number % 100}.py"}}'}
    return [
        {"role": "user", "content": f"Look at module {number % 100}, please."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call, "content": text},
    ]


def say(store, session, number, text, tokens):
    store.append(session, reading(number, text))
    store.record_call(session, make_call({"input_tokens": tokens, "output_tokens": 20}, SONNET))
    words = f"Module {number % 100} returns {number}. It is called from many places. " * 6
    store.append(session, {"role": "assistant", "content": words})


def fold(store, session):
    messages = store.messages(session)
    before = midfold.compress(messages, max_tokens=10**9).tokens_before
    result = midfold.compress(messages, max_tokens=before // 2, strategy="fold")
    assert result.summary
    return store.continue_session(session, result.messages, result), result


@pytest.fixture
def folded(store):
    """A conversation that was folded once, and then read its first file again."""
    first = store.create_session(source="chat", model=SONNET, title="Modules", dialect="openai_chat").id
    for number in range(20):
        say(
            store, first, number, f"def handler_{number}():\n    return {number}\n" * 20, 1_000 * (number + 1)
        )
    store.record_call(
        first, make_call({"input_tokens": 9_000, "output_tokens": 500}, SONNET, purpose="summary")
    )
    second, result = fold(store, first)
    say(store, second, 100, "def handler_0():\n    return 0\n" * 20, 11_000)
    say(store, second, 21, "def handler_21():\n    return 21\n" * 20, 12_000)
    return first, second, result


def test_a_session_is_reported_apart_from_its_chain(store, folded):
    first, second, _ = folded
    assert read_session_usage(store, first).totals.calls == 21
    assert read_session_usage(store, second).totals.calls == 2
    chain = read_session_usage(store, second, whole_chain=True)
    assert chain.totals.calls == 23
    assert [group.name for group in chain.sessions] == [first, second]
    assert chain.totals.usage == store.usage()


def test_a_fold_saves_on_every_call_after_it_less_what_it_costs(store, folded):
    _, second, result = folded
    totals = read_session_usage(store, second, whole_chain=True).totals
    savings = totals.savings
    assert totals.compressions == 1
    assert savings.summaries.tokens == 9_500
    # Of the two calls since, one only read again what the fold had taken, and is no saving.
    assert savings.saved.tokens == result.saved_tokens
    assert savings.net.tokens == savings.saved.tokens - 9_500 - savings.reread.tokens


def test_what_was_read_again_after_a_fold_is_a_cost_of_it(store, folded):
    _, second, _ = folded
    savings = read_session_usage(store, second).totals.savings
    assert savings.rereads == 1
    assert savings.reread.tokens > 11_000  # the call brought nothing else, so all of it was for the re-read


def test_reading_what_is_still_there_or_has_changed_is_no_reread(store):
    session = store.create_session(source="chat", model=SONNET, dialect="openai_chat").id
    for number in range(20):
        say(store, session, number, f"def handler_{number}():\n    return {number}\n" * 20, 1_000)
    child, _ = fold(store, session)
    say(store, child, 119, "def handler_19():\n    return 19\n" * 20, 1_000)  # in the tail
    say(store, child, 100, "def handler_0():\n    return 'changed'\n" * 20, 1_000)
    assert read_session_usage(store, child).totals.savings.rereads == 0


def test_a_fold_that_no_call_followed_is_counted_all_the_same(store):
    session = store.create_session(source="chat", model=SONNET, dialect="openai_chat").id
    for number in range(20):
        say(store, session, number, "words " * 100, 1_000)
    child, _ = fold(store, session)
    totals = read_session_usage(store, child, whole_chain=True).totals
    assert (totals.compressions, totals.savings.saved.tokens) == (1, 0)


def test_tools_are_those_of_all_that_was_said(store, folded):
    first, second, _ = folded
    [tool] = read_session_usage(store, second, whole_chain=True).tools
    assert (tool.name, tool.calls) == ("read_file", 22)
    [tool] = read_session_usage(store, first).tools
    assert tool.calls == 20


def test_causes_of_cold_caches_that_were_noted_are_counted(store):
    session = store.create_session(source="chat", model=SONNET).id
    for cause in ("fold", "expired", "fold", None):
        facts = {"cache_bust": cause} if cause else {}
        store.record_call(session, make_call({"input_tokens": 5}, SONNET, facts=facts))
    assert read_session_usage(store, session).cache_busts == {"fold": 2, "expired": 1}


def test_a_period_is_reported_by_day_model_and_source(store, clock, folded):
    clock.now += 2 * DAY
    other = store.create_session(source="gateway", model="gpt-5-mini").id
    store.record_call(other, make_call({"prompt_tokens": 500, "completion_tokens": 5}, "gpt-5-mini"))
    insights = read_insights(store, now=clock.now, days=3, zone=UTC)
    assert [day.totals.calls for day in insights.days] == [23, 0, 1]
    assert {group.name: group.totals.calls for group in insights.models} == {SONNET: 23, "gpt-5-mini": 1}
    assert {group.name: group.totals.calls for group in insights.sources} == {"chat": 23, "gateway": 1}
    assert insights.conversations == 2
    assert [tool.name for tool in insights.tools] == ["read_file"]
    chain = read_session_usage(store, folded[1], whole_chain=True)
    assert insights.days[0].totals.compressions == 1
    assert insights.days[0].totals.savings.saved.tokens == chain.totals.savings.saved.tokens


def test_a_fold_before_the_period_still_saves_in_it(store, clock, folded):
    clock.now += 2 * DAY
    say(store, folded[1], 22, "def handler_22():\n    return 22\n" * 20, 13_000)
    today = read_insights(store, now=clock.now, days=1, zone=UTC)
    assert (today.totals.calls, today.totals.compressions) == (1, 0)
    assert today.totals.savings.saved.tokens > 0


def test_messages_are_read_for_a_bounded_time_and_calls_all_counted(store, clock, folded):
    newest = store.create_session(source="chat").id
    say(store, newest, 1, "def handler():\n    return 1\n" * 20, 900)
    late = iter((0.0, 3.1, 3.2))
    insights = read_insights(store, now=clock.now, days=1, zone=UTC, clock=lambda: next(late))
    assert (insights.conversations, insights.tools_of, insights.totals.calls) == (2, 1, 24)
    assert [tool.calls for tool in insights.tools] == [1]
    whole = read_insights(store, now=clock.now, days=1, zone=UTC, clock=lambda: 0.0)
    assert (whole.tools_of, whole.totals.usage) == (2, insights.totals.usage)


def test_an_empty_store_has_nothing_to_report(store, clock):
    insights = read_insights(store, now=clock.now, days=2, zone=UTC)
    assert insights.totals.calls == 0
    assert len(insights.days) == 2


def test_reports_have_names_that_scripts_rely_on(store, clock, folded):
    usage = session_usage_as_dict(read_session_usage(store, folded[1], whole_chain=True))
    assert {"session", "calls", "tokens", "cost", "cache", "compressions", "savings", "by_model"} <= set(
        usage
    )
    assert usage["cost"] == {
        "dollars": pytest.approx(0.7401),
        "complete": True,
        "calls_reported": 0,
        "calls_computed": 23,
        "calls_partial": 0,
        "calls_unknown": 0,
    }
    period = insights_as_dict(read_insights(store, now=clock.now, days=1, zone=UTC))
    assert {"since", "until", "conversations", "by_day", "by_source", "tools"} <= set(period)


def test_a_call_of_a_session_that_was_taken_back_counts_for_its_conversation(store, clock, folded):
    store.undo_continuation(folded[1])
    insights = read_insights(store, now=clock.now, zone=UTC)
    assert (insights.conversations, insights.totals.calls) == (1, 23)
