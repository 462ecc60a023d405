"""`midfold.wrap` around the real SDKs, over real HTTP to a scripted upstream."""

import json
from itertools import pairwise

import anthropic
import openai
import pytest
from anthropic.types import Message as ClaudeMessage
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

import midfold
from midfold.errors import ConfigError
from midfold.store import open_store
from midfold.testing.upstream import HttpStatus, Reply, Upstream
from midfold.tokens import CanonicalUsage
from support.wrapped import WINDOW, WORDS, answer, open_anthropic, open_openai, wrapped


def talk_chat(client, turns, messages=None, **options):
    """Hold a conversation as callers do: the whole history is sent each time."""
    messages = [{"role": "system", "content": "Be brief."}] if messages is None else messages
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Question {turn}: {WORDS}"})
        reply = client.chat.completions.create(model="gpt-5", messages=messages, **options)
        assert isinstance(reply, ChatCompletion)
        messages.append(reply.choices[0].message)
    return messages


def talk_messages(client, turns):
    messages = []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Question {turn}: {WORDS}"})
        reply = client.messages.create(
            model="claude-opus-4-6", max_tokens=500, system="Be brief.", messages=messages
        )
        assert isinstance(reply, ClaudeMessage)
        messages.append({"role": "assistant", "content": reply.content})
    return messages


def talk_responses(client, turns):
    items = []
    for turn in range(turns):
        items.append({"role": "user", "content": f"Question {turn}: {WORDS}"})
        reply = client.responses.create(model="gpt-5", instructions="Be brief.", input=items)
        assert isinstance(reply, Response)
        items += reply.output
    return items


TALKS = {
    "chat": (open_openai, talk_chat, "messages"),
    "messages": (open_anthropic, talk_messages, "messages"),
    "responses": (open_openai, talk_responses, "input"),
}


def bodies(up, key="messages"):
    return [request.json[key] for request in up.requests]


def is_prefix(shorter, longer):
    return json.dumps(longer[: len(shorter)]) == json.dumps(shorter)


@pytest.mark.parametrize("api", sorted(TALKS))
@pytest.mark.slow
def test_a_long_conversation_never_outgrows_the_window(api):
    opened, talk, key = TALKS[api]
    with Upstream(answer, window_tokens=WINDOW) as up:
        client = wrapped(opened(up))
        assert type(client) is type(opened(up))
        messages = talk(client, 60)
        assert len(up.requests) == 60
        assert max(request.count_tokens() for request in up.requests) < WINDOW
    report = midfold.client_report(client)
    assert (report.calls, report.unreported, report.recoveries) == (60, 0, 0)
    assert report.compressions >= 2
    assert report.usage.prompt_tokens == sum(request.count_tokens() for request in up.requests)
    assert len(messages) >= 120  # the caller's own list is as long as ever
    sent = bodies(up, key)
    newest = [json.dumps(body[-1]) for body in sent]
    assert all(f"Question {turn}: " in words for turn, words in enumerate(newest))


@pytest.mark.parametrize("api", sorted(TALKS))
@pytest.mark.slow
def test_requests_begin_with_the_bytes_of_the_one_before_except_after_a_fold(api):
    """A provider's prompt cache holds as long as the bytes do."""
    opened, talk, key = TALKS[api]
    with Upstream(answer) as up:
        client = wrapped(opened(up))
        talk(client, 60)
    sent = bodies(up, key)
    cold = sum(not is_prefix(before, after) for before, after in pairwise(sent))
    assert cold == midfold.client_report(client).compressions


def test_one_summary_is_paid_for_each_fold():
    asked = []

    def summarize(request):
        asked.append(request)
        return f"## Goal\nCount the meters, part {len(asked)}."

    with Upstream(answer) as up:
        seen = []
        client = wrapped(open_openai(up), summarizer=summarize, on_compression=seen.append)
        talk_chat(client, 60)
        client.close()
    assert midfold.client_report(client).compressions == len(seen) >= 2
    assert len(asked) <= len(seen) + 1  # one may be prepared that is not due yet
    assert all("## Goal" in json.dumps(body) for body in bodies(up)[-3:])


@pytest.mark.slow
def test_summaries_of_a_model_are_recorded_with_the_calls(tmp_path):
    store = open_store(tmp_path / "calls.db")
    with Upstream(answer) as up, Upstream(Reply("## Goal\nCount.", usage=CanonicalUsage(900, 90))) as writer:
        with wrapped(
            open_openai(up), summary_model="local/small", base_url=writer.url, store=store
        ) as client:
            talk_chat(client, 40)
        assert len(writer.requests) >= 1
    calls = store.calls()
    chat = [call for call in calls if call.purpose == "chat"]
    assert len(chat) == 40
    assert {(call.model, call.source) for call in chat} == {("gpt-5", "wrap")}
    assert all(call.cost_kind == "computed" and call.cost for call in chat)
    summaries = [call for call in calls if call.purpose == "summary"]
    assert {(call.model, call.usage.prompt_tokens) for call in summaries} == {("local/small", 900)}
    assert len(store.sessions()) == 1
    store.close()


def test_a_history_that_came_back_from_a_file_is_recognised():
    """Callers restart, re-serialise, move their cache markers and drop fields."""
    with Upstream(answer) as up:
        client = wrapped(open_openai(up))
        messages = talk_chat(client, 40)
        folded = midfold.client_report(client).compressions
        again = [
            message if isinstance(message, dict) else message.model_dump(exclude_unset=True)
            for message in messages
        ]
        again[0] = {"role": "system", "content": "Be brief. Today is Monday."}
        talk_chat(client, 1, json.loads(json.dumps(again)))
        sent = bodies(up)
    assert midfold.client_report(client).compressions == folded
    assert is_prefix(sent[-2][1:], sent[-1][1:])


