"""What holds for every fold: no secret comes through, nothing is lost for good, the figures add up."""

import json
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from midfold.api import compress
from midfold.folding import CompressionPolicy, Strategy, Style
from midfold.folding.flow import compress as compress_flow
from midfold.folding.fold import Fate, count_leading_system
from midfold.folding.run import run
from midfold.messages import Message, Reasoning, Text, ToolCall, ToolResult
from midfold.summaries.prompts import find_body
from midfold.summaries.sections import Template
from midfold.summaries.verify import find_inventions
from midfold.testing import conversation, transcript
from midfold.tokens import TokenCounter
from midfold.wire import DIALECTS

COUNT = TokenCounter()
FEW = settings(max_examples=25)

letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@st.composite
def secrets(draw):
    """A secret as it stands in a text, and the part of it that must never be seen."""
    mixed = draw(st.text(letters, min_size=36, max_size=36).filter(_is_mixed))
    return draw(
        st.sampled_from(
            [
                ("gh" + "p_" + mixed, mixed),
                ("AK" + "IA" + re.sub("[^A-Z2-7]", "Q", mixed.upper())[:16],) * 2,
                (f'password = "{mixed[:20]}"', mixed[:20]),
                (f"postgres://bob:{mixed[:16]}@db.example.com/app", mixed[:16]),
                (_pem(mixed), mixed),
                (f"Authorization: Bearer {mixed}", mixed),
            ]
        )
    )


def _is_mixed(text):
    return (
        len(set(text)) > 14
        and re.search(r"\d", text)
        and re.search("[a-z]", text)
        and re.search("[A-Z]", text)
    )


def _pem(line):
    body = "\n".join([f"{line}{'aB3d' * 7}"] * 4)
    return "-----BEGIN RSA PRIVATE " + f"KEY-----\n{body}\n-----END RSA PRIVATE " + "KEY-----"


def user(words):
    return Message("user", (Text(words),))


def assistant(words):
    return Message("assistant", (Text(words),))


def step(key, arguments, output):
    return [
        Message("assistant", (ToolCall(key, "bash", json.dumps(arguments)),)),
        Message("tool", (ToolResult(key, output),)),
    ]


def fillers(turns=25):
    """More words than any of the ceilings has room for, and results on top of them."""
    said = "Part {n} is next; it returns {n}77 rows, so I look at docs/part{n}/notes.md after that. "
    output = "built part_{n} in {n}9 ms\n"
    messages = []
    for n in range(turns):
        messages.append(assistant(said.format(n=n) * 4))
        messages += step(f"w{n}", {"command": f"make part{n}"}, output.format(n=n) * 8)
    return messages


PLACES = {
    "the user's words": lambda said: [user(f"Never print {said} to the log.")],
    "the model's words": lambda said: [assistant(f"I found {said} in the file.")],
    "a command": lambda said: [*step("s", {"command": f"echo {said} > out.txt"}, "ok")],
    "an argument": lambda said: [*step("s", {"command": "x", "note": said}, "ok")],
    "a nested argument": lambda said: [*step("s", {"command": "x", "env": [{"a": said}]}, "ok")],
    "a long argument": lambda said: [
        *step("s", {"command": "x", "body": f"one\n{said}\ntwo\n" + "z\n" * 99}, "ok")
    ],
    "a result": lambda said: [*step("s", {"command": "env"}, f"first\n{said}\nlast")],
    "an error": lambda said: [*step("s", {"command": "env"}, f"Error: bad key {said}\nExit code: 1")],
    "a long result": lambda said: [
        *step("s", {"command": "env"}, "log line\n" * 900 + said + "\nlog line" * 900)
    ],
    "a long line": lambda said: [*step("s", {"command": "env"}, "word " * 47 + said + " word" * 4_000)],
    "a result of JSON": lambda said: [
        *step("s", {"command": "env"}, json.dumps({"output": said, "exit_code": 0}))
    ],
}
policies = st.builds(
    CompressionPolicy,
    max_tokens=st.sampled_from([1_200, 1_800, 2_500]),
    strategy=st.sampled_from([Strategy.STAGED, Strategy.FOLD]),
    style=st.sampled_from(list(Style)),
    template=st.sampled_from(list(Template)),
)


def fold(messages, policy, answer=None, key=b""):
    """Fold, and return the result with every prompt that was sent."""
    prompts = []

    def summarize(request):
        prompts.append(f"{request.prompt}\n{request.facts}")
        return answer

    flow = compress_flow(messages, policy=policy, count=COUNT, use_model=answer is not None, key=key)
    return run(flow, summarize), prompts


def made(result):
    """Everything in the context that midfold wrote: the summary, and what stands in for parts."""
    edits = [part for edit in result.fold.edits for _, part in edit.parts] if result.fold else []
    stubs = [part.text for part in edits if isinstance(part, Text | ToolResult)]
    return "\n".join([result.summary or "", *stubs])


def is_hidden(hidden, text):
    """Whether no telling piece of a secret is in a text."""
    return not any(hidden[at : at + 12] in text for at in range(0, len(hidden) - 11, 6))


@FEW
@given(st.sampled_from(sorted(PLACES)), secrets(), policies, st.sampled_from([None, "## Goal\n- Ship."]))
def test_no_secret_is_in_summary_stub_or_prompt(place, secret, policy, answer):
    said, hidden = secret
    messages = [
        user("Begin."),
        assistant("Yes."),
        *PLACES[place](said),
        *fillers(),
        user("Now the last part."),
    ]
    result, prompts = fold(messages, policy, answer)
    assert result.summary
    assert is_hidden(hidden, made(result))
    assert all(is_hidden(hidden, prompt) for prompt in prompts)


