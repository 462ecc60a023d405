"""What a real server says to prompts that are too long, and to other mistakes."""

import pytest

from midfold.errors import ContextOverflow
from midfold.tokens import count_tokens
from midfold.wire.failures import FailureKind, classify

pytestmark = pytest.mark.model

SHORT = "Say hello in French. Answer with one word."
MIXED = """\
def total(rows: list[Decimal]) -> Decimal:
    return sum(rows, Decimal(0)).quantize(CENT, rounding=ROUND_HALF_EVEN)  # 2,310 rows of 2026-03

订单 7731 的总额差一分钱。Die Summe wird zuletzt gerundet; ошибка в строке 88.
"""


@pytest.fixture(params=["plain", "stream"])
def ask(request, model):
    """Ask for a whole answer, plainly or as a stream."""
    if request.param == "plain":
        return lambda text: model.complete(text, max_output=10)
    return lambda text: list(model.stream(text, max_output=10))


def fill(server, tokens):
    """Return a text that is a prompt of exactly so many tokens."""
    frame = server.count("word")
    text = "word" + " word" * (tokens - frame)
    assert server.count(text) == tokens
    return text


def test_prompt_too_long_is_told_with_its_length_and_the_window(ask, server, note):
    text = fill(server, server.window_tokens + 500)
    with pytest.raises(ContextOverflow) as caught:
        ask(text)
    assert caught.value.limit == server.window_tokens
    assert caught.value.input_tokens == server.window_tokens + 500
    failure = classify(caught.value.status, caught.value.body)
    assert failure.kind is FailureKind.PROMPT_TOO_LONG
    assert failure.is_limit_learnable
    note(f"{caught.value.status}: {failure.message}")


def test_prompt_that_leaves_no_room_for_a_word_is_too_long(ask, server):
    with pytest.raises(ContextOverflow) as caught:
        ask(fill(server, server.window_tokens))
    assert caught.value.limit == caught.value.input_tokens == server.window_tokens


def test_output_cap_above_the_window_is_no_failure_here(model, server):
    """llama.cpp takes any cap and stops when the window is full, so there is nothing to lower."""
    assert model.complete(SHORT, max_output=10 * server.window_tokens).text


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": [IMAGE]}]}),
        ("/v1/responses", {"input": SHORT, "previous_response_id": "resp_1"}),
        ("/v1/messages", {"max_tokens": 10}),
        ("/v1/nowhere", {}),
    ],
    ids=["no messages", "an image", "a history elsewhere", "no messages for Anthropic", "no such path"],
)
def test_other_mistakes_are_not_taken_for_a_prompt_too_long(server, path, body):
    reply = server.post(path, body)
    assert reply.status >= 400
    assert classify(reply.status, reply.body).kind is FailureKind.OTHER


@pytest.mark.parametrize("path", ["/v1/responses/input_tokens", "/v1/chat/completions/input_tokens"])
def test_every_way_to_have_a_prompt_counted_agrees(server, path):
    messages = [{"role": "user", "content": MIXED}]
    counted = server.post(path, {"model": server.model, "input": messages, "messages": messages})
    assert counted.body["input_tokens"] == server.count(MIXED)


def test_own_count_of_a_text_is_that_of_the_model(server):
    frame = server.count("word") - 1
    assert count_tokens(MIXED, server.model) == pytest.approx(server.count(MIXED) - frame, abs=2)
