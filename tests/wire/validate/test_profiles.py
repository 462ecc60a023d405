"""Providers that differ from the two whose dialects everybody speaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.errors import ConfigError
from midfold.wire.validate import PROFILES, Profile, profile_for, sanitize_id, validate

USER = {"role": "user", "content": "Which files are there?"}
ANSWER = {"role": "assistant", "content": "Two."}
SYSTEM = {"role": "system", "content": "Be terse."}


def calling(call_id, **changes):
    body = {"name": "list_files", "arguments": "{}"}
    call = {"id": call_id, "type": "function", "function": body, **changes}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def result(call_id):
    return {"role": "tool", "tool_call_id": call_id, "content": "a.py b.py"}


def loop(call_id):
    return [USER, calling(call_id), result(call_id), ANSWER]


def found(messages, profile, dialect="openai_chat", **options):
    faults = validate(messages, dialect=dialect, profile=profile, **options)
    return [(fault.code, fault.index) for fault in faults if fault.severity == "error"]


REFUSED = {
    "mistral: an id of another shape": ("mistral", loop("call_1"), [("OC8", 1)]),
    "mistral: the user right after a result": ("mistral", [*loop("abcDEF123")[:3], USER], [("OC15", 3)]),
    "strict: one role twice": ("strict_alternation", [SYSTEM, USER, USER], [("OC15", 2)]),
    "strict: the assistant first": ("strict_alternation", [SYSTEM, ANSWER, USER], [("OC15", 1)]),
    "strict: the user right after a result": (
        "strict_alternation",
        [*loop("call_1")[:3], USER],
        [("OC15", 3)],
    ),
    "bedrock: an id with dots": ("bedrock", loop("functions.Bash:0"), [("OC8", 1)]),
    "bedrock: one role twice": ("bedrock", [USER, ANSWER, ANSWER], [("OC15", 2)]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_profile_refuses_what_openai_accepts(case):
    profile, messages, expected = REFUSED[case]
    assert found(messages, profile) == expected
    assert found(messages, "openai") == []


ACCEPTED = {
    "mistral": loop("abcDEF123"),
    "strict_alternation": [SYSTEM, *loop("call_1"), USER],
    "bedrock": [SYSTEM, *loop("call_1"), USER],
    "kimi": loop("functions.Bash:0"),
    "gemini": loop("call_1"),
    "deepseek": loop("call_1"),
    "minimax": loop("call_1"),
    "azure": loop("call_1"),
    "ollama": loop("call_1"),
}


@pytest.mark.parametrize("profile", ACCEPTED)
def test_a_profile_accepts_an_ordinary_tool_loop(profile):
    assert found(ACCEPTED[profile], profile) == []


def with_call(call):
    answer = {"role": "tool", "tool_call_id": call.get("id"), "content": "a.py b.py"}
    return [USER, {"role": "assistant", "content": None, "tool_calls": [call]}, answer, ANSWER]


def function(name="list_files", arguments="{}", **call):
    return {**call, "function": {"name": name, "arguments": arguments}}


OWN_HABITS = {
    "gemini: dots and colons in the name of a tool": (
        "gemini",
        with_call(function("default_api:fs.list", id="c1", type="function")),
        ["OC10"],
    ),
    "mistral: a call without a type": ("mistral", with_call(function(id="abcDEF123")), ["OC7"]),
    "mistral: arguments as an object": (
        "mistral",
        with_call(function(id="abcDEF123", type="function", arguments={"path": "."})),
        ["OC11"],
    ),
    "ollama: calls and results without ids": (
        "ollama",
        [*with_call(function(arguments={}))[:2], {"role": "tool", "tool_name": "ls", "content": ""}],
        ["OC7", "OC7", "OC5"],
    ),
    "ollama: results by their order": (
        "ollama",
        [*loop("call_1")[:2], {"role": "tool", "tool_name": "list_files", "content": ""}, ANSWER],
        ["OC14", "OC5"],
    ),
    "kimi: a signature in the id": ("kimi", loop("c" * 5000), ["OC8"]),
    "gemini: a signature in the id": ("gemini", loop("c" * 5000), ["OC8"]),
    "deepseek: a signature in the id": ("deepseek", loop("c" * 5000), ["OC8"]),
    "minimax: a signature in the id": ("minimax", loop("c" * 5000), ["OC8"]),
    "strict: a signature in the id": ("strict_alternation", loop("c" * 5000), ["OC8"]),
}


@pytest.mark.parametrize("case", OWN_HABITS)
def test_a_profile_accepts_what_openai_refuses(case):
    profile, messages, refused = OWN_HABITS[case]
    assert found(messages, profile) == []
    assert [code for code, _ in found(messages, "openai")] == refused


def test_a_tool_name_is_refused_with_what_this_provider_takes():
    [fault] = validate(
        with_call(function("ls -l", id="c", type="function")), dialect="openai_chat", profile="gemini"
    )
    assert fault.reason == "the tool name is 'ls -l'; expected 1 to 64 letters, digits, _ . : or -"


SERVED_BY = {
    ("openai_chat", None): "openai",
    ("openai_chat", "gpt-5-mini"): "openai",
    ("openai_chat", "claude-sonnet-4-5"): "openai",
    ("openai_chat", "nobody/knows"): "openai",
    ("openai_chat", "azure/gpt-5"): "azure",
    ("openai_chat", "google/gemini-2.5-pro"): "gemini",
    ("openai_chat", "mistral-large-latest"): "mistral",
    ("openai_chat", "mistralai/Devstral-Small-2505"): "mistral",
    ("openai_chat", "deepseek/deepseek-chat"): "deepseek",
    ("openai_chat", "moonshotai/Kimi-K2-Instruct"): "kimi",
    ("openai_chat", "MiniMax-M2"): "minimax",
    ("openai_chat", "qwen3:32b"): "ollama",
    ("openai_chat", "deepseek-r1:1.5b"): "ollama",
    ("openai_chat", "ollama/llama3.2"): "ollama",
    ("openai_chat", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"): "bedrock",
    ("anthropic", None): "anthropic",
    ("anthropic", "claude-opus-4-5"): "anthropic",
    ("anthropic", "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"): "bedrock",
    ("anthropic", "kimi-k2"): "kimi",
    ("anthropic", "gpt-5"): "anthropic",
    ("openai_responses", "gpt-5"): "openai",
    ("sharegpt", "mistral-large-latest"): "openai",
}


@pytest.mark.parametrize(("dialect", "model"), SERVED_BY)
def test_the_name_of_a_model_says_whose_rules_hold(dialect, model):
    assert profile_for(model, dialect).name == SERVED_BY[dialect, model]


@pytest.mark.parametrize("profile", ["gemini", "minimax"])
def test_results_must_follow_their_call_everywhere(profile):
    assert found([USER, calling("call_1"), ANSWER, result("call_1")], profile) == [("OC14", 1), ("OC5", 3)]


def test_bedrock_wants_the_tools_of_a_history_that_used_some():
    assert found(loop("call_1"), "bedrock", tools=[]) == [("OC12", None)]
    assert found(loop("call_1"), "openai", tools=[]) == []


def test_bedrock_wants_alternating_roles_and_results_by_themselves_in_anthropic_messages():
    call = {"type": "tool_use", "id": "t1", "name": "list_files", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}
    mixed = {"role": "user", "content": [answer, {"type": "text", "text": "And now?"}]}
    messages = [USER, {"role": "assistant", "content": [call]}, mixed]
    assert found(messages, "anthropic", dialect="anthropic") == []
    assert found(messages, "bedrock", dialect="anthropic") == [("AN15", 2)]
    assert found([USER, USER], "bedrock", dialect="anthropic") == [("AN25", 1)]


def test_gemini_warns_of_a_call_without_its_signature_when_enforced():
    signed = calling("call_1", extra_content={"google": {"thought_signature": "c2ln"}})
    assert (
        validate([USER, signed, result("call_1")], dialect="openai_chat", profile="gemini", mode="enforce")
        == []
    )
    faults = validate(loop("call_1"), dialect="openai_chat", profile="gemini", mode="enforce")
    assert [(fault.code, fault.index, fault.severity) for fault in faults] == [("OC7", 1, "warning")]


def test_a_profile_of_ones_own_can_be_given():
    mine = Profile("mine", tools_max=1)
    assert found([USER], mine, tools=[{}, {}]) == [("OC12", None)]


def test_an_unknown_profile_is_refused_with_the_names_there_are():
    with pytest.raises(ConfigError, match="profile is 'nobody'; expected one of openai, azure, anthropic"):
        validate([USER], dialect="openai_chat", profile="nobody")


def test_profiles_are_found_by_their_names():
    assert all(profile.name == name for name, profile in PROFILES.items())


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
@given(call_id=st.text(max_size=200))
def test_a_sanitized_id_is_accepted_and_stays_as_it_is(profile, call_id):
    clean = sanitize_id(call_id, profile)
    assert profile.accepts_id(clean)
    assert sanitize_id(clean, profile) == clean


@given(ids=st.sets(st.text(max_size=80), max_size=50))
def test_different_ids_stay_different(ids):
    for profile in PROFILES.values():
        assert len({sanitize_id(call_id, profile) for call_id in ids}) == len(ids)


def test_an_id_that_is_accepted_is_not_changed():
    assert sanitize_id("toolu_01A", "anthropic") == "toolu_01A"


def test_a_changed_id_keeps_what_a_reader_recognises():
    assert sanitize_id("functions.Bash:0", "anthropic").startswith("functionsBash0")
    assert len(sanitize_id("functions.Bash:0", "mistral")) == 9
