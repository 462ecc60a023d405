"""The file sink: what is kept, found again and listed, and what a damaged file is."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from midfold.offload import FileSink

TEXT = "a line of output\n" * 8_000


def test_what_is_written_is_read_back(session):
    reference = session.write("call", TEXT, tool="terminal")
    assert session.read(reference) == TEXT
    assert session.read(reference, 2, 4) == "line"
    assert session.holds(reference)


def test_a_new_process_finds_it_again(session, root):
    reference = session.write("call", TEXT)
    assert FileSink(root).session("s").read(reference) == TEXT


def test_text_that_no_file_can_hold_is_kept_in_visible_signs(session):
    reference = session.write("call", "a\0b\ud83dc\r\n")
    assert session.read(reference) == "a\N{SYMBOL FOR NULL}b\N{REPLACEMENT CHARACTER}c\r\n"


def test_an_empty_text_can_be_kept(session):
    assert session.read(session.write("call", "")) == ""


def test_a_changed_file_is_never_passed_off_as_what_was_kept(session):
    reference = session.write("call", TEXT)
    path = Path(session.path_of(reference))
    data = path.read_bytes()
    path.write_bytes(data[:70_000] + b"forged" + data[70_006:])
    assert session.read(reference, 0, 10) == TEXT[:10]
    with pytest.raises(OSError, match="damaged"):
        session.read(reference, 69_990, 20)


@pytest.mark.parametrize("size", [0, 10, 5_000, 136_100])
def test_a_file_that_was_cut_short_is_damaged_not_shorter(session, size):
    reference = session.write("call", TEXT)
    os.truncate(session.path_of(reference), size)
    assert not session.holds(reference)
    assert session.outputs() == []
    session.write("call", TEXT)
    assert session.read(reference) == TEXT


def test_the_same_call_id_overwrites_nothing(files):
    texts = [f"{number}: {TEXT}" for number in range(3)]
    session, other = files.session("s"), files.session("other")
    references = [session.write("call_1", text) for text in texts]
    other.write("call_1", TEXT)
    assert [session.read(reference) for reference in references] == texts


def test_writing_it_again_is_the_same_file(session, root):
    assert session.write("call", TEXT) == session.write("call", TEXT)
    assert sum(path.is_file() for path in root.rglob("*")) == 1


def test_the_index_says_what_is_kept_the_newest_first(root, clock):
    session = FileSink(root, clock=clock).session("s")
    first = session.write("call_1", "\n  $ make\nok\n", tool="terminal")
    clock.now += 60
    second = session.write("call_2", "<html>", tool="web.fetch")
    newest, oldest = session.outputs()
    assert (newest.reference, newest.tool, newest.lines) == (second, "web.fetch", 1)
    assert (oldest.reference, oldest.call_id, oldest.chars) == (first, "call_1", 13)
    assert (oldest.first_line, oldest.lines, oldest.at_seconds) == ("$ make", 3, clock.now - 60)


def test_a_session_that_kept_nothing_has_an_empty_index(session):
    assert session.outputs() == []


def test_clearing_a_session_leaves_the_others(files, root):
    mine, other = files.session("mine"), files.session("other")
    mine.write("call", TEXT)
    reference = other.write("call", TEXT)
    mine.clear()
    mine.clear()
    assert (mine.outputs(), other.read(reference)) == ([], TEXT)
    assert sum(path.is_dir() for path in root.rglob("*")) == 2


def test_threads_share_a_sink(files):
    session = files.session("s")
    with ThreadPoolExecutor(8) as pool:
        references = list(pool.map(lambda number: session.write(str(number % 10), TEXT), range(40)))
    assert len(set(references)) == 10
    assert len(session.outputs()) == 10


def test_no_descriptor_is_left_open(session):
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("this system does not list descriptors")
    before = len(list(descriptors.iterdir()))
    reference = session.write("call", TEXT)
    session.read(reference)
    session.holds("../x")
    session.outputs()
    session.clear()
    assert len(list(descriptors.iterdir())) == before
