"""From one flipped bit back to a store that works: every command says what is true, none is a dead end."""

import json

import pytest

from midfold.cli.checkup.findings import Severity
from midfold.config import find_home, load_settings
from midfold.config.home import STORE_FILE, open_own_store
from midfold.store import find_kept

WORDS = [f"number {number} about the harbour" for number in range(60)]


@pytest.fixture
def path():
    return find_home() / STORE_FILE


def flip_bit(path, words):
    """Flip one bit in the middle of a stored text."""
    data = bytearray(path.read_bytes())
    data[data.index(words.encode()) + len(words) // 2] ^= 0x04
    path.write_bytes(data)


def spoil_page(path, words):
    """Damage a text, and the beginning of the page that it is on."""
    flip_bit(path, words)
    data = bytearray(path.read_bytes())
    page = data.index(words[: len(words) // 2].encode()) // 4_096 * 4_096
    data[page : page + 50] = b"\xa5" * 50
    path.write_bytes(data)


@pytest.mark.parametrize("spoil", [flip_bit, spoil_page])
def test_every_command_works_around_the_damage_and_after_the_doctor_everything_works(run, put, path, spoil):
    hit, sound = put(*WORDS, title="the hit one"), put("all is well here", title="the sound one")
    spoil(path, WORDS[30])

    status, out, err = run("sessions", "list")
    assert (status, err) == (0, "")
    assert "the sound one" in out
    assert run("sessions", "show", sound)[0] == 0

    status, out, err = run("sessions", "show", hit, "--all")
    assert (status, err) == (0, "")
    assert "cannot be read; midfold doctor --fix saves all else" in out
    assert "#30" in out
    assert "damaged" in out
    assert WORDS[59] in out

    status, out, err = run("sessions", "export", hit)
    assert status == 0
    assert err.startswith("damaged: ")
    exported = json.loads(out)
    assert len(exported["messages"]) == 60
    assert exported["records"][30]["condition"] == "damaged"

    status, out, _ = run("sessions", "search", "harbour", "--limit", "200")
    assert status == 0
    assert out

    status, out, _ = run("doctor")
    assert status == 1
    assert "midfold doctor --fix saves all that is sound" in out
    assert "export" not in out.split("problem", 1)[1].split("\n", 2)[1]

    status, out, _ = run("doctor", "--fix", "--json")
    report = json.loads(out)
    assert status == 0, report
    [done] = report["fixed"]
    assert "saved 60 messages of 2 conversations" in done
    assert f"1 message could not be read, a mark is in each place: {hit[:8]} #30;" in done
    assert len(find_kept(path)) == 1

    status, out, _ = run("doctor", "--json")
    assert status == 0
    assert not [each for each in json.loads(out)["findings"] if each["level"] == Severity.PROBLEM]
    status, out, err = run("sessions", "show", hit, "--all")
    assert (status, err) == (0, "")
    assert "cannot be read;" not in out
    assert "lost" in out
    with open_own_store(load_settings()) as store:
        items = store.messages(hit)
        assert len(items) == 60
        assert [item["content"] for item in items if "harbour" in item["content"]] == [
            words for words, item in zip(WORDS, items, strict=True) if item["content"] == words
        ]
        assert store.append(hit, {"role": "user", "content": "on we go"}) == 60
    assert run("sessions", "delete", hit, "--yes")[0] == 0
    assert hit[:8] not in run("sessions", "list")[1]
    assert run("doctor")[0] == 0


def test_a_damaged_conversation_can_be_deleted_without_the_doctor(run, put, path):
    hit, sound = put(*WORDS), put("all is well here")
    flip_bit(path, WORDS[30])
    status, out, err = run("sessions", "delete", hit, "--yes")
    assert (status, err) == (0, "")
    assert "60 messages" in out
    assert run("doctor")[0] == 0
    assert run("sessions", "show", sound)[0] == 0


def test_a_chat_with_a_damaged_message_is_not_gone_on_with_and_says_what_to_do(run, put, path):
    hit = put(*WORDS, source="chat")
    flip_bit(path, WORDS[30])
    status, _, err = run(
        "chat", "--resume", hit, "-p", "go on", "--model", "m", "--base-url", "http://127.0.0.1:9"
    )
    assert status == 2
    assert "message 30 is damaged" in err
    assert "midfold doctor --fix" in err


def test_where_pages_are_damaged_a_write_is_refused_and_names_the_doctor(run, put, path):
    hit = put(*WORDS)
    spoil_page(path, WORDS[30])
    run("sessions", "show", hit)
    status, _, err = run("sessions", "delete", hit, "--yes")
    assert status == 2
    assert "midfold doctor --fix" in err


def test_commits_that_are_missing_from_the_log_are_told_on_standard_error_until_the_doctor_was_there(
    run, put, path
):
    session = put("said before")
    with open_own_store(load_settings()) as store:
        store.append(session, {"role": "user", "content": "said in the log"})
        files = {each: each.read_bytes() for each in path.parent.glob("sessions.db*")}
    for file, data in files.items():
        file.write_bytes(data)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink()
    status, _, err = run("sessions", "list")
    assert status == 0
    assert "warning: the log was damaged or removed: at least 1 message" in err
    assert "see midfold doctor" in err
    assert "at least 1 message" in run("doctor")[1]
    assert "put away what is missing" in run("doctor", "--fix")[1]
    assert run("sessions", "list")[2] == ""
