"""Providers that differ from the two whose dialects everybody speaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.errors import ConfigError
from midfold.wire.validate import PROFILES, Profile, sanitize_id, validate

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
}


@pytest.mark.parametrize("profile", ACCEPTED)
def test_a_profile_accepts_an_ordinary_tool_loop(profile):
    assert found(ACCEPTED[profile], profile) == []


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
