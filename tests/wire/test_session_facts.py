"""Facts of session files beside their messages: title, folder, window, and the calls that were paid for."""

from midfold.wire.session_files import read_session

USAGE = {"input_tokens": 10, "output_tokens": 3}


def said(uuid, parent, role, content, **more):
    message = {"role": role, "content": content, **more.pop("message", {})}
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "cwd": "/srv/meter",
        "message": message,
        **more,
    }


def reply(uuid, parent, message_id, usage, **more):
    facts = {"id": message_id, "model": "claude-opus-4-6", "usage": usage}
    return said(uuid, parent, "assistant", [{"type": "text", "text": "ok"}], message=facts, **more)


ASKED = [said("u", None, "user", "<tag>of the client</tag>"), said("v", "u", "user", "Fix the meter.\nSoon.")]
NAMED = {"type": "custom-title", "customTitle": "coins", "sessionId": "s"}
GENERATED = {"type": "ai-title", "aiTitle": "Fix a parking meter", "sessionId": "s"}


def claude(*records):
    return read_session("claude_code", records).facts


def codex(*entries):
    lines = [{"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": body} for kind, body in entries]
    return read_session("codex", lines).facts


def count(total, last):
    usage = {"total_token_usage": {"total_tokens": total}, "last_token_usage": last}
    return "event_msg", {"type": "token_count", "info": {**usage, "model_context_window": 272_000}}


def test_a_title_of_a_person_wins_over_a_generated_one():
    assert claude(*ASKED, NAMED, GENERATED).title == "coins"
    assert claude(*ASKED, GENERATED).title == "Fix a parking meter"


def test_without_a_title_the_first_request_of_a_person_is_one():
    assert claude(*ASKED).title == "Fix the meter. Soon."


def test_words_that_the_client_marks_as_its_own_are_no_request():
    marked = said("m", None, "user", "Caveat: local commands", isMeta=True)
    assert claude(marked, said("u", "m", "user", "Go on.")).title == "Go on."


def test_folder_and_id_of_a_session_are_read():
    facts = claude(*ASKED)
    assert (facts.session_id, facts.folder) == ("s", "/srv/meter")


def test_a_reply_on_several_lines_is_one_call_with_its_final_figures():
    lines = [reply("a", "v", "m1", USAGE), reply("b", "a", "m1", {**USAGE, "output_tokens": 90})]
    [call] = claude(*ASKED, *lines).calls
    assert (call.id, call.model, call.report["output_tokens"]) == ("m1", "claude-opus-4-6", 90)


def test_calls_of_subagents_and_abandoned_branches_were_paid_for_too():
    aside = reply("s", None, "m2", USAGE, isSidechain=True)
    lines = [reply("a", "v", "m1", USAGE), aside, reply("c", "v", "m3", USAGE)]
    assert [call.id for call in claude(*ASKED, *lines).calls] == ["m1", "m2", "m3"]


def test_replies_without_figures_are_no_calls():
    assert claude(*ASKED, reply("a", "v", "m1", {"input_tokens": 0, "output_tokens": 0})).calls == ()


def test_a_rollout_states_its_window_and_its_folder():
    facts = codex(("session_meta", {"id": "i", "cwd": "/srv/ingest"}), count(12, {"input_tokens": 12}))
    assert (facts.session_id, facts.folder, facts.window_tokens) == ("i", "/srv/ingest", 272_000)


def test_figures_that_codex_repeats_are_one_call():
    once, twice = count(12, {"input_tokens": 12}), count(30, {"input_tokens": 18})
    facts = codex(("session_meta", {"id": "i"}), ("turn_context", {"model": "gpt-5"}), once, once, twice)
    assert [(call.model, call.report["input_tokens"]) for call in facts.calls] == [
        ("gpt-5", 12),
        ("gpt-5", 18),
    ]


def test_project_rules_and_environment_are_no_request_of_a_rollout():
    texts = [
        "# AGENTS.md instructions for /srv",
        "<environment_context></environment_context>",
        "Find the leak.",
    ]
    items = [
        (
            "response_item",
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        )
        for text in texts
    ]
    assert codex(*items).title == "Find the leak."


def test_odd_figures_and_titles_are_passed_over():
    odd = (
        "event_msg",
        {"type": "token_count", "info": {"total_token_usage": 3, "model_context_window": "x"}},
    )
    facts = codex(("session_meta", {"id": 7, "cwd": []}), odd, ("event_msg", {"type": "token_count"}))
    assert (facts.session_id, facts.folder, facts.window_tokens, facts.calls) == (None, None, None, ())
    assert claude(*ASKED, {"type": "custom-title", "customTitle": ["x"]}).title == "Fix the meter. Soon."
