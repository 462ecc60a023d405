"""Adding up by any key: nothing is lost, and what is not known is said."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from midfold.store.values import Call
from midfold.tokens import CanonicalUsage
from midfold.usage import (
    add_up,
    by_model,
    count_calls,
    group_by,
    group_largest_first,
    make_bill,
    make_call,
)
from midfold.usage.totals import NO_USAGE, UsagePart, group_days

SONNET = "claude-sonnet-4-5"
DAY = 86_400
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()


def call(tokens=1_000, model=SONNET, at=NOON, source="chat", **more):
    made = make_call({"input_tokens": tokens, "output_tokens": 10}, model, created_at=at, **more)
    return replace(made, source=source, session_id="s1")


def test_groups_add_up_to_the_whole():
    counted = count_calls([call(100), call(200, "gpt-5-mini"), call(300, source="gateway")])
    whole = add_up(counted)
    for key in (by_model, lambda each: each.source):
        groups = group_by(counted, key)
        assert sum(group.totals.calls for group in groups) == whole.calls == 3
        assert sum(group.totals.usage.total_tokens for group in groups) == whole.usage.total_tokens


def test_the_largest_group_comes_first():
    groups = group_largest_first(count_calls([call(100), call(200, "gpt-5-mini")]), by_model)
    assert [group.name for group in groups] == ["gpt-5-mini", SONNET]


def test_what_has_no_name_is_said_to_have_none():
    assert [group.name for group in group_by(count_calls([call(source="")]), lambda each: each.source)] == [
        "(not named)"
    ]


def test_days_without_a_call_are_there_too():
    used = replace(NO_USAGE, calls=1)
    parts = [UsagePart(at, "chat", SONNET, "chat", used) for at in (NOON - 2 * DAY, NOON, NOON)]
    days = group_days(parts, NOON - 3 * DAY, NOON, UTC)
    assert [(day.name, day.totals.calls) for day in days] == [
        ("2026-03-07", 0),
        ("2026-03-08", 1),
        ("2026-03-09", 0),
        ("2026-03-10", 2),
    ]


def test_a_bill_says_what_is_missing_from_it():
    partial = make_call(
        {"prompt_tokens": 2_000_000, "prompt_tokens_details": {"cache_write_tokens": 1_000_000}}, "gpt-5-mini"
    )
    bill = make_bill([call(1_000_000), partial, call(model="nobody-s"), call(model="nobody-s")])
    assert bill.dollars == Decimal("3.00015") + Decimal("0.25")
    assert (bill.computed, bill.partial, bill.unknown, bill.is_complete) == (1, 1, 2, False)


def test_a_bill_of_unknown_costs_alone_is_unknown_and_not_nothing():
    assert make_bill([call(model="nobody-s")]).dollars is None


def test_a_kind_of_cost_that_somebody_else_wrote_counts_as_unknown():
    odd = Call(CanonicalUsage(1), SONNET, cost=Decimal(1), cost_kind="guessed")
    assert make_bill([odd]).unknown == 1


def test_what_a_recorder_noted_about_a_fold_is_taken_into_account():
    folded = call(400, facts={"removed_tokens": 600})
    calls = [call(1_000), call(5_000, purpose="summary"), folded, call(500)]
    totals = add_up(count_calls(calls))
    assert totals.savings.saved.tokens == 2 * 600
    assert totals.savings.summaries.tokens == 5_010


def test_savings_of_groups_add_up_to_those_of_the_whole():
    calls = [call(1_000), call(400, facts={"removed_tokens": 600}), call(500, "claude-opus-4-5")]
    counted = count_calls(calls)
    parts = [group.totals.savings.net.tokens for group in group_by(counted, by_model)]
    assert sum(parts) == add_up(counted).savings.net.tokens == 1_200


def test_no_call_is_credited_with_more_than_its_window_holds():
    calls = [call(150_000), call(100_000, facts={"removed_tokens": 900_000})]
    assert add_up(count_calls(calls)).savings.saved.tokens == 100_000
