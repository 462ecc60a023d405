"""`midfold chat` without a terminal: no model, one turn, prompts from a pipe, JSON."""

import io
import json
import os
import sys

import pytest

from midfold.agent import Agent, SavedModel, load_saved_model
from midfold.config import find_home
from midfold.messages import ToolCall
from midfold.store import open_store
from midfold.testing.upstream import HttpStatus, Reply, Upstream

READ = Reply("I look.", calls=(ToolCall("c1", "read_file", '{"path": "notes.txt"}'),))
RUN = Reply("", calls=(ToolCall("c1", "terminal", '{"command": "echo it ran"}'),))


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("the lamp is green\n")
    return tmp_path


@pytest.fixture
def chat(run):
    def runner(upstream, *options, prompt=None):
        model = ("--model", "scripted", "--base-url", upstream.url, "--context-length", 30_000)
        return run("chat", *model, *(("-p", prompt) if prompt is not None else ()), *options)

    return runner


def events(output):
    return [json.loads(line) for line in output.splitlines()]


def test_without_a_model_a_few_short_lines_say_what_to_set(run):
    status, printed, errors = run("chat")
    assert (status, printed) == (2, "")
    *ways, _file = errors.splitlines()
    assert len(ways) == 5
    assert max(map(len, ways)) <= 80
    for word in ("--model", "model.name", "_API_KEY", "--base-url", "--resume"):
        assert word in errors


