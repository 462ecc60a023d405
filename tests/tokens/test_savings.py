"""What folding saved when everything is taken off, and when a fold is worth its price."""

from decimal import Decimal
from itertools import product
from random import Random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold import tokens
from midfold.tokens import CanonicalUsage, Cost, Prices, find_model
from midfold.tokens.pricing import price_with
from midfold.tokens.savings import RecordedCall, net_savings, pays, savings_by_call, total_savings

SONNET = "claude-sonnet-4-5"  # 3 in, 15 out, 0.30 read, 3.75 written
UNKNOWN = "my-own-finetune"
MILLION = 1_000_000


def dollars(amount):
    return amount.cost.dollars * MILLION


def call(*buckets, model=SONNET, **facts):
    """Make a recorded call from fresh, output, cache reads and cache writes."""
    return RecordedCall(CanonicalUsage(*buckets), model, **facts)


# The report


def test_without_a_fold_there_is_nothing_to_report():
    report = net_savings([call(100, 10), call(120, 10)])
    assert (report.folds, report.rereads, report.net.tokens) == (0, 0, 0)
    assert report.net.cost == Cost(Decimal(0))


def test_what_a_fold_took_out_is_saved_on_every_later_call():
    calls = [call(1_000, 10), call(400, 10, removed_tokens=600), call(500, 10), call(600, 10)]
    report = net_savings(calls)
    assert report.folds == 1
    assert report.net.tokens == report.saved.tokens == 3 * 600
    assert dollars(report.net) == 3 * 600 * 3


def test_savings_of_single_calls_add_up_in_any_grouping():
    calls = [call(900, 1), call(5, 1, is_summary=True), call(400, 1, removed_tokens=500), call(450, 1)]
    parts = savings_by_call(calls)
    assert [part.saved.tokens for part in parts] == [0, 0, 500, 500]
    halves = [total_savings(parts[:2]), total_savings(parts[2:])]
    assert total_savings(halves) == net_savings(calls)


def test_folds_add_up():
    calls = [call(900, 1), call(400, 1, removed_tokens=500), call(300, 1, removed_tokens=200), call(300, 1)]
    assert net_savings(calls).saved.tokens == 500 + 700 + 700


def test_tokens_that_came_from_a_cache_saved_only_the_price_of_a_read():
    calls = [call(0, 1, 0, 1_000), call(0, 1, 400, 0, removed_tokens=600), call(0, 1, 400, 10)]
    assert dollars(net_savings(calls).saved) == 2 * 600 * Decimal("0.30")


def test_a_cold_call_later_on_saved_the_price_of_writing():
    calls = [call(900, 1), call(300, 1, removed_tokens=600), call(0, 1, 0, 350)]
    assert dollars(net_savings(calls).saved) == 600 * 3 + 600 * Decimal("3.75")


def test_a_cache_that_went_cold_is_a_loss():
    calls = [call(0, 1, 900, 100), call(0, 1, 100, 300, removed_tokens=600)]
    report = net_savings(calls)
    assert report.cache_loss.tokens == 300
    assert dollars(report.cache_loss) == 300 * (Decimal("3.75") - Decimal("0.30"))
    assert report.net.tokens == 600 - 300


def test_an_automatic_cache_that_went_cold_is_a_loss_at_the_price_of_input():
    calls = [call(100, 1, 900), call(300, 1, 100, removed_tokens=600)]
    assert dollars(net_savings(calls).cache_loss) == 300 * (3 - Decimal("0.30"))


def test_nothing_is_lost_where_no_cache_was_in_use_or_another_model_takes_over():
    assert net_savings([call(1_000, 1), call(400, 1, removed_tokens=600)]).cache_loss.tokens == 0
    switched = [call(0, 1, 900, 100, model="claude-opus-4-5"), call(0, 1, 0, 400, removed_tokens=600)]
    assert net_savings(switched).cache_loss.tokens == 0


def test_a_cache_that_is_cold_without_a_fold_is_not_blamed_on_one():
    assert net_savings([call(0, 1, 900, 100), call(0, 1, 0, 1_010)]).cache_loss.tokens == 0


