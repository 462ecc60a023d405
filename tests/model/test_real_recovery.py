"""A conversation that a real server refuses is compressed as the ladder says, and then it is answered."""

import pytest

import midfold
from midfold.engines.recovery import Attempt, Compress, learn_limit, recover
from midfold.errors import ContextOverflow
from midfold.tokens import TokenCounter
from midfold.tokens.learned_limits import LearnedLimits, Lesson
from midfold.wire import parse
from midfold.wire.failures import classify
from midfold.wire.validate import validate

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]

OUTPUT_CAP = 60
RULE = "Never touch config/prod.yaml."
REQUEST = "Which log did you read first? Answer with its path."


def investigate():
    """Make a conversation of one log that fills the window alone, two short ones, and a question."""
    messages = [{"role": "user", "content": f"Find out why orders are slow. {RULE}"}]
    for number, lines in enumerate((230, 6, 6)):
        messages += read_log(f"logs/orders-{number}.log", lines)
    return [*messages, {"role": "user", "content": REQUEST}]


def read_log(path, lines):
    log = "\n".join(f"{line:04d} GET /orders/{line * 31} 200 {line * 7 % 90} ms" for line in range(lines))
    function = {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}
    call = {"id": path, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": path, "content": log},
    ]


def refuse(model, messages):
    """Send what is too long, and return what the answer says."""
    with pytest.raises(ContextOverflow) as caught:
        model.complete(messages, max_output=OUTPUT_CAP)
    return classify(caught.value.status, caught.value.body)


def test_window_that_the_server_states_is_learnt(model, server, tmp_path):
    failure = refuse(model, investigate())
    limits = LearnedLimits(tmp_path / "limits.json")
    names = {"endpoint": server.url, "model": server.model}
    lesson = learn_limit(failure, limits, **names, configured_tokens=2 * server.window_tokens)
    assert lesson is Lesson.LEARNED
    assert limits.get(**names) == server.window_tokens


def test_request_over_the_window_is_compressed_and_then_answered(model, server, note):
    messages = investigate()
    count = TokenCounter(server.model)
    attempt = Attempt(
        failure=refuse(model, messages),
        sent_tokens=sum(count(message) for message in parse(messages, "openai_chat")),
        window_tokens=2 * server.window_tokens,
        output_cap=OUTPUT_CAP,
    )
    step = next(recover(attempt))
    assert isinstance(step, Compress)
    assert step.target_tokens < server.window_tokens

    # Placeholders are the shortest form, which a slow core has read in a minute.
    result = midfold.compress(
        messages, max_tokens=step.target_tokens, tokenizer=server.model, style="placeholder"
    )
    assert validate(result.messages, dialect="openai_chat") == []
    assert RULE in str(result.messages)
    answer = model.complete(result.messages, max_output=OUTPUT_CAP)
    assert answer.text
    assert answer.usage.prompt_tokens < server.window_tokens
    note(
        f"compressed from {result.tokens_before:,} to {result.tokens_after:,} tokens, it says {answer.text!r}"
    )