@pytest.mark.slow
def test_branches_of_a_conversation_share_their_folds_and_go_their_own_ways():
    with Upstream(answer) as up:
        client = wrapped(open_openai(up))
        messages = talk_chat(client, 40)
        folds = midfold.client_report(client).compressions
        left, right = list(messages), list(messages)
        talk_chat(client, 1, left)
        talk_chat(client, 1, [*right[:-2], {"role": "user", "content": "Something else."}, right[-1]])
        assert midfold.client_report(client).compressions == folds
        talk_chat(client, 30, left)
        talk_chat(client, 30, right)
    assert max(request.count_tokens() for request in up.requests) < WINDOW


@pytest.mark.slow
def test_conversations_do_not_get_into_one_another():
    with Upstream(answer) as up:
        client = wrapped(open_openai(up))
        first, second = [], []
        for _ in range(40):
            talk_chat(client, 1, first)
            talk_chat(client, 1, second)
        for body in bodies(up):
            assert not (body[0]["content"].startswith("Question 0") and "ABC" in json.dumps(body))
        talk_chat(client, 1, [{"role": "user", "content": "ABC"}, {"role": "assistant", "content": "D"}])
    assert len(bodies(up)[-1]) == 3


def test_a_short_request_goes_out_as_it_came():
    body = [{"role": "user", "content": [{"type": "text", "text": "Hello", "cache_control": {"type": "x"}}]}]
    with Upstream(answer) as up:
        for client in (open_anthropic(up), wrapped(open_anthropic(up))):
            client.messages.create(model="claude-opus-4-6", max_tokens=50, messages=body)
        plain = open_openai(up)
        for client in (plain, wrapped(plain)):
            client.responses.create(model="gpt-5", input="Hello")
            client.responses.create(model="gpt-5", input="And?", previous_response_id="resp_1")
    first, second, *rest = [request.body for request in up.requests]
    assert first == second
    assert rest[:2] == rest[2:]


@pytest.mark.parametrize("api", sorted(TALKS))
@pytest.mark.slow
def test_a_refusal_as_too_long_is_folded_and_sent_again(api):
    """The window is smaller than anybody knew."""
    opened, talk, _ = TALKS[api]
    with Upstream(answer, window_tokens=8_000) as up:
        client = midfold.wrap(opened(up), context_length=100_000)
        talk(client, 40)
    report = midfold.client_report(client)
    assert report.calls == 40
    assert 1 <= report.recoveries < 40
    refused = len(up.requests) - 40
    assert refused <= report.recoveries


def test_an_output_cap_that_is_too_large_is_lowered_for_this_call():
    with Upstream(answer, window_tokens=8_000, provider="anthropic") as up:
        client = midfold.wrap(open_anthropic(up), context_length=8_000)
        client.messages.create(
            model="claude-opus-4-6", max_tokens=7_500, messages=[{"role": "user", "content": WORDS * 2}]
        )
    assert up.requests[0].json["max_tokens"] == 7_500
    assert up.requests[-1].json["max_tokens"] < 7_500
    assert up.requests[-1].json["messages"] == up.requests[0].json["messages"]


def test_other_errors_are_the_sdks_own():
    with Upstream([HttpStatus(401), HttpStatus(429), HttpStatus(400)]) as up:
        client = wrapped(open_openai(up))
        for error in (openai.AuthenticationError, openai.RateLimitError, openai.BadRequestError):
            with pytest.raises(error):
                client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Hi"}])
    assert len(up.requests) == 3


def test_what_cannot_be_read_is_left_to_the_provider():
    with Upstream(HttpStatus(400)) as up:
        client = wrapped(open_openai(up))
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="gpt-5", messages=[{"no": "role"}])
    assert up.requests[0].json["messages"] == [{"no": "role"}]


def test_other_calls_and_copies_of_the_client_work():
    with Upstream(answer) as up:
        client = wrapped(open_anthropic(up))
        assert client.models.list().data
        asked = {"model": "claude-opus-4-6", "messages": [{"role": "user", "content": "Hello"}]}
        assert client.messages.count_tokens(**asked).input_tokens > 0
        assert midfold.client_report(client).calls == 0
        other = client.with_options(timeout=5)
        assert type(other) is anthropic.Anthropic
        other.messages.create(**asked, max_tokens=50)
        client.beta.messages.create(**asked, max_tokens=50)
        raw = client.messages.with_raw_response.create(**asked, max_tokens=50)
        assert raw.parse().content[0].text.startswith("Answer")
    report = midfold.client_report(client)
    assert (report.calls, report.unreported) == (3, 0)


def test_what_is_no_client_is_said_in_one_line(tmp_path):
    with pytest.raises(ConfigError, match="expected a client of openai or anthropic"):
        midfold.wrap(object())
    with Upstream(answer) as up:
        client = wrapped(open_openai(up))
        with pytest.raises(ConfigError, match="not wrapped yet"):
            midfold.wrap(client)
        with pytest.raises(ConfigError, match="one of context_length"):
            midfold.wrap(open_openai(up), window=5)
        with pytest.raises(ConfigError, match="a number of tokens"):
            midfold.wrap(open_openai(up), context_length=0)
        with pytest.raises(ConfigError, match="that wrap returned"):
            midfold.client_report(open_openai(up))