def test_the_summary_is_paid_for_at_its_own_price():
    calls = [call(1_000, 1), call(700, 50, model="gpt-5-mini", is_summary=True)]
    calls.append(call(400, 1, removed_tokens=600))
    report = net_savings(calls)
    assert report.summaries.tokens == 750
    assert report.net.tokens == 600 - 750
    paid = price_with(CanonicalUsage(700, 50), find_model("gpt-5-mini").prices)
    assert report.summaries.cost == paid
    assert report.net.cost.dollars == Decimal(600 * 3) / MILLION - paid.dollars


def test_what_is_read_again_counts_against_the_fold_until_it_is_folded_away():
    calls = [
        call(1_000, 10),
        call(400, 10, removed_tokens=600),
        call(500, 10, rereads=1, results=2, reread_tokens=80),
        call(510, 10),
        call(300, 10, removed_tokens=280),
    ]
    report = net_savings(calls)
    assert report.rereads == 1
    # half of the call that brought it, its tokens in that call and in the next one
    assert report.reread.tokens == (500 + 10) - (500 - 80 + 10) // 2 + 80
    assert report.saved.tokens == 600 + 600 // 2 + 600 + (600 + 280 - 80)


def test_a_call_that_only_read_again_was_not_needed_at_all():
    calls = [call(1_000, 10), call(400, 10, removed_tokens=600), call(480, 10, rereads=1, reread_tokens=80)]
    report = net_savings(calls)
    assert report.reread.tokens == 490
    assert report.saved.tokens == 600


def test_no_call_is_credited_with_more_than_the_window_holds():
    calls = [call(900, 1), call(300, 1, removed_tokens=600), call(800, 1)]
    assert net_savings(calls, context_length=1_000).saved.tokens == 600 + 200


def test_prompts_that_would_have_reached_a_dearer_price_list_are_priced_by_it():
    calls = [call(190_000, 0, model="gemini/gemini-2.5-pro")]
    calls.append(call(150_000, 0, model="gemini/gemini-2.5-pro", removed_tokens=100_000))
    saved = Decimal(250_000) * Decimal("2.5") - Decimal(150_000) * Decimal("1.25")
    assert dollars(net_savings(calls).saved) == saved


def test_where_no_price_is_known_the_dollars_are_unknown_and_the_tokens_are_not():
    calls = [call(900, 1, model=UNKNOWN), call(300, 1, model=UNKNOWN, removed_tokens=600)]
    net = net_savings(calls).net
    assert net.tokens == 600
    assert net.cost == Cost(None, ("input", "output"))


def test_with_an_unknown_cost_the_net_dollars_are_unknown_rather_than_gross():
    calls = [call(900, 1), call(50, 1, model=UNKNOWN, is_summary=True), call(300, 1, removed_tokens=600)]
    report = net_savings(calls)
    assert report.saved.cost.is_complete
    assert report.net.cost == Cost(None, ("input", "output"))


def test_with_part_of_the_savings_unpriced_the_rest_is_a_lower_bound():
    calls = [call(900, 1), call(300, 1, removed_tokens=600), call(300, 1, model=UNKNOWN)]
    net = net_savings(calls).net
    assert net.cost.dollars * MILLION == 600 * 3
    assert not net.cost.is_complete


def test_tokens_that_move_between_a_bucket_with_a_price_and_one_without_have_no_known_difference():
    calls = [call(0, 0, 0, 20, model="gpt-5"), call(0, 0, 5, 5, model="gpt-5", removed_tokens=10)]
    report = net_savings(calls)
    assert report.cache_loss.tokens == 5
    assert report.cache_loss.cost == Cost(None, ("cache_write",))


def usages():
    return st.builds(CanonicalUsage, *[st.integers(0, 10_000)] * 4)


@given(
    st.lists(
        st.builds(
            RecordedCall,
            usages(),
            st.sampled_from([SONNET, "gpt-5", UNKNOWN]),
            st.booleans(),
            st.integers(0, 20_000),
            st.integers(0, 3),
            st.integers(0, 5_000),
            st.integers(0, 3),
        ),
        max_size=12,
    )
)
def test_costs_are_never_negative_and_net_is_never_more_than_saved(calls):
    report = net_savings(calls, context_length=200_000)
    for amount in (report.saved, report.cache_loss, report.summaries, report.reread):
        assert amount.tokens >= 0
        assert amount.cost.dollars is None or amount.cost.dollars >= 0
    assert report.net.tokens <= report.saved.tokens
    if report.net.cost.dollars is not None:
        assert report.net.cost.dollars <= report.saved.cost.dollars