def test_key_that_is_missing_is_one_line(run, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    status, _, errors = run("chat", "--model", "openai/gpt-5-mini", "-p", "hello")
    assert (status, errors.count("\n")) == (2, 1)
    assert "OPENAI_API_KEY" in errors


def test_words_go_to_standard_output_and_the_rest_to_standard_error(chat):
    with Upstream([READ, Reply("The lamp is **green**.")]) as up:
        status, printed, errors = chat(up, prompt="what colour is the lamp?")
    assert status == 0
    assert printed == "I look.\nThe lamp is **green**.\n"
    first, *rest = errors.splitlines()
    assert first.startswith("scripted  window 30,000 (as set) · caching off · session ")
    assert any(line.startswith("→ read_file notes.txt") for line in rest)
    assert rest[-2].endswith("tokens, cost unknown, 0 folds")
    assert rest[-1].startswith("continue: midfold chat --resume ")


def test_words_of_the_model_cannot_steer_the_terminal(chat):
    with Upstream(Reply("a\x1b]0;title\x07b\x1b[31mc")) as up:
        _, printed, _ = chat(up, prompt="hello")
    assert printed == "abc\n"


def test_prompt_may_come_from_standard_input(chat, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("all of\nthis"))
    with Upstream() as up:
        _, printed, _ = chat(up, prompt="-")
    assert printed == "all of\nthis\n"


def test_commands_do_not_run_where_nobody_can_be_asked(chat):
    with Upstream([RUN, Reply("It did not run.")]) as up:
        status, _, errors = chat(up, prompt="run it")
    assert status == 0
    assert "did not allow this" in errors
    assert "--yes" in errors


def test_commands_run_where_everything_is_allowed(chat):
    with Upstream([RUN, Reply("It ran.")]) as up:
        _, printed, _ = chat(up, "--yes", prompt="run it")
        assert "it ran" in json.dumps(up.requests[-1].json)
    assert printed == "It ran.\n"


def test_model_can_be_offered_no_tools(chat):
    with Upstream() as up:
        chat(up, "--no-tools", prompt="hello")
        assert "tools" not in up.requests[0].json


def test_events_are_lines_of_json(chat):
    with Upstream([READ, Reply("It is green.")]) as up:
        status, printed, errors = chat(up, "--json", prompt="which colour?")
    found = events(printed)
    assert (status, errors) == (0, "")
    names = [event["event"] for event in found]
    assert (names[0], names[-2], names[-1]) == ("session", "done", "end")
    assert {"text", "tool_started", "tool_finished", "model_called"} <= set(names)
    assert found[-2]["text"] == "It is green."
    assert found[-1]["session_id"] == found[0]["session_id"]
    assert found[-1]["usage"]["output_tokens"] > 0


def test_failure_of_the_provider_is_status_one(chat):
    with Upstream(HttpStatus(401, {"error": {"message": "bad key"}})) as up:
        status, printed, errors = chat(up, prompt="hello")
        assert (status, printed) == (1, "")
        assert "bad key" in errors
        status, printed, _ = chat(up, "--json", prompt="hello")
    assert status == 1
    [error] = [event for event in events(printed) if event["event"] == "error"]
    assert error["kind"] == "ProviderAuthError"


def test_json_needs_a_prompt(chat):
    with Upstream() as up:
        status, _, errors = chat(up, "--json")
    assert status == 2
    assert "--json needs -p" in errors


def test_session_goes_on_by_the_beginning_of_its_id_and_as_latest(chat):
    with Upstream() as up:
        _, printed, _ = chat(up, "--json", prompt="first")
        session = events(printed)[0]["session_id"]
        chat(up, "--resume", session[:8], prompt="second")
        chat(up, "--resume", "latest", prompt="third")
        said = [message.text for message in up.requests[-1].messages if message.role == "user"]
    assert said == ["first", "second", "third"]


def test_latest_is_the_chat_that_was_used_last_not_the_one_that_began_last(chat):
    with Upstream() as up:
        older = events(chat(up, "--json", prompt="about the harbour")[1])[0]["session_id"]
        chat(up, prompt="about the ferry")
        chat(up, "--resume", older, prompt="how deep is it?")
        chat(up, "--resume", "latest", prompt="and at low tide?")
        said = [message.text for message in up.requests[-1].messages if message.role == "user"]
    assert said == ["about the harbour", "how deep is it?", "and at low tide?"]


def test_latest_is_an_imported_conversation_where_the_chat_went_on_with_that_one(chat, run, put):
    imported = put("about the mole", "340 m", source="claude_code", days=3)
    with Upstream() as up:
        chat(up, prompt="about the ferry")
        chat(up, "--resume", imported, prompt="which paint?")
        chat(up, "--resume", "latest", prompt="how much of it?")
        said = [message.text for message in up.requests[-1].messages if message.role == "user"]
    assert said == ["about the mole", "which paint?", "how much of it?"]


@pytest.mark.parametrize("name", ["latest", "0000"])
def test_session_that_is_not_there_is_one_line(chat, name):
    with Upstream() as up:
        status, _, errors = chat(up, "--resume", name, prompt="hello")
    assert (status, errors.count("\n")) == (2, 1)
    assert "no session" in errors


def test_prompts_and_commands_come_from_a_pipe(chat, monkeypatch):
    lines = "first\n\n/pin never lower the lamp\n/pins\n/xyzzy\nsecond \\\nline\n/quit\nnever said\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    with Upstream() as up:
        status, printed, errors = chat(up)
        assert len(up.requests) == 2
    assert status == 0
    assert printed.splitlines() == [
        "first",
        "pinned: never lower the lamp",
        "1  never lower the lamp",
        "second ",
        "line",
    ]
    assert "there is no command /xyzzy; /help lists the commands" in errors
    assert errors.count("░ ") == 2, "how things stand, after each turn"
    assert "--resume" in errors.splitlines()[-1]


def test_turn_that_fails_in_a_pipe_is_told_and_tried_again(chat, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello\n/continue\n"))
    with Upstream([HttpStatus(400, {"error": {"message": "not today"}}), Reply("Now.")]) as up:
        status, printed, errors = chat(up)
    assert (status, printed) == (0, "Now.\n")
    assert "not today" in errors
    assert "/continue tries again" in errors


def test_continue_with_nothing_to_answer_says_so_and_no_more(chat, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("/continue\n"))
    with Upstream() as up:
        _, _, errors = chat(up)
    assert "there is nothing to answer yet" in errors
    assert "/continue tries again" not in errors


@pytest.mark.parametrize("prompt", ["", "  \n"])
def test_empty_prompt_is_bad_usage(chat, prompt):
    with Upstream() as up:
        status, _, errors = chat(up, prompt=prompt)
    assert status == 2
    assert "the prompt is empty" in errors


def test_session_that_goes_on_elsewhere_is_told_with_what_to_do(chat, monkeypatch, run):
    def answer(received):
        if received.messages[-1].text == "one":
            return Reply("first")
        if received.messages[-1].text == "elsewhere":
            return Reply("second")
        raise AssertionError(received.messages[-1].text)

    class Lines(io.StringIO):
        """Goes on with the session from elsewhere before the last line is read."""

        def readline(self, *arguments):
            line = super().readline(*arguments)
            if line == "two\n":
                go_on_elsewhere()
            return line

    def go_on_elsewhere():
        with Agent("scripted", base_url=up.url, home=find_home(), session=latest()) as other:
            list(other.run("elsewhere"))

    def latest():
        with open_store(find_home() / "sessions.db") as store:
            return store.sessions(limit=1)[0].id

    monkeypatch.setattr(sys, "stdin", Lines("one\ntwo\n"))
    with Upstream(answer) as up:
        _, _, errors = chat(up)
    assert "was continued elsewhere; resume it" in errors
    assert "/resume " in errors


def test_a_command_sees_what_is_named_like_a_credential_only_where_it_is_allowed(chat, monkeypatch):
    monkeypatch.setenv("NPM_TOKEN", "let-through")
    monkeypatch.setenv("DEPLOY_TOKEN", "hush-hush")
    look = Reply("", calls=(ToolCall("c1", "terminal", '{"command": "env | grep _TOKEN"}'),))
    with Upstream([look, Reply("Seen.")]) as up:
        chat(up, "--yes", "--env", "NPM_TOKEN", prompt="look")
        sent = up.requests[-1].body.decode()
    assert "let-through" in sent
    assert "hush-hush" not in sent


WRITE = Reply("", calls=(ToolCall("c1", "write_file", '{"path": "notes.txt", "content": "dark\\n"}'),))
HOOK = Reply("", calls=(ToolCall("c2", "write_file", '{"path": ".git/hooks/pre-commit", "content": "x"}'),))
ENVRC = Reply("", calls=(ToolCall("c3", "write_file", '{"path": ".envrc", "content": "x"}'),))
REMEMBER = Reply("", calls=(ToolCall("c4", "memory", '{"action": "add", "entry": "Lamps are green."}'),))


@pytest.mark.parametrize(
    ("options", "written"),
    [((), set()), (("--accept-edits",), {"notes"}), (("--yes",), {"notes", "envrc", "memory"})],
)
def test_one_turn_writes_what_its_options_allow(chat, workspace, options, written):
    (workspace / ".git" / "hooks").mkdir(parents=True)
    with Upstream([WRITE, HOOK, ENVRC, REMEMBER, Reply("Done.")]) as up:
        status, _, errors = chat(up, *options, prompt="write it")
    there = {
        "notes": (workspace / "notes.txt").read_text() == "dark\n",
        "hook": bool(list((workspace / ".git" / "hooks").iterdir())),
        "envrc": (workspace / ".envrc").exists(),
        "memory": (find_home() / "MEMORY.md").exists(),
    }
    assert status == 0
    assert {name for name, is_there in there.items() if is_there} == written
    assert ("without asking" in errors) == bool(options)


@pytest.fixture
def standard_input(monkeypatch):
    """Lets standard input be a pipe, or one that nobody writes to."""
    opened = []

    def feed(text, *, is_open=False):
        reader, writer = os.pipe()
        os.write(writer, text.encode())
        if is_open:
            opened.append(os.fdopen(writer, "w"))
        else:
            os.close(writer)
        opened.append(os.fdopen(reader))
        monkeypatch.setattr(sys, "stdin", opened[-1])

    yield feed
    for stream in opened:
        stream.close()


def test_standard_input_goes_with_the_prompt(chat, standard_input):
    standard_input("first line\nsecond line\n")
    with Upstream() as up:
        _, printed, _ = chat(up, prompt="what is this?")
    assert printed == "what is this?\n\nfirst line\nsecond line\n"


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(chat, standard_input, monkeypatch):
    monkeypatch.setattr("midfold.cli.chat.user_input._WAIT_SECONDS", 0.05)
    standard_input("", is_open=True)
    with Upstream() as up:
        assert chat(up, prompt="hello")[1] == "hello\n"


def test_files_that_a_prompt_names_are_read(chat):
    with Upstream(Reply("Green.")) as up:
        status, _, errors = chat(up, prompt="what colour, says @notes.txt? Ask @anna.")
        body = up.requests[0].body.decode()
    assert status == 0
    assert "the lamp is green" in body
    assert "→ read_file notes.txt" in errors
    assert "anna" not in errors


def test_files_that_piped_text_names_are_not_read(chat, standard_input):
    standard_input("see @notes.txt\n")
    with Upstream(Reply("Yes.")) as up:
        chat(up, prompt="what is this?")
        assert "the lamp is green" not in up.requests[0].body.decode()


def test_a_line_of_a_pipe_runs_no_command(chat, monkeypatch, workspace):
    monkeypatch.setattr(sys, "stdin", io.StringIO("!touch planted\n"))
    with Upstream(Reply("I cannot.")) as up:
        chat(up)
    assert not (workspace / "planted").exists()


def test_a_resumed_chat_asks_the_model_that_it_was_held_with(chat, run):
    with Upstream() as up:
        chat(up, prompt="hello")
        status, printed, errors = run("chat", "--resume", "latest", "-p", "again")
        assert (status, printed) == (0, "again\n")
        assert errors.startswith("scripted  window 30,000 (as set)")
        assert up.requests[-1].model == "scripted"


def test_an_option_wins_over_the_model_that_a_session_was_held_with(chat, run):
    with Upstream() as up:
        chat(up, prompt="hello")
        run("chat", "--resume", "latest", "--context-length", "9000", "-p", "again")
        errors = run("chat", "--resume", "latest", "--model", "other", "--base-url", up.url, "-p", "more")[2]
        assert errors.startswith("other  window")
        assert up.requests[-1].model == "other"
        assert run("chat", "--resume", "latest", "-p", "more")[2].startswith("other  window")


def test_name_address_and_window_are_what_is_kept_of_a_model(chat):
    with Upstream() as up:
        chat(up, prompt="hello")
    with open_store(find_home() / "sessions.db") as store:
        saved = load_saved_model(store, store.sessions(limit=1)[0].id)
    assert saved == SavedModel("scripted", up.url, None, 30_000)
