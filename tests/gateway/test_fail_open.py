"""Whatever of ours fails, the request goes on as the client sent it, and the client is told."""

import pytest

from midfold.engines import ContextEngine
from midfold.errors import StoreError
from midfold.testing import Reply, Upstream, transcript

PATH = "/v1/chat/completions"


class Failing:
    """A store of which some verbs fail."""

    def __init__(self, store, *verbs):
        self._store = store
        self._verbs = verbs

    def __getattr__(self, name):
        if name in self._verbs:

            def fail(*_args, **_options):
                raise StoreError("the disk is full")

            return fail
        return getattr(self._store, name)


def long_body():
    return {
        "model": "gpt-5-mini",
        "messages": transcript("openai_chat", turns=20, steps=2, result_chars=2_500),
    }


@pytest.mark.parametrize("verb", ["find_history", "find_fold", "continue_session_result"])
def test_a_store_that_fails_stops_no_request(gateway, store, verb):
    body = long_body()
    with Upstream(Reply("ok")) as up:
        running = gateway(up, own_store=Failing(store, verb), model__context_length=16_000)
        for _ in range(2):
            answer = running.ask(PATH, body)
            assert answer.status == 200
            assert "the disk is full" in answer.changes["x-midfold-warning"]
        running.settle()
    assert all(received.json == body for received in up.requests)


@pytest.mark.parametrize("verb", ["append", "create_session", "record_call"])
def test_what_cannot_be_recorded_is_said_with_this_answer_or_the_next(gateway, store, verb):
    said = [{"role": "user", "content": "hi"}]
    bodies, answers = [], []
    with Upstream(Reply("ok")) as up:
        running = gateway(up, own_store=Failing(store, verb))
        for number in range(4):
            said += [
                {"role": "assistant", "content": "ok"},
                {"role": "user", "content": f"go on with {number}"},
            ]
            bodies.append({"model": "gpt-5-mini", "messages": list(said)})
            answers.append(running.ask(PATH, bodies[-1]))
            running.settle()
    assert {answer.status for answer in answers} == {200}
    assert "not recorded" in str([answer.changes for answer in answers])
    assert [received.json for received in up.requests] == bodies


class RaisingEngine(ContextEngine):
    """Breaks every promise."""

    name = "raising"

    def update_from_response(self, usage):
        raise ValueError("a secret of the conversation")

    def should_compress(self, prompt_tokens=None):
        return True

    def compress(self, messages, current_tokens=None, focus_topic=None):
        raise ValueError("a secret of the conversation")


def test_an_engine_that_raises_stops_no_request(gateway):
    body = long_body()
    with Upstream(Reply("ok")) as up:
        running = gateway(up, context__engine=f"{__name__}:RaisingEngine", model__context_length=16_000)
        answer = running.ask(PATH, body)
        running.settle()
    assert answer.status == 200
    assert up.requests[0].json == body
    assert "raising" in answer.changes["x-midfold-warning"]


def test_a_summariser_that_fails_leaves_the_digest(gateway, store):
    def summarize(request):
        raise RuntimeError("no")

    with Upstream(Reply("ok")) as up:
        running = gateway(up, summarizer=summarize, model__context_length=16_000)
        answer = running.ask(PATH, long_body())
    assert answer.changes["x-midfold-folded"] == "1"
    assert "the built-in digest stands in" in answer.changes["x-midfold-warning"]