# The rule

WARM = {"cached_part": 0.95, "head_tokens": 15_000, "prices": find_model(SONNET).prices}
NOW = {"tokens_now": 110_000, "tokens_after": 50_000, "hard_tokens": 170_000}


def test_a_fold_pays_when_many_turns_are_to_come():
    verdict = pays(**NOW, **WARM, expected_turns=100, growth_tokens=500)
    assert verdict.worth_it
    assert verdict.net_cost.dollars > 0
    assert verdict.why.startswith("over 60 turns a fold saves $")


def test_a_fold_waits_when_the_session_is_about_to_end():
    verdict = pays(**NOW, **WARM, expected_turns=3, growth_tokens=500)
    assert not verdict.worth_it
    assert verdict.net_cost.dollars < 0
    assert "costs $" in verdict.why


def test_without_a_cache_a_fold_pays_sooner():
    cold = {"prices": WARM["prices"], "expected_turns": 3, "growth_tokens": 500}
    assert pays(**NOW, **cold).worth_it


def test_a_dear_summary_waits_where_a_free_one_would_not():
    turns = {"expected_turns": 40, "growth_tokens": 2_000}
    assert pays(**NOW, **WARM, **turns).worth_it
    assert not pays(**NOW, **WARM, **turns, summary=CanonicalUsage(70_000, 10_000)).worth_it


def test_a_cheap_summariser_is_weighed_at_its_own_price():
    turns = {"expected_turns": 40, "growth_tokens": 2_000, "summary": CanonicalUsage(70_000, 10_000)}
    cheap = Prices(Decimal("0.05"), Decimal("0.40"))
    assert pays(**NOW, **WARM, **turns, summary_prices=cheap).worth_it


def test_a_fold_that_is_expected_to_be_followed_by_reading_again_waits():
    turns = {"expected_turns": 12, "growth_tokens": 500}
    assert pays(**NOW, **WARM, **turns).worth_it
    assert not pays(**NOW, **WARM, **turns, reread_tokens=40_000).worth_it


def test_it_never_waits_from_the_hard_tier_on():
    late = {**NOW, "tokens_now": 170_000}
    verdict = pays(**late, **WARM, expected_turns=0, growth_tokens=500)
    assert verdict.worth_it
    assert "does not wait" in verdict.why


def test_where_prices_are_unknown_tokens_decide():
    verdict = pays(**NOW, expected_turns=10, growth_tokens=500, cached_part=0.9)
    assert verdict.worth_it
    assert verdict.net_cost == Cost(None)
    assert verdict.net_tokens == 10 * 60_000 - 45_000
    assert "tokens" in verdict.why


def test_a_fold_that_takes_nothing_out_is_not_worth_it():
    assert not pays(50_000, 60_000, hard_tokens=170_000, expected_turns=50, growth_tokens=10).worth_it


def test_a_conversation_that_does_not_grow_keeps_its_savings():
    verdict = pays(**NOW, expected_turns=7, growth_tokens=0)
    assert verdict.net_tokens == 7 * 60_000


# The simulation: sessions with a cache, three ways to decide, dollars in the end

BASE_TOKENS = 15_000
REPLY_TOKENS = 500
REREAD_TOKENS = 3_000


def at_once(*_):
    return True


def at_the_limit(*_):
    return False


def when_it_pays(session, tokens, turn, growth):
    """Ask the rule; how long a session goes on is guessed to be as long as it has gone on so far."""
    return pays(
        tokens,
        session.after,
        hard_tokens=session.hard,
        expected_turns=turn,
        growth_tokens=growth,
        cached_part=0.95 if session.is_cached else 0.0,
        head_tokens=BASE_TOKENS,
        summary=session.summary(tokens),
        reread_tokens=REREAD_TOKENS,
        prices=session.prices,
    ).worth_it


