"""Ten thousand streams nobody would write by hand: read whole, or refused with a type, and never a crash."""

import json
import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from midfold.wire.apis import APIS, ReplyError, StreamReader
from midfold.wire.dialect import Unreadable
from midfold.wire.sse import SseEvent, SseReader, StreamTooLong

VALID, ARBITRARY, MUTATED = 6_000, 2_000, 2_000
TYPED = (Unreadable, ReplyError, StreamTooLong)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PIECES = ("", "x", "data", ": ", "é", "漢字", "\u2028", "\x00", '{"a": 1}', "[DONE]", "\ufeff", "🙂" * 3)
SHREDS = (
    b"data: ",
    b"data",
    b"event: ",
    b":",
    b" ",
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\xff",
    b"\xe2\x82",
    b"{",
    b"0",
)

STREAMS = {
    "openai_chat": [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hello"}}]},
        {
            "choices": [
                {"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "ls"}}]}}
            ]
        },
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}}]},
        {
            "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 3},
        },
    ],
    "openai_responses": [
        {"type": "response.created", "response": {"status": "in_progress", "output": []}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {"type": "message", "role": "assistant"},
        },
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hello"},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ],
    "anthropic": [
        {
            "type": "message_start",
            "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 3}},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ],
}


def cut(dice: random.Random, stream: bytes) -> Iterator[bytes]:
    """Part a stream at random places, now and then at every byte."""
    if dice.random() < 0.1:
        return (stream[place : place + 1] for place in range(len(stream)))
    places = sorted(dice.randrange(len(stream) + 1) for _ in range(dice.randrange(5)))
    return (stream[start:stop] for start, stop in pairwise([0, *places, len(stream)]))


def read(dice: random.Random, stream: bytes) -> list[SseEvent]:
    reader = SseReader()
    return [event for piece in cut(dice, stream) for event in reader.feed(piece)] + reader.close()


def write_stream(dice: random.Random) -> tuple[list[tuple[str, str]], bytes]:
    """Spell random events in one of the ways the format allows; return types and data, and the bytes."""
    end = dice.choice(("\n", "\r", "\r\n"))
    events, lines = [], []
    for _ in range(dice.randrange(1, 4)):
        name = dice.choice(("", "message", "delta"))
        data = ["".join(dice.choices(PIECES, k=dice.randrange(3))) for _ in range(dice.randrange(1, 4))]
        events.append((name or "message", "\n".join(data)))
        lines += [f"event:{name}"] * bool(name)
        for line in data:
            lines += [": keep-alive"] * (dice.random() < 0.2)
            lines.append(f"data:{' ' if line.startswith(' ') or dice.random() < 0.8 else ''}{line}")
        lines.append("")
    mark = BYTE_ORDER_MARK if dice.random() < 0.2 else b""
    return events, mark + "".join(line + end for line in lines).encode()


def test_valid_streams_are_read_and_kept_byte_for_byte():
    dice = random.Random(1)
    for _ in range(VALID):
        events, stream = write_stream(dice)
        found = read(dice, stream)
        assert [(event.event, event.data) for event in found if event.has_data] == events, stream
        assert b"".join(event.raw for event in found) == stream


def test_arbitrary_bytes_are_kept_and_read_the_same_however_they_are_cut():
    dice = random.Random(2)
    for _ in range(ARBITRARY):
        stream = b"".join(dice.choices(SHREDS, k=dice.randrange(1, 30)))
        found = read(dice, stream)
        assert b"".join(event.raw for event in found) == stream
        assert found == read(dice, stream)


def test_endless_lines_are_refused_with_a_type():
    dice = random.Random(4)
    for _ in range(100):
        reader, line = SseReader(max_line_bytes=500), b"x" * dice.randrange(501, 5_000)
        with pytest.raises(StreamTooLong):
            list(map(reader.feed, cut(dice, line)))


def spoil(dice: random.Random, stream: bytes) -> bytes:
    """Cut, double, drop or overwrite a piece of a stream."""
    start = dice.randrange(len(stream))
    stop = min(len(stream), start + dice.randrange(1, 20))
    match dice.randrange(4):
        case 0:
            return stream[:start]
        case 1:
            return stream[:stop] + stream[start:]
        case 2:
            return stream[:start] + stream[stop:]
        case _:
            return stream[:start] + dice.choice(SHREDS) + stream[stop:]


def test_spoilt_streams_of_models_are_read_or_refused_with_a_type():
    dice = random.Random(3)
    outcomes = {"read": 0, "refused": 0}
    for number in range(MUTATED):
        name = list(STREAMS)[number % len(STREAMS)]
        sent = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in STREAMS[name])
        reader = StreamReader(APIS[name])
        try:
            for piece in cut(dice, spoil(dice, sent)):
                list(reader.feed(piece))
            list(reader.finish())
            reader.completion()
            outcomes["read"] += 1
        except TYPED:
            reader.partial()
            outcomes["refused"] += 1
    assert min(outcomes.values()) > MUTATED / 20, "both must be met for the test to mean something"


ODD_VALUES = (None, 0, -1, 1.5, True, "", "x", [], [1], {}, {"x": 1}, [[]], [{}], {"error": None})


def replace_somewhere(dice: random.Random, value: object) -> object:
    """Put an odd value in the place of a random one, at any depth."""
    if isinstance(value, dict) and value and dice.random() < 0.8:
        key = dice.choice(list(value))
        return {**value, key: replace_somewhere(dice, value[key])}
    if isinstance(value, list) and value and dice.random() < 0.8:
        return [replace_somewhere(dice, value[0]), *value[1:]]
    return dice.choice(ODD_VALUES)


def test_events_of_odd_shapes_are_read_or_refused_with_a_type():
    dice, read, refused = random.Random(6), 0, 0
    for number in range(MUTATED):
        name = list(STREAMS)[number % len(STREAMS)]
        odd = dice.randrange(len(STREAMS[name]))
        events = [replace_somewhere(dice, e) if n == odd else e for n, e in enumerate(STREAMS[name])]
        reader = StreamReader(APIS[name])
        try:
            list(reader.feed(b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)))
            list(reader.finish())
            reader.completion()
            read += 1
        except TYPED:
            reader.partial()
            refused += 1
    assert read
    assert refused
