"""Conversations as files: what goes out comes back in, and no credential goes with it."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from midfold.errors import MalformedMessage, StoreFull, UnreadableTranscript
from midfold.store import open_store
from midfold.store.transfer import (
    ExportFormat,
    ExportView,
    export_session,
    import_session,
    read_incoming,
    write_export,
)
from midfold.testing import transcript
from midfold.wire import DIALECTS, detect

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "tests" / "transcripts").iterdir() if path.name != "README.md")
LONG_AGO = 1_600_000_000.0
SECRET = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"


class Replay:
    """A clock that shows what it is set to, else the time."""

    at = None

    def __call__(self):
        return time.time() if self.at is None else self.at


@pytest.fixture
def replay():
    return Replay()


@pytest.fixture
def own(tmp_path, replay):
    """A store whose clock can be set to when things were said."""
    with open_store(tmp_path / "own" / "sessions.db", clock=replay, synchronous="NORMAL") as opened:
        yield opened


@pytest.fixture
def write(tmp_path):
    """Writes a value or a text to a file, and returns its path."""

    def writing(value, name="file.json"):
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
        return str(path)

    return writing


def facts(session):
    return session.source, session.model, session.title, session.dialect, session.started_at


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_what_goes_out_as_json_comes_back_as_it_was(own, replay, write, dialect):
    items = transcript(dialect, turns=4, thinking=True)
    replay.at = LONG_AGO
    first = own.create_session(
        source="chat", model="m", title="Harbours", dialect=dialect, system="Be brief."
    )
    for second, item in enumerate(items):
        replay.at = LONG_AGO + second
        own.append(first.id, item, tokens=[second], finish_reason="stop" if second % 2 else None)
    path = write(export_session(own, first.id).text)

    second = import_session(own, read_incoming(path), again=True).session

    assert second.id != first.id
    assert facts(second) == facts(first)
    assert own.system(second.id) == "Be brief."
    assert own.messages(second.id) == items == own.messages(first.id)
    before, after = own.records(first.id), own.records(second.id)
    assert [(r.seq, r.created_at, r.tokens, r.finish_reason) for r in after] == [
        (r.seq, r.created_at, r.tokens, r.finish_reason) for r in before
    ]
    assert own.check() == []


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_lines_hold_one_message_each_and_can_be_imported(own, write, dialect):
    items = transcript(dialect, turns=3)
    session = own.create_session(dialect=dialect).id
    own.append(session, items)
    export = export_session(own, session, form=ExportFormat.JSONL)
    assert [json.loads(line) for line in export.text.splitlines()] == items
    assert export.losses == ()
    again = import_session(own, read_incoming(write(export.text, "lines.jsonl")), again=True)
    assert own.messages(again.session.id) == items


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_sharegpt_is_a_row_of_a_data_set_and_says_what_it_lost(own, write, dialect):
    session = own.create_session(dialect=dialect, system="Be brief.").id
    own.append(session, transcript(dialect, turns=3, system=False))
    export = export_session(own, session, form=ExportFormat.SHAREGPT)
    [row] = export.text.splitlines()
    turns = json.loads(row)["conversations"]
    assert turns[0] == {"from": "system", "value": "Be brief."}
    assert detect(turns) == "sharegpt"
    assert dialect == "sharegpt" or any("call id … (" in loss for loss in export.losses)
    again = import_session(own, read_incoming(write(export.text))).session
    assert (again.dialect, own.messages(again.id)) == ("sharegpt", turns)


def test_a_session_in_which_nothing_was_said_can_be_exported(own):
    session = own.create_session(title="nothing yet").id
    assert [export_session(own, session, form=form).messages for form in ExportFormat] == [0, 0, 0]


def test_a_system_prompt_that_lines_cannot_say_is_named(own):
    session = own.create_session(system="Be brief.").id
    own.append(session, {"role": "user", "content": "hello"})
    [loss] = export_session(own, session, form=ExportFormat.JSONL).losses
    assert "system prompt" in loss


def test_the_history_has_what_a_fold_took_away_and_the_tip_what_it_made(store, talk, fold):
    session = store.create_session().id
    store.append(session, talk(30))
    result = fold(talk(30))
    child = store.continue_session(session, result.messages, result, facts={"saved": 7})
    store.append(child, {"role": "user", "content": "and now?"})

    history = json.loads(export_session(store, child).text)
    tip = json.loads(export_session(store, session, view=ExportView.TIP).text)

    assert history["messages"] == [*talk(30), {"role": "user", "content": "and now?"}]
    assert tip["messages"] == store.messages(child)
    assert [each["id"] for each in tip["chain"]] == [session, child]
    [folded] = tip["folds"]
    assert (folded["session_id"], folded["child_id"], folded["facts"]["saved"]) == (session, child, 7)
    assert folded["spans"]
    assert "summary" in {record["origin"] for record in tip["records"]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_kind_of_file_comes_in_and_goes_out_again(own, replay, write, path):
    imported = import_session(own, read_incoming(str(path)))
    said = own.messages(imported.session.id)
    assert len(said) == imported.messages > 0
    again = read_incoming(write(export_session(own, imported.session.id).text))
    assert [each.item for each in again.said] == said
    assert own.check() == []


@pytest.mark.parametrize(
    ("name", "source"),
    [("claude-code-session.jsonl", "claude_code"), ("codex-rollout.jsonl", "codex")],
)
def test_session_files_keep_their_own_times(own, replay, name, source):
    path = ROOT / "tests" / "transcripts" / name
    session = import_session(own, read_incoming(str(path))).session
    records = own.records(session.id)
    times = [record.created_at for record in records]
    assert session.source == source
    assert times == sorted(times)
    assert session.started_at == times[0] < times[-1] < replay()
    assert len(set(times)) > len(times) / 2


def test_messages_that_say_when_they_were_said_are_believed_within_reason(own, replay, write):
    said = ["2021-05-06T07:08:09Z", 1_620_284_999, 1_620_284_999_000, "yesterday", 1e300, -5, None, True]
    items = [{"role": "user", "content": "hello", "timestamp": at} for at in said]
    session = import_session(own, read_incoming(write({"messages": items}))).session
    times = [record.created_at for record in own.records(session.id)]
    assert times[:3] == [1_620_284_889.0, 1_620_284_999.0, 1_620_284_999.0]
    assert times[3:] == [1_620_284_999.0] * 5


def test_a_file_without_times_is_dated_now(own, replay, write):
    replay.at = LONG_AGO
    path = write({"messages": [{"role": "user", "content": "hello"}]})
    session = import_session(own, read_incoming(path)).session
    assert session.started_at == LONG_AGO
    assert [record.created_at for record in own.records(session.id)] == [LONG_AGO]


def test_what_is_here_already_is_not_written_twice(own, write):
    path = write({"messages": transcript(turns=2)})
    first = import_session(own, read_incoming(path))
    second = import_session(own, read_incoming(path))
    third = import_session(own, read_incoming(path), again=True)
    assert (first.is_new, second.is_new, third.is_new) == (True, False, True)
    assert second.session.id == first.session.id != third.session.id


def test_a_longer_conversation_than_the_one_here_is_another(own, write):
    items = transcript(turns=3)
    import_session(own, read_incoming(write(items[:-2])))
    assert import_session(own, read_incoming(write(items))).is_new


def test_a_file_of_a_conversation_with_a_credential_is_known_again(own, write):
    session = own.create_session(dialect="openai_chat").id
    own.append(
        session, [{"role": "user", "content": f"use {SECRET}"}, {"role": "assistant", "content": "ok"}]
    )
    path = write(export_session(own, session).text)
    again = import_session(own, read_incoming(path))
    assert (again.is_new, again.session.id) == (False, session)


def test_a_file_that_only_names_a_conversation_is_not_taken_for_it(own, write):
    session = own.create_session(dialect="openai_chat").id
    own.append(session, {"role": "user", "content": "hello"})
    text = export_session(own, session).text.replace("hello", "goodbye")
    assert import_session(own, read_incoming(write(text))).is_new


def test_that_a_message_was_redacted_is_known_after_its_import(own, write):
    session = own.create_session(dialect="openai_chat").id
    own.append(
        session, [{"role": "user", "content": f"use {SECRET}"}, {"role": "assistant", "content": "ok"}]
    )
    path = write(export_session(own, session).text)
    copy = import_session(own, read_incoming(path), again=True).session
    assert [record.is_redacted for record in own.records(copy.id)] == [True, False]


IMPORT = """
import sys
from midfold.store import open_store
from midfold.store.transfer import import_session, read_incoming

