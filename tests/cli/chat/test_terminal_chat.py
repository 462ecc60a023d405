"""`midfold chat` on a pseudo-terminal, against a model over HTTP: turns, folds, interrupts."""

import json
import sqlite3
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are a thing of Unix")


def fill(chat, exchanges, words=700, topic=""):
    """Have a conversation of so many exchanges, each about a thousand tokens long."""
    for number in range(exchanges):
        chat.enter(f"say {words} words {topic} {number}")
        chat.expect(rf"So\s+much\s+for\s+{words}\s+words\s+{topic}\s*{number}\.")


@pytest.mark.slow
def test_conversation_uses_tools_and_shows_each_in_a_line(chat):
    (chat.folder / "notes.txt").write_text("the lamp is green\n")
    chat.enter("read notes.txt")
    chat.expect(r"→ read_file notes.txt  \d+\.\d s, \d+ bytes")
    chat.expect(r"The tool said: 1\s+the lamp is green")


def test_command_runs_when_it_is_allowed(chat):
    chat.enter("run echo allowed $((1 + 1))")
    chat.expect(r"terminal asks before it runs:\s+echo allowed \$\(\(1 \+ 1\)\)")
    chat.expect(r"\[y\]es")
    chat.enter("y")
    chat.expect("The tool said: allowed 2")


def test_command_that_is_refused_tells_the_model_why(chat):
    chat.enter("run echo refused")
    chat.expect(r"\[y\]es")
    chat.enter("n try something else")
    chat.expect("The tool said: Error: the user did not allow this: try something else")


def test_command_that_is_always_allowed_is_asked_about_once(chat):
    chat.enter("run echo always")
    chat.expect(r"\[y\]es")
    chat.enter("a")
    chat.expect("The tool said: always")
    chat.enter("run echo always")
    shown = chat.expect(r"(?s)(.*?)The tool said: always")
    assert "asks before it runs" not in shown[1]


def test_conversation_folds_at_the_threshold(chat):
    for number in range(8):
        chat.enter(f"say 700 words {number}")
    chat.expect(r"Compressed: \d+ → \d+ messages  \(.*threshold")
    chat.expect(r"Request size: ~[\d,]+ → ~[\d,]+ tokens")
    chat.expect(r"continues in session \w{8}, folded once")
    chat.expect(r"So\s+much\s+for\s+700\s+words\s+7\.")


def test_conversation_folds_by_command_with_a_focus(chat, model):
    fill(chat, 5)
    chat.enter("/compress lamp number twelve")
    chat.expect(r"Compressed: \d+ → \d+ messages  \(as you asked\)")
    chat.expect(r"continues in session \w{8}, folded once")
    assert "lamp number twelve" in json.dumps(model.requests[-1])
    chat.enter("after the fold")
    chat.expect("You said: after the fold")
    assert "CONTEXT COMPACTION" in json.dumps(model.requests[-1])


def test_conversation_folds_when_the_provider_refuses_it(chat, model):
    chat.enter(f"/model window-5000 --base-url {model.url} --context-length 30000")
    chat.expect("window-5000  window 30,000")
    fill(chat, 4)
    chat.enter("still there?")
    chat.expect("too long for the model; compressing")
    chat.expect(r"Compressed: \d+ → \d+ messages  \(the request does not fit")
    chat.expect(r"You said: still there\?")


def test_conversation_folds_for_a_model_with_a_smaller_window(chat, model):
    fill(chat, 5)
    chat.enter("/model smaller --context-length 5000")
    chat.expect(r"Compressed: \d+ → \d+ messages  \(the other model has a smaller window\)")
    chat.expect("smaller  window 5,000")
    assert model.requests[-1]["model"] == "scripted", "the model so far writes the summary"
    chat.enter("hello")
    chat.expect("You said: hello")
    assert model.requests[-1]["model"] == "smaller"


@pytest.mark.parametrize(
    ("prompt", "sign"),
    [
        ("hang", "waiting for the model 0 s"),
        ("slowly", "The harbour lamp number 0"),
        ("run echo begun; sleep 30", r"\[y\]es"),
    ],
)
def test_ctrl_c_stops_a_turn_and_the_session_goes_on(chat, prompt, sign):
    chat.enter(prompt)
    chat.expect(sign)
    chat.type("\x03")
    chat.expect("interrupted")
    chat.enter("are you there?")
    chat.expect(r"You said: are you there\?")


