"""Files of trajectories are found, read in chunks from any place on, and sampled alike by whoever asks."""

import gzip
import io
import json
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from midfold.errors import ConfigError
from midfold.trajectories.chunks import START, ChunkLimits
from midfold.trajectories.reader import Selection, count_rows, make_sampler, read_chunks
from midfold.trajectories.sources import (
    EVERYTHING,
    FileForm,
    Sampler,
    find_sources,
    fingerprint,
    form_for,
    read_share,
)

SMALL = ChunkLimits(chunk_bytes=60, chunk_rows=4, line_bytes=40)
TURNS = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]


def read(path, *, limits=SMALL, sampler=EVERYTHING, begin=START):
    return list(read_chunks(Selection(find_sources(path), sampler, limits, begin)))


def rows_of(chunks):
    """Return (line number, line) of all chunks."""
    return [row for chunk in chunks for row in zip(chunk.payload.numbers, chunk.payload.lines, strict=True)]


def listed_in(chunks):
    return [each for chunk in chunks for each in chunk.listed]


def pack(data, form):
    match form:
        case FileForm.GZIP:
            return gzip.compress(data)
        case FileForm.ZSTD:
            return zstandard.compress(data)
        case _:
            return data


@pytest.fixture
def write(tmp_path):
    def writer(data, name="rows.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    return writer


@pytest.mark.parametrize("form", [FileForm.LINES, FileForm.GZIP, FileForm.ZSTD])
def test_lines_are_numbered_and_whole_whatever_packs_them(write, form):
    lines = [b'{"row": %d}' % number for number in range(23)]
    path = write(pack(b"\n".join(lines), form), "rows" + form)
    chunks = read(path)
    assert rows_of(chunks) == list(enumerate(lines, 1))
    assert [chunk.extent.is_last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert all(one.extent.stop == other.extent.start for one, other in pairwise(chunks))
    assert sum(chunk.extent.rows for chunk in chunks) == count_rows(find_sources(path)[0]) == 23


@pytest.mark.parametrize("form", [FileForm.LINES, FileForm.GZIP, FileForm.ZSTD])
def test_reading_on_from_any_chunk_gives_the_chunks_that_were_left(write, form):
    path = write(pack(b"".join(b"%d\n" % number * 3 for number in range(40)), form))
    chunks = read(path)
    for place, chunk in enumerate(chunks):
        assert read(path, begin=chunk.extent.next) == chunks[place + 1 :]


@given(st.lists(st.binary(max_size=60).filter(lambda line: b"\n" not in line and not line.endswith(b"\r"))))
def test_every_line_is_either_read_or_listed(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    # What would be taken for a packed file, or for a mark at the start, is another test's.
    path.write_bytes(b"".join(line + b"\n" for line in [b"{}", *lines]))
    chunks = read(path)
    long = {number for number, line in enumerate(lines, 2) if len(line) > SMALL.line_bytes}
    assert {each.line for each in listed_in(chunks)} == long
    assert [line for _, line in rows_of(chunks)][1:] == [
        line for line in lines if len(line) <= SMALL.line_bytes
    ]


def test_line_that_is_too_long_is_listed_and_the_next_one_is_read(write):
    chunks = read(write(b"first\n" + b"x" * 3_000_000 + b"\nthird\n"))
    assert rows_of(chunks) == [(1, b"first"), (3, b"third")]
    [listed] = listed_in(chunks)
    assert (listed.line, listed.reason) == (2, "the line is longer than 40 bytes")


def test_windows_ends_marks_and_other_separators_do_not_disturb_lines(write):
    separator = "\u2028".encode()
    chunks = read(write(b"\xef\xbb\xbffirst\r\nsec" + separator + b"ond\r\n"))
    assert rows_of(chunks) == [(1, b"first"), (2, b"sec" + separator + b"ond")]


def test_gzip_file_that_is_cut_short_gives_its_rows_and_says_where_it_ends(write):
    packed = gzip.compress(b"".join(b"line %d\n" % number for number in range(50_000)), 0)
    chunks = read(write(packed[: len(packed) // 2], "rows.jsonl.gz"), limits=ChunkLimits())
    assert 10_000 < len(rows_of(chunks)) < 40_000
    [listed] = listed_in(chunks)
    assert listed.line == len(rows_of(chunks)) + 1
    assert "damaged from here on" in listed.reason
    assert chunks[-1].extent.is_last


def test_zstd_file_that_ends_inside_a_frame_gives_its_rows_and_says_so(write):
    packer = zstandard.ZstdCompressor().compressobj()
    packed = b""
    for number in range(20):
        # Each line ends a block, so that nothing but the frame is left open.
        packed += packer.compress(b"line %d\n" % number)
        packed += packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    whole = packed + packer.flush()
    assert listed_in(read(write(whole, "whole.jsonl.zst"))) == []
    chunks = read(write(zstandard.compress(b"first\n") + packed, "rows.jsonl.zst"))
    assert len(rows_of(chunks)) == 21
    [listed] = listed_in(chunks)
    assert (listed.file, listed.line) == ("rows.jsonl.zst", 22)
    assert listed.reason == "the file is damaged from here on: it ends in the middle of a zstd frame"
    assert chunks[-1].extent.is_last


def test_zstd_that_unpacks_to_a_thousand_times_its_size_is_read_in_pieces(write):
    line = b"x" * 5_000_000
    chunks = read(write(zstandard.compress((line + b"\n") * 3), "rows.jsonl.zst"), limits=ChunkLimits())
    assert [len(words) for _, words in rows_of(chunks)] == [5_000_000] * 3


def test_empty_file_is_one_empty_chunk(write):
    [chunk] = read(write(b""))
    assert (chunk.extent.rows, chunk.extent.is_last) == (0, True)


def test_folder_gives_its_files_in_order_and_leaves_out_what_is_hidden_or_something_else(tmp_path):
    names = [
        "data/train-00000-of-00002.parquet",
        "data/train-00001-of-00002.parquet",
        "test/part.jsonl.gz",
        "train/a.jsonl",
        "train/b.ndjson",
    ]
    for name in [*names, ".cache/x.jsonl", "_tmp.jsonl", "README.md", "data/info.json"]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert [source.name for source in find_sources(tmp_path)] == names


def test_first_bytes_say_what_a_file_is_whatever_its_name(write):
    assert find_sources(write(gzip.compress(b"{}"), "rows.jsonl"))[0].form is FileForm.GZIP
    assert find_sources(write(zstandard.compress(b"{}"), "rows.jsonl"))[0].form is FileForm.ZSTD


@pytest.mark.parametrize("data", [b"", b"{}"])
def test_file_that_is_only_called_parquet_is_listed_as_damaged(write, data):
    [chunk] = read(write(data, "rows.parquet"))
    assert "damaged" in chunk.listed[0].reason


@pytest.mark.parametrize("there", [True, False])
def test_nothing_to_read_says_what_would_be(tmp_path, there):
    path = tmp_path / "empty"
    if there:
        path.mkdir()
    with pytest.raises(ConfigError, match=r"IN is .*empty'; expected a file, or a folder of \.jsonl, "):
        find_sources(path)


def test_array_over_many_lines_is_refused_with_what_helps(write):
    with pytest.raises(ConfigError, match=r"expected one row a line, as jq -c '\.\[\]' writes them"):
        find_sources(write(b'[\n  {"conversations": []}\n]\n', "rows.json"))


def test_fingerprint_changes_with_either_end_and_with_the_size(write):
    prints = set()
    for data in (b"a" * 200_000, b"b" + b"a" * 199_999, b"a" * 199_999 + b"b", b"a" * 200_001):
        prints.add(fingerprint(find_sources(write(data))[0]))
    assert len(prints) == 4


def test_name_of_the_output_says_how_it_is_packed(write, tmp_path):
    [source] = find_sources(write(b"{}"))
    assert form_for(tmp_path / "out.jsonl.gz", source) is FileForm.GZIP
    assert form_for(tmp_path / "OUT.JSONL.ZST", source) is FileForm.ZSTD
    assert form_for(tmp_path / "out.json", source) is FileForm.LINES
    assert form_for(tmp_path / "out.json.gz", source) is FileForm.GZIP
    with pytest.raises(ConfigError, match=r"a name that ends in \.jsonl"):
        form_for(tmp_path / "out.parquet", source)


@pytest.mark.parametrize(
    ("text", "part", "rows"), [("10%", 0.1, None), ("0.25", 0.25, None), ("500", None, 500)]
)
def test_share_is_a_part_or_a_number_of_rows(text, part, rows):
    share = read_share(text)
    assert (share.part, share.rows) == (part, rows)


@pytest.mark.parametrize("text", ["0", "0%", "101%", "-3", "1.5", "some", "nan%"])
def test_share_of_anything_else_says_what_it_can_be(text):
    with pytest.raises(ConfigError, match=r"--sample is .*expected a part such as"):
        read_share(text)


def test_sample_of_a_part_is_the_same_for_every_size_of_chunk(write):
    path = write(b"".join(b"%d\n" % number for number in range(1_000)))
    sampler = make_sampler(read_share("30%"), 7, find_sources(path))
    small, large = read(path, sampler=sampler), read(path, limits=ChunkLimits(), sampler=sampler)
    assert rows_of(small) == rows_of(large)
    assert 250 < len(rows_of(small)) < 350
    assert sum(chunk.extent.rows for chunk in small) == 1_000


def test_sample_of_a_number_is_exact_over_all_files_and_changes_with_the_seed(tmp_path, write):
    for name in ("a.jsonl", "b.jsonl"):
        write(b"x\n" * 300, name)
    samples = []
    for seed in (1, 1, 2):
        sampler = make_sampler(read_share("50"), seed, find_sources(tmp_path))
        chunks = read(tmp_path, sampler=sampler)
        samples.append([(chunk.name, number) for chunk in chunks for number in chunk.payload.numbers])
    assert [len(sample) for sample in samples] == [50, 50, 50]
    assert samples[0] == samples[1] != samples[2]
    assert {name for name, _ in samples[0]} == {"a.jsonl", "b.jsonl"}


def test_sample_larger_than_the_file_is_all_of_it(write):
    sampler = make_sampler(read_share("50"), 0, find_sources(write(b"x\n" * 3)))
    assert sampler == Sampler(0, EVERYTHING.below)


def test_line_outside_the_sample_is_not_listed_either(write):
    path = write(b"x" * 100 + b"\n")
    sampler = Sampler(0, below=1)
    assert listed_in(read(path, sampler=sampler)) == []


def write_parquet(path, rows, **options):
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


def test_parquet_is_read_in_chunks_of_rows_from_any_place_on(tmp_path):
    rows = [{"id": number, "conversations": TURNS} for number in range(20)]
    path = write_parquet(tmp_path / "a.parquet", rows, row_group_size=7)
    chunks = read(path)
    assert [number for chunk in chunks for number in chunk.payload.numbers] == list(range(1, 21))
    assert all(chunk.extent.rows <= SMALL.chunk_rows for chunk in chunks)
    for place, chunk in enumerate(chunks):
        assert read(path, begin=chunk.extent.next) == chunks[place + 1 :]


@pytest.mark.parametrize("rows", [[{"id": 1}], [{"conversations": 7}], [{"messages": [1, 2]}]])
def test_parquet_without_trajectories_is_listed(tmp_path, rows):
    [chunk] = read(write_parquet(tmp_path / "a.parquet", rows))
    assert "no column called conversations or messages" in chunk.listed[0].reason
    assert chunk.extent.is_last


def test_parquet_that_is_broken_is_listed(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", [{"conversations": TURNS}] * 50)
    path.write_bytes(path.read_bytes()[:-30])
    assert count_rows(find_sources(path)[0]) == 0
    [chunk] = read(path)
    assert "damaged" in chunk.listed[0].reason


def test_zstd_with_many_frames_is_read_to_the_end(write):
    frames = io.BytesIO()
    for number in range(5):
        frames.write(zstandard.compress(json.dumps(number).encode() + b"\n"))
    assert [line for _, line in rows_of(read(write(frames.getvalue(), "a.jsonl.zst")))] == [
        b"%d" % number for number in range(5)
    ]