import_session(open_store(sys.argv[1]), read_incoming(sys.argv[2]))
"""


def test_a_process_that_is_killed_leaves_nothing_of_an_import(tmp_path, write):
    times = range(1_600_000_000, 1_600_000_005)
    path = write({"messages": [{"role": "user", "content": f"at {at}", "timestamp": at} for at in times]})
    environment = {**os.environ, "MIDFOLD_FAULT": "store.message.after:kill:3"}
    done = subprocess.run([sys.executable, "-c", IMPORT, str(tmp_path / "killed.db"), path], env=environment)
    assert done.returncode == -signal.SIGKILL
    with open_store(tmp_path / "killed.db") as store:
        assert store.sessions() == []
        imported = import_session(store, read_incoming(path))
        assert (imported.is_new, len(store.messages(imported.session.id))) == (True, 5)
        assert store.check() == []


def test_what_does_not_fit_leaves_nothing_behind(tmp_path, replay, write):
    path = write({"messages": [{"role": "user", "content": "x" * 100, "timestamp": at} for at in (1e9, 2e9)]})
    with open_store(tmp_path / "small.db", quota_bytes=200, clock=replay) as small:
        with pytest.raises(StoreFull):
            import_session(small, read_incoming(path))
        assert small.sessions() == []
        assert small.check() == []


def test_ids_of_a_file_are_not_taken_over(own, write):
    session = own.create_session(title="mine").id
    own.append(session, {"role": "user", "content": "hello"})
    text = export_session(own, session).text.replace(session, "../../latest")
    imported = import_session(own, read_incoming(write(text)), again=True).session
    assert "latest" not in imported.id + imported.conversation_id
    assert len(own.sessions()) == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 99}, "another version"),
        ({"records": []}, "do not fit"),
        ({"records": "x"}, "do not fit"),
        ({"session": None}, "do not fit"),
    ],
)
def test_a_file_of_ours_that_was_tampered_with_is_refused(own, write, change, reason):
    session = own.create_session().id
    own.append(session, {"role": "user", "content": "hello"})
    body = json.loads(export_session(own, session).text) | change
    with pytest.raises(UnreadableTranscript, match=reason):
        read_incoming(write(body))


def test_odd_facts_count_as_unknown(own, write):
    session = own.create_session(dialect="openai_chat").id
    own.append(session, {"role": "user", "content": "hello"})
    body = json.loads(export_session(own, session).text)
    body["records"] = [{"tokens": -5, "finish_reason": 7, "created_at": "never"}]
    body["session"] |= {"dialect": "klingon", "title": 5, "model": None, "source": []}
    body["chain"] = [7]
    [said] = read_incoming(write(body)).said
    assert (said.at, said.tokens, said.finish_reason) == (None, None, None)


def test_messages_that_are_none_are_refused_before_anything_is_written(own, write):
    with pytest.raises(MalformedMessage):
        import_session(own, read_incoming(write([{"role": "user", "content": "a"}, {"role": 5}])))
    assert own.sessions() == []


def test_a_missing_file_is_one_clear_line(tmp_path):
    with pytest.raises(UnreadableTranscript, match="No such file"):
        read_incoming(str(tmp_path / "nothing.json"))


def test_an_export_is_its_owners_alone_whatever_was_there(tmp_path):
    fresh, old = tmp_path / "fresh.json", tmp_path / "old.json"
    old.write_text("old")
    old.chmod(0o666)
    umask = os.umask(0)
    try:
        write_export(fresh, "{}")
        write_export(old, "{}")
    finally:
        os.umask(umask)
    assert [path.stat().st_mode & 0o777 for path in (fresh, old)] == [0o600, 0o600]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh.json", "old.json"]


def test_what_steers_a_terminal_or_parts_lines_is_spelled(own):
    text = "a\u2028b\x9b31mc\u202ed\x1b[2Je"
    session = own.create_session(title=text).id
    own.append(session, {"role": "user", "content": text})
    for form in ExportFormat:
        export = export_session(own, session, form=form).text
        assert not set("\u2028\x9b\u202e\x1b") & set(export)
    assert json.loads(export_session(own, session).text)["messages"][0]["content"] == text


@pytest.fixture(scope="module")
def canaries():
    """A text with a made-up credential of every shape in every context, and what must not be found of it."""
    path = ROOT / "tests" / "redact" / "test_shapes.py"
    spec = importlib.util.spec_from_file_location("redact_shapes_for_transfer", path)
    shapes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shapes)
    templates = [template for _, template in shapes.rows(shapes.BY_SHAPE) + shapes.rows(shapes.BY_PLACE)]
    drawn = [shapes.draw(template, 3) for template in templates]
    contexts = [shapes.CONTEXTS[name] for name in ("alone", "prose", "json", "shell", "log")]
    texts = ["\n".join(context(secret) for secret, _ in drawn) for context in contexts]
    return texts, [max(parts, key=len) for _, parts in drawn]


@pytest.mark.parametrize("redact", [True, False], ids=["placeholders stored", "credentials stored"])
def test_no_export_holds_a_credential(tmp_path, canaries, redact):
    texts, parts = canaries
    assert len(parts) >= 60
    with open_store(tmp_path / "s.db", redact=redact, synchronous="NORMAL") as store:
        session = store.create_session(title=texts[0].splitlines()[0], system=texts[1]).id
        for number, text in enumerate(texts):
            call = {
                "id": f"c{number}",
                "type": "function",
                "function": {"name": "run", "arguments": json.dumps({"command": text})},
            }
            store.append(
                session,
                [
                    {"role": "user", "content": text},
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": f"c{number}", "content": text},
                ],
            )
        for form in ExportFormat:
            export = export_session(store, session, form=form)
            whole = export.text + "".join(export.losses)
            assert [part for part in parts if part in whole] == []
            assert "REDACTED" in whole
            json.loads(whole.splitlines()[0]) if form is not ExportFormat.JSON else json.loads(export.text)
