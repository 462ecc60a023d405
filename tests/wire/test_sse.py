"""Reading server-sent events, however the network cuts them."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from midfold.errors import MidfoldError
from midfold.wire.sse import SseEvent, SseReader, StreamTooLong, is_done

LINE_ENDS = (b"\n", b"\r", b"\r\n")


def read(stream: bytes, size: int | None = None) -> list[SseEvent]:
    """Read `stream` in pieces of `size` bytes, or in one."""
    reader = SseReader()
    step = size or len(stream) or 1
    events = [
        event for start in range(0, len(stream), step) for event in reader.feed(stream[start : start + step])
    ]
    return events + reader.close()


def read_one(stream: bytes) -> SseEvent:
    (event,) = read(stream)
    return event


def test_fields_of_an_event_are_read():
    event = read_one(b'event: delta\nid: 7\nretry: 250\ndata: {"a": 1}\n\n')
    assert (event.event, event.id, event.retry, event.data) == ("delta", "7", 250, '{"a": 1}')


def test_event_without_a_type_is_a_message():
    assert read_one(b"data: x\n\n").event == "message"
    assert read_one(b"event:\ndata: x\n\n").event == "message"


def test_type_and_id_do_not_carry_over_to_the_next_event():
    _, second = read(b"event: a\nid: 1\ndata: x\n\ndata: y\n\n")
    assert (second.event, second.id) == ("message", None)


def test_data_lines_are_joined_with_line_feeds():
    assert read_one(b"data: one\ndata:\ndata: three\n\n").data == "one\n\nthree"


@pytest.mark.parametrize(
    ("line", "data"),
    [(b"data:x", "x"), (b"data: x", "x"), (b"data:  x", " x"), (b"data:\tx", "\tx"), (b"data:a:b", "a:b")],
)
def test_one_space_after_the_colon_is_optional(line: bytes, data: str):
    assert read_one(line + b"\n\n").data == data


@pytest.mark.parametrize("line", [b"data", b"data:", b"data: "])
def test_empty_data_field_is_still_an_event(line: bytes):
    event = read_one(line + b"\n\n")
    assert (event.data, event.has_data) == ("", True)


@pytest.mark.parametrize("line", [b"Data: y", b" data: y", b"datas: y", b"nonsense", b"\xef\xbb\xbfdata: y"])
def test_unknown_fields_are_ignored(line: bytes):
    assert read_one(b"data: x\n" + line + b"\n\n").data == "x"


def test_id_with_nul_is_ignored():
    assert read_one(b"id: 1\nid: 2\0\ndata: x\n\n").id == "1"


@pytest.mark.parametrize("value", [b"", b"-1", b"+1", b"1.5", b"1s", "\u0663".encode(), b"9" * 5000])
def test_retry_that_is_no_sensible_number_is_ignored(value: bytes):
    assert read_one(b"retry: " + value + b"\ndata: x\n\n").retry is None


def test_line_separators_of_unicode_end_no_line():
    assert read_one("data: a\u2028b\x0bc\x85d\n\n".encode()).data == "a\u2028b\x0bc\x85d"


def test_invalid_utf8_is_replaced_in_the_data_and_kept_in_raw():
    event = read_one(b"data: a\xff\xe2\x82\n\n")
    assert (event.data, event.raw) == ("a\ufffd\ufffd", b"data: a\xff\xe2\x82\n\n")


@pytest.mark.parametrize("stream", [b": OPENROUTER PROCESSING\n\n", b":OPENROUTER PROCESSING\r\n\r\n"])
def test_keep_alive_comment_is_a_block_without_data(stream: bytes):
    event = read_one(stream)
    assert (event.comment, event.has_data, event.data, event.raw) == (
        "OPENROUTER PROCESSING",
        False,
        "",
        stream,
    )


def test_comment_inside_an_event_belongs_to_it():
    event = read_one(b": ping\ndata: x\n:\n\n")
    assert (event.comment, event.data) == ("ping\n", "x")


def test_event_without_comments_has_none():
    assert read_one(b"data: x\n\n").comment is None


def test_lone_blank_lines_are_blocks_without_data():
    assert [(event.has_data, event.raw) for event in read(b"\n\r\n\r")] == [
        (False, b"\n"),
        (False, b"\r\n"),
        (False, b"\r"),
    ]


def test_type_without_data_is_a_block_without_data():
    assert not read_one(b"event: ping\n\n").has_data


@pytest.mark.parametrize("size", [None, 1, 2])
def test_byte_order_mark_is_skipped_and_stays_in_raw(size: int | None):
    (event,) = read(b"\xef\xbb\xbfdata: x\n\n", size)
    assert (event.data, event.raw) == ("x", b"\xef\xbb\xbfdata: x\n\n")


def test_second_byte_order_mark_is_not_skipped():
    _, second = read(b"data: x\n\n\xef\xbb\xbfdata: y\n\n")
    assert not second.has_data


def test_last_event_without_its_blank_line_is_flagged():
    first, last = read(b"data: x\n\ndata: [DONE]")
    assert first.complete
    assert (last.complete, last.data, last.raw) == (False, "[DONE]", b"data: [DONE]")


def test_blank_line_that_is_a_last_carriage_return_completes_the_event():
    assert read_one(b"data: x\r\r").complete


def test_empty_stream_has_no_events():
    assert read(b"") == []


def test_closing_twice_reports_the_rest_once():
    reader = SseReader()
    reader.feed(b"data: x")
    assert len(reader.close()) == 1
    assert reader.close() == []


@pytest.mark.parametrize(
    "stream", [b"data: [DONE]\n\n", b"data:[DONE]\n\n", b"data: [DONE]", b"data: [DONE] \r\n\r\n"]
)
def test_openai_end_marker_is_recognised(stream: bytes):
    assert is_done(read_one(stream))


@pytest.mark.parametrize("stream", [b'data: {"x": "[DONE]"}\n\n', b": [DONE]\n\n", b"data: DONE\n\n"])
def test_other_events_are_not_the_end_marker(stream: bytes):
    assert not is_done(read_one(stream))


def test_event_is_given_out_with_the_chunk_that_completes_it():
    reader = SseReader()
    assert reader.feed(b"data: x\n") == []
    assert [event.data for event in reader.feed(b"\ndata: y")] == ["x"]


def test_crlf_cut_in_two_is_one_line_end():
    reader = SseReader()
    assert reader.feed(b"data: x\r\n\r") == []
    (event,) = reader.feed(b"\n")
    assert event.raw == b"data: x\r\n\r\n"
    assert reader.close() == []


def test_character_cut_in_two_is_whole():
    reader = SseReader()
    stream = "data: 漢\n\n".encode()
    assert reader.feed(stream[:7]) == []
    (event,) = reader.feed(stream[7:])
    assert event.data == "漢"


def test_every_cut_of_a_mixed_stream_reads_the_same():
    stream = "\ufeffdata: é\r\ndata: 2\r\r: hi\n\n\r\nevent: e\rdata\n\ndata: cut".encode()
    whole = read(stream)
    for cut in range(len(stream) + 1):
        reader = SseReader()
        assert reader.feed(stream[:cut]) + reader.feed(stream[cut:]) + reader.close() == whole


def test_line_over_the_limit_is_an_error_that_says_so():
    reader = SseReader(max_line_bytes=100)
    reader.feed(b"data: ")
    with pytest.raises(StreamTooLong, match=r"longer than 100 bytes") as caught:
        reader.feed(b"x" * 100)
    assert caught.value.limit_bytes == 100
    assert isinstance(caught.value, MidfoldError)


def test_many_short_lines_of_one_event_count_together():
    with pytest.raises(StreamTooLong):
        SseReader(max_line_bytes=100).feed(b"data: x\n" * 20)


def test_whole_event_over_the_limit_in_one_chunk_is_an_error():
    with pytest.raises(StreamTooLong):
        SseReader(max_line_bytes=100).feed(b"data: " + b"x" * 100 + b"\n\n")


def test_many_small_events_in_one_chunk_are_no_long_one():
    assert len(SseReader(max_line_bytes=100).feed(b"data: x\n\n" * 1000)) == 1000


def test_line_of_ten_megabytes_passes():
    stream = b"data: " + b"x" * 10_000_000 + b"\n\n"
    (event,) = read(stream, size=65_536)
    assert event.raw == stream


@pytest.mark.parametrize(("size", "length"), [(1, 20_000), (1024, 1_000_000)])
def test_time_grows_with_the_length_of_a_line_not_its_square(size: int, length: int):
    def seconds(line_bytes: int) -> float:
        stream = b"data: " + b"x" * line_bytes + b"\n\n"
        start = time.process_time()
        read(stream, size)
        return time.process_time() - start

    once = min(seconds(length) for _ in range(3))
    # Sixteen times the length takes 16 times as long, or 256 times where it is searched again and again.
    assert min(seconds(16 * length) for _ in range(3)) / once <= 64


TEXT = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)
LINES = st.lists(TEXT, min_size=1, max_size=3)


@st.composite
def encoded_events(draw: st.DrawFn) -> tuple[list[dict[str, object]], bytes]:
    """Events and a stream that says them, its line ends mixed."""
    events, lines = [], []
    for _ in range(draw(st.integers(0, 5))):
        data, comments = draw(LINES), draw(st.lists(TEXT, max_size=2))
        name, event_id = draw(TEXT), draw(st.none() | TEXT.filter(lambda text: "\0" not in text))
        retry = draw(st.none() | st.integers(0, 99_999))
        events.append(
            {
                "event": name or "message",
                "data": "\n".join(data),
                "id": event_id,
                "retry": retry,
                "comment": "\n".join(comments) if comments else None,
            }
        )
        fields = [f"event: {name}", *(f"data: {line}" for line in data), *(f": {line}" for line in comments)]
        fields += [f"id: {event_id}"] if event_id is not None else []
        fields += [f"retry: {retry}"] if retry is not None else []
        lines += [*fields, ""]
    ends = [draw(st.sampled_from(LINE_ENDS)) for _ in lines]
    for index, (before, after) in enumerate(pairwise(ends), 1):
        if before == b"\r" and after == b"\n" and not lines[index]:
            ends[index] = b"\r"  # a CR and then the LF of a blank line would read as one line end
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    stream = b"".join(line.encode() + end for line, end in zip(lines, ends, strict=True))
    return events, mark + stream if stream else b""


@st.composite
def cut(draw: st.DrawFn, stream: bytes) -> list[bytes]:
    places = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return [stream[start:stop] for start, stop in pairwise([0, *places, len(stream)])]


@settings(deadline=None)
@given(encoded_events(), st.data())
def test_events_read_back_equal_however_they_are_spelled_and_cut(
    encoded: tuple[list[dict[str, object]], bytes], data: st.DataObject
):
    events, stream = encoded
    reader = SseReader()
    seen = [event for piece in data.draw(cut(stream)) for event in reader.feed(piece)] + reader.close()
    assert [
        {key: getattr(event, key) for key in expected} for event, expected in zip(seen, events, strict=True)
    ] == events
    assert all(event.complete and event.has_data for event in seen)
    assert b"".join(event.raw for event in seen) == stream


@settings(deadline=None)
@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from([b"data", b":", b" ", b"\r", b"\n", b"\xff", b"retry: 1"])).map(b"".join),
    st.data(),
)
def test_any_bytes_come_back_whole_and_read_the_same_however_cut(stream: bytes, data: st.DataObject):
    reader = SseReader()
    seen = [event for piece in data.draw(cut(stream)) for event in reader.feed(piece)] + reader.close()
    assert b"".join(event.raw for event in seen) == stream
    assert seen == read(stream)
