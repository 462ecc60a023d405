"""Parts of what was kept: exactly those that were asked for, and never more."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from midfold.offload import (
    MAX_READ_CHARS,
    BadPattern,
    FileSink,
    MemorySink,
    OutputReader,
    literal,
    read_end,
    read_lines,
    read_slice,
    read_tool_schema,
    regex,
    search_output,
    search_outputs,
)
from midfold.offload.outputs import CHUNK_CHARS
from midfold.offload.sinks import files as file_sinks

LINES = [f"{number}: ok, größer als vorher 日本" for number in range(1, 9_001)]
TEXT = "\n".join(LINES)


@pytest.fixture
def kept(sink):
    with sink.open(sink.write("call", TEXT, tool="terminal")) as output:
        yield output


@pytest.fixture
def reader(sink):
    sink.write("call", TEXT, tool="terminal")
    return OutputReader(sink)


def body(answer):
    return answer.partition("\n")[2]


def test_a_slice_is_that_of_the_text_wherever_it_lies(kept):
    for offset in (0, 5, CHUNK_CHARS - 3, CHUNK_CHARS, 2 * CHUNK_CHARS - 1, len(TEXT) - 4):
        for limit in (0, 1, 7, CHUNK_CHARS + 1):
            assert read_slice(kept, offset, limit).text == TEXT[offset : offset + limit]


def test_a_slice_says_where_it_ends(kept):
    part = read_slice(kept, len(TEXT) - 10, 1_000)
    assert (part.start, part.stop, part.chars) == (len(TEXT) - 10, len(TEXT), len(TEXT))
    assert read_slice(kept, 10**12, 5).text == read_slice(kept, 3, -1).text == ""


def test_the_end_is_read_backwards(kept):
    assert read_end(kept, 0, 20).text == TEXT[-20:]
    assert read_end(kept, 100, 20).text == TEXT[-120:-100]
    assert read_end(kept, 10**9, 20).text == ""


def test_lines_are_found_wherever_they_lie(kept):
    for first in (1, 2, 3_000, 8_999, 9_000):
        assert read_lines(kept, first, 2, 10_000).text.splitlines() == LINES[first - 1 : first + 1]
    assert read_lines(kept, 9_001, 1, 100).text == ""
    assert read_lines(kept, 1, 9_000, 50).text == TEXT[:50]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(min_size=1, max_size=40),
    st.integers(0, 200_000),
    st.integers(0, 100_000),
    st.integers(1, 5_000),
)
def test_any_part_of_any_text_is_read_exactly(root, piece, offset, limit, line):
    text = (piece * (150_000 // len(piece))).replace("\0", "0")
    for sink in (MemorySink(redact=str), FileSink(root, redact=str).session("s")):
        with sink.open(sink.write("call", text)) as output:
            assert read_slice(output, offset, limit).text == text[offset : offset + limit]
            assert read_end(output, 0, limit).text == text[len(text) - min(limit, len(text)) :]
            expected = "".join(part + "\n" for part in text.split("\n"))[:-1].split("\n")[line - 1 : line]
            assert read_lines(output, line, 1, 10**9).text.rstrip("\n") == "".join(expected).rstrip("\n")


def test_a_slice_of_a_large_file_does_not_read_the_whole(files, monkeypatch):
    session = files.session("s")
    reference = session.write("call", "x" * 20 * CHUNK_CHARS)
    read_bytes = []
    pread = file_sinks.os.pread

    def counting(descriptor, size, offset):
        read_bytes.append(size)
        return pread(descriptor, size, offset)

    monkeypatch.setattr(file_sinks.os, "pread", counting)
    session.read(reference, 15 * CHUNK_CHARS + 7, 100)
    assert sum(read_bytes) < 2 * CHUNK_CHARS


def test_a_literal_finds_every_line_that_holds_it(kept):
    found = search_output(kept, literal("777: ok"))
    assert [match.line for match in found.matches] == [777, 1777, 2777, 3777, 4777, 5777, 6777, 7777, 8777]
    assert all(match.text == LINES[match.line - 1] for match in found.matches)
    assert all(TEXT.startswith("777: ok", match.offset) for match in found.matches)
    assert found.is_complete


def test_a_literal_may_be_of_any_language(kept):
    assert len(search_output(kept, literal("日本"), limit=5).matches) == 5


def test_a_regular_expression_matches_at_lines(kept):
    found = search_output(kept, regex(r"^(12|34)00: ok.*$"))
    assert [match.line for match in found.matches] == [1200, 3400]


def test_a_match_across_two_chunks_is_found(sink):
    for shift in range(-20, 1):
        text = "x" * (CHUNK_CHARS + shift) + "needle in the hay" + "y" * 1_000
        with sink.open(sink.write("call", text)) as output:
            for find in (literal("needle in the hay"), regex("needle[a-z ]+hay")):
                [match] = search_output(output, find).matches
                assert match.offset == CHUNK_CHARS + shift
                assert "needle in the hay" in match.text


def test_one_endless_line_has_many_matches(sink):
    text = ("needle" + "x" * 10_000) * 30
    with sink.open(sink.write("call", text)) as output:
        found = search_output(output, literal("needle"))
    assert [match.offset for match in found.matches] == [number * 10_006 for number in range(30)]
    assert all(len(match.text) <= 300 for match in found.matches)


def test_a_search_ends_at_its_bound_and_says_so(kept):
    found = search_output(kept, literal("ok"), limit=10)
    assert (len(found.matches), found.is_complete) == (10, False)


def test_a_whole_session_is_searched_the_newest_first(root, clock):
    session = FileSink(root, clock=clock).session("s")
    references = []
    for number in range(3):
        clock.now += 1
        references.append(session.write("call", f"output {number}\nneedle\n"))
    found = search_outputs(session, literal("needle"))
    assert [match.reference for match in found.matches] == references[::-1]
    assert found.is_complete
    assert not search_outputs(session, literal("needle"), limit=2).is_complete


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{5000}", "é+", "x" * 501, ""])
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(BadPattern):
        regex(pattern)


@pytest.mark.timeout(10)
def test_no_pattern_takes_long(sink):
    with sink.open(sink.write("call", "a" * 500_000)) as output:
        assert search_output(output, regex("(a+)+$x")).matches == ()


def test_a_call_reads_a_part_and_says_where_to_go_on(reader, sink):
    [info] = sink.outputs()
    answer = reader.handle({"reference": info.reference, "offset": 100, "limit": 50})
    assert body(answer) == TEXT[100:150]
    assert answer.startswith(
        f"[{info.reference}: characters 100 to 150 of {len(TEXT)}; go on with offset 150]"
    )
    assert body(reader.handle({"reference": info.reference})) == TEXT[:10_000]


def test_a_call_reads_the_end_lines_and_matches(reader, sink):
    reference = sink.outputs()[0].reference
    assert body(reader.handle({"reference": reference, "from_end": True, "limit": 30})) == TEXT[-30:]
    assert body(reader.handle({"reference": reference, "line": 5, "lines": 1})) == LINES[4] + "\n"
    found = reader.handle({"reference": reference, "pattern": r"^88\d8:", "regex": True})
    assert found.startswith("[matches: 10]")
    assert f"line 8808: {LINES[8807]}" in found


def test_a_call_without_a_reference_lists_or_searches_everything(reader, sink):
    other = sink.write("call", "another output\n", tool="grep")
    assert {line.partition(":")[0] for line in body(reader.handle({})).splitlines()} == {
        info.reference for info in sink.outputs()
    }
    assert reader.handle({"pattern": "another"}).endswith(f"{other} offset 0 line 1: another output")
    assert reader.handle({"pattern": "nowhere to be found"}) == "[no match]"


@pytest.mark.parametrize(
    "arguments",
    [
        {"reference": "terminal-" + "0" * 32},
        {"reference": "../../etc/passwd"},
        {"reference": 7},
        {"reference": "OURS", "offset": -1},
        {"reference": "OURS", "offset": "ten"},
        {"reference": "OURS", "limit": [1]},
        {"reference": "OURS", "line": float("inf")},
        {"reference": "OURS", "line": float("nan")},
        {"reference": "OURS", "pattern": "(", "regex": True},
        {"pattern": ["x"]},
    ],
)
def test_a_wrong_call_is_answered_with_what_is_wrong(reader, sink, arguments):
    if arguments.get("reference") == "OURS":
        arguments = {**arguments, "reference": sink.outputs()[0].reference}
    assert reader.handle(arguments).startswith("Error: ")


def test_numbers_may_come_as_text_and_nothing_as_null(reader, sink):
    arguments = {"reference": sink.outputs()[0].reference, "offset": "10", "limit": 5.0, "line": None}
    assert body(reader.handle(arguments)) == TEXT[10:15]


def test_no_call_gives_more_than_it_promises(reader, sink):
    reference = sink.outputs()[0].reference
    for arguments in ({"limit": 10**9}, {"line": 1, "lines": 10**9, "limit": 10**9}):
        assert len(body(reader.handle({"reference": reference, **arguments}))) == MAX_READ_CHARS
    assert len(reader.handle({"reference": reference, "pattern": "ok"})) < MAX_READ_CHARS


def test_an_empty_session_says_so():
    assert OutputReader(MemorySink()).handle({}) == "[nothing was offloaded in this session]"


def test_the_schema_is_that_of_the_handler():
    schema = read_tool_schema()
    assert schema["name"] == OutputReader.name == "read_persisted_output"
    assert json.loads(json.dumps(schema)) == schema
    assert schema["parameters"]["properties"]["limit"]["maximum"] == MAX_READ_CHARS


def test_memory_is_bounded():
    sink = MemorySink(max_chars=len(TEXT) + 10)
    sink.write("call", TEXT)
    sink.write("call", TEXT)
    with pytest.raises(OSError, match="quota"):
        sink.write("another", TEXT)