@FEW
@given(secrets(), policies)
def test_no_secret_that_a_summariser_repeats_is_in_its_summary(secret, policy):
    said, hidden = secret
    messages = [user("Begin."), assistant("Yes."), *fillers(), user("Now the last part.")]
    result, _ = fold(messages, policy, f"## Goal\n- The key is {said}\n- done")
    assert result.summary
    assert is_hidden(hidden, made(result))


def earlier(said):
    return user(f"[CONTEXT SUMMARY]: ## Goal\n- Ship.\n- The key is {said} here.")


@pytest.mark.parametrize("answer", [None, "## Goal\n- Ship."])
def test_no_secret_of_an_earlier_summary_comes_through(answer):
    said = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    messages = [user("Begin."), earlier(said), *fillers(), user("Now the last part.")]
    result, prompts = fold(messages, CompressionPolicy(max_tokens=1_800), answer)
    assert said not in made(result)
    assert not [prompt for prompt in prompts if said in prompt]


def test_no_argument_that_is_called_a_password_comes_through():
    messages = [
        user("Begin."),
        assistant("Yes."),
        *step("s", {"user": "bob", "password": "hunter2-Xk29Qz81vB"}, "ok"),
    ]
    result, _ = fold([*messages, *fillers(), user("Now.")], CompressionPolicy(max_tokens=1_800))
    assert "hunter2-Xk29Qz81vB" not in made(result)


@FEW
@given(secrets(), policies)
def test_the_newest_request_is_quoted_without_its_secret(secret, policy):
    said, hidden = secret
    messages = [user("Begin."), assistant("Yes."), *fillers(), user(f"Now use {said} for it.")]
    result, prompts = fold(messages, policy, "## Goal\n- Ship.")
    assert result.summary
    assert is_hidden(hidden, result.summary)
    assert all(is_hidden(hidden, prompt) for prompt in prompts)


shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "turns": st.integers(8, 16),
        "steps": st.integers(2, 5),
        "parallel": st.integers(0, 3),
        "result_chars": st.sampled_from([300, 1_500]),
        "thinking": st.booleans(),
    }
)
dialects = st.sampled_from(sorted(DIALECTS))


def words_of(message):
    return [
        part.text for part in message.parts if isinstance(part, Text | ToolResult | Reasoning) and part.text
    ]


@FEW
@given(dialects, shapes, policies)
def test_every_message_is_kept_or_can_be_found_again(dialect, shape, policy):
    items = transcript(dialect, **shape)
    ceiling = policy.max_tokens
    result = compress(items, max_tokens=ceiling, style=policy.style, template=policy.template)
    fates = result.fates
    folded = {index for span in result.folded for index in span}
    kept = {index for index, item in enumerate(items) if any(item is new for new in result.messages)}
    shortened = {index for index, fate in enumerate(fates) if fate is Fate.SHORTENED}
    noted = set(range(count_leading_system(result.before)))  # a note stands behind the system prompt
    assert kept | folded | shortened | noted == set(range(len(items)))
    assert not kept & folded
    for index in folded | shortened:
        for words in words_of(result.before[index]):
            assert result.find(words)


def test_a_folded_command_is_found_as_it_was_typed():
    messages = [user("Begin."), assistant("Yes."), *step("s", {"command": 'grep "naïve way" src'}, "ok")]
    result, _ = fold([*messages, *fillers(), user("Now.")], CompressionPolicy(max_tokens=1_800))
    assert result.find('grep "naïve way" src')


@FEW
@given(dialects, shapes, policies)
def test_a_digest_keeps_to_its_ceiling_and_says_only_what_was_said(dialect, shape, policy):
    messages = conversation(dialect, **shape)
    result, _ = fold(messages, policy)
    assume(result.summary is not None)
    assert result.tokens_after <= policy.max_tokens or result.over_budget
    said = "\n".join(part.canonical() for message in messages for part in message.parts)
    body = re.sub(r"\[[\d, ]+\]|## Folded Messages(?s:.*)", "", find_body(result.summary))
    assert find_inventions(body, lambda: [said]) == ()


@pytest.mark.slow
@FEW
@given(dialects, shapes, policies, st.sampled_from([None, "## Goal\n- Ship.", "Nothing.", "word " * 3_000]))
def test_the_figures_of_retention_add_up(dialect, shape, policy, answer):
    result, prompts = fold(conversation(dialect, **shape), policy, answer)
    assume(result.retention is not None)
    retention = result.retention
    assert retention.facts - retention.kept == len(retention.missing)
    assert 0 <= retention.kept <= retention.facts
    assert all(missing not in result.summary for missing in retention.missing)
    assert bool(prompts) == (answer is not None)


@FEW
@given(shapes, policies)
def test_the_same_key_gives_the_same_summary(shape, policy):
    messages = conversation(**shape)
    one, other = (fold(messages, policy, key=b"k" * 16)[0].summary for _ in range(2))
    assert one == other


@FEW
@given(dialects, shapes, policies)
def test_folding_what_was_folded_changes_nothing(dialect, shape, policy):
    first, _ = fold(conversation(dialect, **shape), policy)
    assume(first.changed and not first.over_budget)
    assert not fold(first.messages, policy)[0].changed
