"""A hundred requests at once on one conversation that is due: one summary is asked for."""

import threading
from concurrent.futures import ThreadPoolExecutor

from midfold.testing import Reply, Upstream, transcript

HERD = 100


def test_a_herd_asks_for_one_summary(gateway, store):
    asked, may_answer = [], threading.Event()

    def summarize(request):
        asked.append(request)
        may_answer.wait(30)
        return "## Goal\nMake the tariff follow the zones.\n\n## Remaining Work\nGo on."

    items = transcript("openai_chat", turns=110, result_chars=1_000)[:400]  # over the threshold of 64,000
    body = {"model": "gpt-5-mini", "messages": items}
    longer = [*items, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go on"}]
    with Upstream(Reply("ok")) as up:
        running = gateway(
            up, summarizer=summarize, model__context_length=100_000, compression__strategy="fold"
        )
        with ThreadPoolExecutor(HERD) as pool:
            answers = list(pool.map(lambda _: running.ask("/v1/chat/completions", body), range(HERD)))
        assert {answer.status for answer in answers} == {200}
        assert len(asked) == 1
        may_answer.set()
        running.settle()
        engine = next(iter(running.app.gateway.parts.index._by_conversation.values())).engine
        while engine.get_status()["preparation"]["phase"] == "preparing":
            threading.Event().wait(0.01)
        folded = running.ask("/v1/chat/completions", body | {"messages": longer})
        with ThreadPoolExecutor(HERD) as pool:
            again = list(
                pool.map(
                    lambda _: running.ask("/v1/chat/completions", body | {"messages": longer}), range(HERD)
                )
            )
    assert folded.changes["x-midfold-folded"] == "1"
    assert {answer.changes["x-midfold-folded"] for answer in again} == {"1"}
    assert len(asked) == 1
    assert len(store.folds()) == 1
    assert len(store.conversations()) == 1


def test_a_herd_over_the_hygiene_gate_is_folded_once(gateway, store):
    items = transcript("openai_chat", turns=40, steps=2, result_chars=3_000)
    body = {"model": "gpt-5-mini", "messages": items}
    with Upstream(Reply("ok")) as up:
        running = gateway(up, model__context_length=30_000)
        with ThreadPoolExecutor(HERD) as pool:
            answers = list(pool.map(lambda _: running.ask("/v1/chat/completions", body), range(HERD)))
        running.settle()
    assert {answer.changes.get("x-midfold-folded") for answer in answers} == {"1"}
    assert len(store.folds()) == 1
    assert len({received.body for received in up.requests}) == 1


def test_requests_that_cannot_shrink_ask_for_few_summaries(gateway):
    asked = []

    def summarize(request):
        asked.append(request)
        return "no summary"

    giant = {"role": "user", "content": "word " * 9_000}
    items = [*transcript("openai_chat", turns=3), giant]
    with Upstream(Reply("ok")) as up:
        running = gateway(
            up, summarizer=summarize, model__context_length=16_000, compression__strategy="fold"
        )
        for number in range(40):
            items += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": f"go on {number}"}]
            answer = running.ask("/v1/chat/completions", {"model": "gpt-5-mini", "messages": [*items, giant]})
            assert answer.status == 200
            running.settle()
    assert len(up.requests) == 40
    assert 0 < len(asked) <= 8