def test_ctrl_c_stops_a_command_that_is_running(chat):
    chat.enter("run echo begun > begun.txt; sleep 30")
    chat.expect(r"\[y\]es")
    chat.enter("y")
    chat.expect(r"terminal echo begun .* \d+ s")
    chat.type("\x03")
    chat.expect("interrupted")
    chat.enter("are you there?")
    chat.expect(r"You said: are you there\?")


def test_ctrl_c_stops_a_fold_that_was_asked_for(chat):
    fill(chat, 4, topic="endless")
    chat.enter("/compress")
    chat.expect("compressing [\\d,]+ tokens: as you asked")
    chat.type("\x03")
    chat.expect(r"No changes from compression: 8 messages")
    chat.enter("are you there?")
    chat.expect(r"You said: are you there\?")


def test_ctrl_c_stops_the_fold_before_a_smaller_window(chat):
    fill(chat, 5, topic="endless")
    chat.enter("/model smaller --context-length 6000")
    chat.expect("compressing [\\d,]+ tokens: the other model has a smaller window")
    chat.type("\x03")
    chat.expect(r"stopped; the model stays as it is\s+scripted")


def test_ctrl_c_stops_the_fold_of_a_turn(chat, model):
    chat.enter(f"/model window-6200 --base-url {model.url} --context-length 30000")
    chat.expect("window-6200  window 30,000")
    fill(chat, 5, topic="endless")
    chat.enter("still there?")
    chat.expect("compressing [\\d,]+ tokens: the request does not fit")
    chat.type("\x03")
    chat.expect("interrupted")


def test_several_lines_are_one_prompt(chat):
    chat.type("first\x1b\rsecond\\\rthird\r")  # Alt-Enter, and a backslash before Enter
    chat.expect(r"You said: first second third")


def test_history_is_private_and_has_no_credentials(chat):
    chat.enter("the key is sk-proj-abcdefghijklmnop1234567890ABCDEFGHIJ")
    chat.expect("You said: the key is")
    history = chat.folder / "home" / "chat_history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "the key is" in history.read_text()
    assert "abcdefghijklmnop" not in history.read_text()


def test_fold_can_be_taken_back(chat):
    fill(chat, 5)
    chat.enter("/compress")
    chat.expect("folded once")
    chat.enter("/undo")
    chat.expect(r"Undone: the newest fold or correction: 10 messages")
    chat.enter("/undo")
    chat.expect("there is no fold to undo")


@pytest.mark.slow
def test_chat_that_was_killed_goes_on_where_it_stopped(open_chat):
    chat = open_chat("--yes")
    chat.expect("without asking")
    chat.enter("remember the green lamp")
    chat.expect("You said: remember the green lamp")
    chat.enter("run sleep 30")
    chat.expect(r"terminal sleep 30  \d+ s")
    chat.process.kill()
    chat.process.wait()

    resumed = open_chat("--resume", "latest")
    resumed.expect("you said: run sleep 30")
    resumed.expect("the last turn is unfinished; /continue")
    resumed.enter("/continue")
    resumed.expect(r"The tool said: \[")
    resumed.enter("/search green")
    resumed.expect("remember the green lamp")
    resumed.type("\x04")
    resumed.expect(r"session \w{8}: [\d,]+ tokens, cost unknown, 0 folds")
    resumed.expect(r"midfold chat --resume \w{8}")
    assert resumed.wait() == 0


@pytest.mark.slow
def test_ctrl_c_twice_leaves_and_the_store_is_whole(open_chat, tmp_path):
    chat = open_chat()
    chat.expect(">")
    chat.enter("hello")
    chat.expect("You said: hello")
    chat.expect(">")
    chat.type("\x03")
    chat.expect("press Ctrl-C again")
    chat.expect(">")
    chat.type("\x03")
    chat.expect("midfold chat --resume")
    assert chat.wait() == 0
    store = sqlite3.connect(tmp_path / "chat-home" / "sessions.db")
    assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()