class Session:
    """A session of `turns` that grows unevenly by about `growth` tokens a turn."""

    def __init__(self, turns, growth, window, model, *, is_cached, uses_model):
        self.prices = find_model(model).prices
        self.threshold = min(max(window // 2, 64_000), window * 85 // 100)
        self.hard = window * 85 // 100
        self.after = self.threshold // 2
        self.notes = min(window // 20, 12_000)
        self.is_cached, self.uses_model = is_cached, uses_model
        random = Random(7)
        self.grows = [int(growth * random.choice([0.2, 0.5, 0.8, 1, 1.5, 2])) for _ in range(turns)]

    def summary(self, tokens):
        if not self.uses_model:
            return CanonicalUsage()
        return CanonicalUsage(tokens - self.after + self.notes + 1_500, self.notes)

    def cost(self, decide):
        """Play the session with a way to decide; what goes over the hard tier is folded in any case."""
        tokens, warm, spent = BASE_TOKENS, 0, Decimal(0)
        for turn, grown in enumerate(self.grows, 1):
            tokens += grown
            growth = sum(self.grows[:turn]) // turn
            due = tokens >= self.threshold and decide(self, tokens, turn, growth)
            if tokens >= self.hard or due:
                spent += price_with(self.summary(tokens), self.prices).dollars
                tokens, warm = self.after + REREAD_TOKENS, min(warm, BASE_TOKENS)
            spent += price_with(self.usage(tokens, warm), self.prices).dollars
            warm = tokens if self.is_cached else 0
        return spent

    def usage(self, tokens, warm):
        writes = self.is_cached and self.prices.cache_write is not None
        fresh = tokens - warm
        return CanonicalUsage(0 if writes else fresh, REPLY_TOKENS, warm, fresh if writes else 0)


def regrets(sessions, policy):
    """Say how much more each session costs with a policy than with the better of the two fixed ones."""
    best = [min(session.cost(at_once), session.cost(at_the_limit)) for session in sessions]
    return [float(session.cost(policy) / least) for session, least in zip(sessions, best, strict=True)]


def grid(turns, models, cached):
    shapes = product((600, 1_500, 4_000, 9_000), (128_000, 200_000, 1_000_000), models, cached, (False, True))
    return [
        Session(turns, growth, window, model, is_cached=is_cached, uses_model=uses_model)
        for growth, window, model, is_cached, uses_model in shapes
    ]


def test_waiting_beats_folding_at_once_where_the_cache_is_warm_and_the_summary_dear():
    session = Session(200, 9_000, 200_000, SONNET, is_cached=True, uses_model=True)
    assert session.cost(at_the_limit) < session.cost(at_once) * Decimal("0.9")
    assert session.cost(when_it_pays) < session.cost(at_once) * Decimal("0.9")


def test_folding_at_once_beats_waiting_without_a_cache():
    session = Session(200, 1_500, 200_000, SONNET, is_cached=False, uses_model=False)
    assert session.cost(at_once) < session.cost(at_the_limit) * Decimal("0.9")
    assert session.cost(when_it_pays) == session.cost(at_once)


@pytest.mark.parametrize("cached", [(True,), (False,)], ids=["cached", "uncached"])
def test_over_many_sessions_the_rule_is_as_good_as_the_better_fixed_policy(cached):
    sessions = grid(200, [SONNET, "gpt-5", "deepseek-chat"], cached)
    ruled = mean(regrets(sessions, when_it_pays))
    assert ruled <= 1.02
    assert ruled <= mean(regrets(sessions, at_once)) + 0.01
    assert ruled <= mean(regrets(sessions, at_the_limit)) + 0.01


@pytest.mark.parametrize("turns", [30, 60, 120])
def test_sessions_that_end_early_do_not_break_the_rule(turns):
    sessions = grid(turns, [SONNET], (True, False))
    assert mean(regrets(sessions, when_it_pays)) <= 1.02


def test_what_a_report_needs_can_be_had_from_the_package():
    assert tokens.net_savings is net_savings
    assert tokens.pays is pays
    assert tokens.RecordedCall is RecordedCall
