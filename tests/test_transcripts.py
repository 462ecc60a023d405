"""Transcripts from bytes: every known shape is read, and everything else is refused in one clear line."""

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from midfold.errors import DialectError, MalformedMessage, UnknownDialect, UnreadableTranscript
from midfold.messages import ToolCall
from midfold.store import open_store
from midfold.testing import transcript
from midfold.transcripts import decode_transcript, load_transcript
from midfold.wire import DIALECTS, parse

TURN = {"role": "user", "content": "hi"}
OWN = Path(__file__).parent / "transcripts"


def encode(value):
    return json.dumps(value).encode()


def lines(*values):
    return b"\n".join(encode(value) for value in values)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_a_list_of_messages_is_read_in_every_dialect(dialect):
    items = transcript(dialect, turns=3)
    read = decode_transcript(encode(items))
    assert (read.request.dialect, read.request.messages) == (dialect, items)


def test_gzip_is_unpacked():
    assert decode_transcript(gzip.compress(encode([TURN]))).request.messages == [TURN]


def test_gzip_in_several_members_is_read_to_the_end():
    packed = gzip.compress(encode(TURN) + b"\n") + gzip.compress(encode(TURN))
    assert decode_transcript(packed).request.messages == [TURN, TURN]


def test_lines_of_messages_are_one_conversation():
    assert decode_transcript(lines(TURN, TURN) + b"\n\n").request.messages == [TURN, TURN]


def test_line_separators_inside_a_text_do_not_end_a_line():
    turn = json.dumps({**TURN, "content": "a\u2028b\u0085c"}, ensure_ascii=False).encode()
    assert len(decode_transcript(turn + b"\n" + turn).request.messages) == 2


def test_half_an_emoji_is_read_and_kept():
    read = decode_transcript(b'[{"role": "user", "content": "\\ud83d!"}]')
    assert read.request.messages == [{"role": "user", "content": "\ud83d!"}]


def test_a_byte_order_mark_is_no_obstacle():
    assert decode_transcript(b"\xef\xbb\xbf" + encode([TURN])).request.messages == [TURN]


def test_a_row_of_many_conversations_is_chosen():
    rows = lines(
        {"conversations": [{"from": "human", "value": "a"}]},
        {"conversations": [{"from": "human", "value": "b"}]},
    )
    assert decode_transcript(rows, row=1).request.messages == [{"from": "human", "value": "b"}]
    with pytest.raises(UnreadableTranscript, match="holds 2 conversations; choose one with --row N"):
        decode_transcript(rows)
    with pytest.raises(UnreadableTranscript, match="no row 2; the last one is 1"):
        decode_transcript(rows, row=2)


def test_arguments_nested_very_deeply_are_carried_along_unread():
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "t", "arguments": "[" * 10_000 + "]" * 10_000},
    }
    read = decode_transcript(encode([TURN, {"role": "assistant", "content": None, "tool_calls": [call]}]))
    [part] = parse(read.request.messages)[1].parts
    assert isinstance(part, ToolCall)
    assert len(part.arguments) == 20_000


def test_a_line_of_fifty_megabytes_is_read():
    big = {"role": "user", "content": "x" * 50_000_000}
    assert len(decode_transcript(lines(TURN, big)).request.messages[1]["content"]) == 50_000_000


BAD = {
    "nothing at all": (b"", UnreadableTranscript, "it is empty"),
    "white space": (b" \n\n ", UnreadableTranscript, "it is empty"),
    "no JSON": (b"hello", UnreadableTranscript, "it is not JSON"),
    "cut JSON": (b'[{"role": "user", "content": "h', UnreadableTranscript, "it is not JSON"),
    "a bad line": (lines(TURN) + b"\n{bad", UnreadableTranscript, "line 2 is not JSON"),
    "cut JSON over many lines": (
        json.dumps([TURN, TURN], indent=2).encode()[:-20],
        UnreadableTranscript,
        "it is not JSON: Unterminated string starting at: line 8",
    ),
    "cut gzip": (gzip.compress(encode([TURN]))[:-9], UnreadableTranscript, "gzip data is cut short"),
    "damaged gzip": (b"\x1f\x8b" + b"nonsense" * 4, UnreadableTranscript, "gzip data is damaged"),
    "not UTF-8": (
        b'[{"role": "user", "content": "hi \xff\xfe"}]',
        UnreadableTranscript,
        "byte 33 is not UTF-8",
    ),
    "nested deeply": (b"[" * 100_000, UnreadableTranscript, "nested too deeply"),
    "a huge number": (
        b'[{"role": "user", "content": "x", "n": ' + b"9" * 5000 + b"}]",
        UnreadableTranscript,
        "JSON",
    ),
    "an empty list": (b"[]", UnknownDialect, "empty"),
    "an empty hermes session": (
        encode({"session_id": "a", "message_count": 0, "messages": []}),
        UnreadableTranscript,
        "it holds no messages",
    ),
    "an empty codex session": (
        encode({"type": "session_meta", "payload": {"id": "a"}}),
        UnreadableTranscript,
        "it holds no messages",
    ),
    "a number": (b"7", UnknownDialect, "found a number"),
    "a strange object": (b'{"a": 1}', UnknownDialect, "input or conversations"),
    "strange messages": (b'[{"speaker": "me"}]', UnknownDialect, "message 0"),
    "a null message": (encode([TURN, None]), MalformedMessage, "message 1: expected an object, found null"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_transcript_is_refused_in_one_clear_line(name):
    data, error, words = BAD[name]
    with pytest.raises(error) as caught:
        _read_all(data)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def _read_all(data):
    request = decode_transcript(data, source="file.json").request
    return parse(request.messages, request.dialect)


@pytest.mark.parametrize("path", ["/no/such/file.json", "."])
def test_a_file_that_cannot_be_opened_says_why(path):
    with pytest.raises(UnreadableTranscript, match=r"No such file|Is a directory"):
        load_transcript(path)


class Endless:
    """A stream like /dev/zero."""

    chunk = bytes(1 << 20)

    def read(self, _size):
        return self.chunk


def test_a_stream_without_an_end_is_given_up(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Endless()))
    with pytest.raises(UnreadableTranscript, match=r"standard input: it is larger than 1,073,741,824 bytes"):
        load_transcript("-")


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(UnreadableTranscript, match="it is larger than"):
        load_transcript(path)


@pytest.mark.parametrize("path", sorted(OWN.glob("*.json*")), ids=lambda path: path.name)
def test_our_own_transcripts_are_read(path):
    read = load_transcript(path)
    assert len(parse(read.request.messages, read.request.dialect)) > 5


def test_the_real_transcripts_are_read(data_dir):
    for path in sorted((data_dir / "corpus").glob("*.json.gz")):
        request = load_transcript(path).request
        assert request.dialect == "openai_chat", path
        try:
            parse(request.messages, request.dialect)
        except DialectError as error:  # pragma: no cover - says which file
            pytest.fail(f"{path.name}: {error}")


def test_the_real_trajectories_are_read(data_dir):
    for path in sorted((data_dir / "sharegpt").glob("*.jsonl.gz")):
        assert load_transcript(path, row=0).request.dialect == "sharegpt"


def test_a_database_is_named_as_such(tmp_path):
    open_store(tmp_path / "sessions.db").close()
    with pytest.raises(UnreadableTranscript, match="it is a database; midfold sessions export"):
        load_transcript(tmp_path / "sessions.db")
