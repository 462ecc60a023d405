"""Files of an open store are left to SQLite by everything else that opens files in its process."""

import os
import subprocess
import sys

import pytest

from midfold.config.files import read_tree
from midfold.errors import ConfigError, UnreadableTranscript
from midfold.files import BelongsToStore, Hold, is_held, open_to_read, read_bytes, replace_file
from midfold.files.readers import os as opening_os
from midfold.providers.keys import read_key_file
from midfold.store import open_store
from midfold.store.transfer import read_incoming
from midfold.tokens import LearnedLimits
from midfold.trajectories import Batch, CompressionConfig, compress_files
from midfold.trajectories.tokenizer import load_tokenizer
from midfold.transcripts import load_transcript

# Whether SQLite's lock on the database is there, as another process sees it.
LOOK = """
import fcntl, os, sys
handle = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    print("free")
except OSError:
    print("locked")
"""


def is_locked(path):
    done = subprocess.run([sys.executable, "-c", LOOK, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip() == "locked"


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "s.db"
    with open_store(path) as opened:
        opened.create_session(session_id="s", dialect="openai_chat")
        opened.append("s", {"role": "user", "content": "x"})
        yield path


def test_one_open_and_close_takes_the_lock_away(store):
    """What all of this is about: if this ever fails, none of it is needed."""
    assert is_locked(store)
    store.open("rb").close()
    assert not is_locked(store)


def test_nothing_that_reads_a_file_by_its_name_takes_the_lock_away(store):
    with pytest.raises(BelongsToStore):
        read_bytes(store)
    with pytest.raises(UnreadableTranscript, match="own session store"):
        load_transcript(store)
    with pytest.raises(UnreadableTranscript, match="export sessions from it"):
        read_incoming(str(store))
    with pytest.raises(ConfigError, match="own session store"):
        read_tree(store)
    with pytest.raises(ConfigError, match="own session store"):
        read_key_file(store)
    assert LearnedLimits(store).get("endpoint", "model") is None
    assert is_locked(store)


def test_no_batch_of_trajectories_reads_or_writes_the_store(store, tmp_path):
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows.write_text('{"conversations": [{"from": "human", "value": "x"}]}\n')
    vocabulary = tmp_path / "tokenizer.json"
    os.link(store, vocabulary)
    config = CompressionConfig()
    with pytest.raises(BelongsToStore):
        compress_files(Batch(store, config), out)
    with pytest.raises(BelongsToStore):
        compress_files(Batch(rows, config), store)
    with pytest.raises(BelongsToStore):
        load_tokenizer(str(vocabulary))
    assert is_locked(store)


def test_the_store_is_never_replaced_by_a_file(store):
    before = store.stat().st_ino
    for name in ("s.db", "s.db-wal", "s.db-journal"):
        with pytest.raises(BelongsToStore):
            replace_file(store.with_name(name), b"x")
    assert store.stat().st_ino == before


def test_a_handle_without_access_leaves_the_lock_alone(store):
    os.close(os.open(store, os.O_PATH))
    assert is_locked(store)


def test_a_file_that_becomes_the_store_between_look_and_opening_is_not_closed(store, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.write_bytes(b"harmless")
    really_open = os.open

    def exchange(path, *arguments, **named):
        other.unlink(missing_ok=True)
        os.link(store, other)
        return really_open(path, *arguments, **named)

    monkeypatch.setattr(opening_os, "open", exchange)
    with pytest.raises(BelongsToStore):
        read_bytes(other)
    monkeypatch.undo()
    assert is_locked(store)


def test_a_file_that_is_read_while_it_is_opened_as_a_store_is_closed_after_the_store(tmp_path):
    path = tmp_path / "s.db"
    open_store(path).close()
    with open_to_read(path) as handle:
        store = open_store(path)
        store.create_session()
    assert is_locked(path)
    os.fstat(handle)
    store.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)


def test_a_store_that_is_closed_holds_nothing(tmp_path):
    path = tmp_path / "s.db"
    open_store(path).close()
    assert not is_held(path.stat())
    assert read_bytes(path, 6) == b"SQLite"


def test_a_store_that_cannot_be_opened_holds_nothing(tmp_path):
    path = tmp_path / "s.db"
    path.write_bytes(b"no database " * 1000)
    with pytest.raises(Exception, match="damaged"):
        open_store(path)
    assert read_bytes(path, 2) == b"no"


def test_two_stores_on_one_file_hold_it_until_both_are_closed(tmp_path):
    path = tmp_path / "s.db"
    first, second = open_store(path), open_store(path)
    first.close()
    assert is_held(path.stat())
    second.close()
    assert not is_held(path.stat())


def test_a_hold_can_be_released_twice(tmp_path):
    hold = Hold(tmp_path / "s.db")
    hold.release()
    hold.release()
    assert not is_held(tmp_path.stat())
