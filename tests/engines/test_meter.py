"""It pays, or it waits: a setting that puts a fold off while a warm cache makes it dear, never for long."""

from decimal import Decimal
from itertools import takewhile

import pytest

from midfold.engines import ContextCompressor
from midfold.engines.meter import Pace, weigh_payback
from midfold.folding import CompressionPolicy, Strategy
from midfold.tokens import CanonicalUsage, TokenCounter, find_model
from midfold.tokens.pricing import price_with
from midfold.wire import parse

MODEL = "claude-sonnet-4-5"
WINDOW = 140_000  # threshold 70,000, target 35,000, hard tier 119,000
HARD = WINDOW * 85 // 100
WAITS = CompressionPolicy(context_length=WINDOW, strategy=Strategy.FOLD, wait_until_it_pays=True)
WARM = Pace(turns=12, last_tokens=80_000, growth_tokens=4_000, cached_part=0.95)
COUNT = TokenCounter(MODEL)


def make_engine(*, waits=True, summarizer=None):
    policy = CompressionPolicy(strategy=Strategy.FOLD, wait_until_it_pays=waits)
    return ContextCompressor(WINDOW, model=MODEL, policy=policy, summarizer=summarizer, prepare_ahead=False)


def weigh(tokens, pace=WARM, **options):
    options = {"model": MODEL, "head_tokens": 5_000, "uses_model": True, **options}
    return weigh_payback(tokens, WAITS, pace, **options)


def reports(engine, *sizes, cached=0.95):
    for size in sizes:
        read = int(size * cached)
        engine.update_from_response({"input_tokens": size - read, "cache_read_input_tokens": read})


def test_a_warm_cache_and_a_dear_summary_make_a_fold_wait():
    assert not weigh(72_000).worth_it
    assert "costs" in weigh(72_000).why


def test_without_a_cache_and_a_model_it_pays_at_once():
    assert weigh(72_000, Pace(12, 70_000, 4_000, 0.0), uses_model=False).worth_it


@pytest.mark.parametrize("model", ["", "my-own-finetune"])
def test_where_no_price_is_known_tokens_decide(model):
    assert weigh(72_000, model=model, uses_model=False).worth_it


def test_it_never_waits_where_room_is_short():
    assert not weigh(HARD - 1, Pace(2, 70_000, 40_000, 1.0)).worth_it
    assert weigh(HARD, Pace(2, 70_000, 40_000, 1.0)).worth_it


def test_pace_is_learnt_from_what_calls_report():
    pace = Pace()
    for tokens in (10_000, 12_000, 14_000, 6_000, 8_000):
        pace = pace.observe(CanonicalUsage(tokens // 10, 5, tokens - tokens // 10))
    assert (pace.turns, pace.last_tokens) == (5, 8_000)
    assert pace.growth_tokens == pytest.approx(2_000)
    assert pace.cached_part == pytest.approx(0.9)


def test_the_engine_waits_only_when_it_is_told_to():
    sizes = range(40_000, 76_000, 4_000)
    patient, prompt = make_engine(summarizer=str), make_engine(waits=False, summarizer=str)
    for engine in (patient, prompt):
        reports(engine, *sizes)
    assert prompt.should_compress()
    assert prompt.get_status()["waits"] == ""
    assert not patient.should_compress()
    assert "a fold costs" in patient.get_status()["waits"]


@pytest.mark.parametrize("percent", [85, 90, 95, 99])
def test_the_engine_never_waits_at_the_hard_tiers(percent):
    engine = make_engine(summarizer=str)
    reports(engine, *range(40_000, 76_000, 4_000), WINDOW * percent // 100)
    assert engine.should_compress()
    assert engine.get_status()["waits"] == ""


def test_somebody_who_asks_by_hand_does_not_wait():
    engine = make_engine(summarizer=lambda _request: "## Goal\nShip.")
    talk = [item for number in range(40) for item in exchange(number, 1_800)]
    reports(engine, *range(40_000, 76_000, 4_000))
    assert engine.compress_result(talk, focus_topic="fees").summarizer == "model"


def exchange(number, tokens):
    return [
        {"role": "user", "content": f"Question {number}: " + "word " * tokens},
        {"role": "assistant", "content": f"Answer {number}."},
    ]


class Session:
    """A real engine in a session whose prefix is cached: every request is priced as a provider would."""

    def __init__(self, *, waits, uses_model):
        self.prices = find_model(MODEL).prices
        self.spent, self.folds, self.largest = Decimal(0), 0, 0
        self.sizes = {}
        self.engine = make_engine(waits=waits, summarizer=self.summarize if uses_model else None)

    def summarize(self, request):
        notes = "## Goal\n- Ship the tariff."
        self.pay(CanonicalUsage(COUNT.count_text(request.prompt), request.max_tokens))
        return notes

    def pay(self, usage):
        self.spent += price_with(usage, self.prices).dollars

    def run(self, turns, tokens):
        messages = []
        for number in range(turns):
            messages, before = [*messages, *exchange(number, tokens)], messages
            if self.engine.should_compress_preflight(messages):
                messages = self.engine.compress(messages)
                self.folds += 1
            total, read = self.count(messages), self.count(common_start(before, messages))
            usage = CanonicalUsage(0, 200, read, total - read)
            self.pay(usage)
            self.engine.update_from_response(
                {
                    "input_tokens": 0,
                    "cache_read_input_tokens": read,
                    "cache_creation_input_tokens": total - read,
                }
            )
            self.largest = max(self.largest, total)
        return self

    def count(self, messages):
        for item in messages:
            if id(item) not in self.sizes:
                self.sizes[id(item)] = item, sum(map(COUNT, parse([item], "openai_chat")))
        return sum(self.sizes[id(item)][1] for item in messages)


def common_start(before, after):
    pairs = zip(before, after, strict=False)
    return [new for old, new in takewhile(lambda pair: pair[0] is pair[1], pairs)]


@pytest.mark.parametrize("tokens", [1_500, 6_000])
def test_over_a_session_waiting_folds_less_often_and_costs_less(tokens):
    prompt, patient = (
        Session(waits=waits, uses_model=True).run(160_000 // tokens, tokens) for waits in (False, True)
    )
    assert 0 < patient.folds < prompt.folds
    assert patient.spent < prompt.spent
    assert patient.largest < HARD
