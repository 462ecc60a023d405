"""A run over files: output whole and in order, bad rows listed and never fatal, however many workers."""

import gzip
import json
import tempfile
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import zstandard

from midfold.errors import ConfigError, MidfoldError
from midfold.faults import arm
from midfold.testing import transcript
from midfold.trajectories import (
    Batch,
    CompressionConfig,
    LocalEngine,
    TrajectoryCompressor,
    compress_files,
    measure_files,
)
from midfold.trajectories.sources import read_share

CONFIG = CompressionConfig(target_max_tokens=1_500, summary_target_tokens=300)
SHORT = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]
BAD_LINES = {
    2: (b"", "the line is empty"),
    3: (b'{"conversations": [', "not JSON"),
    4: (b"null", "expected an object"),
    5: (b"7", "expected an object"),
    6: (b'{"conversations": null}', "conversations is null"),
    7: (b'{"conversations": []}', "no turns"),
    8: (b'{"conversations": [{"from": "human", "value": null}]}', "value is null"),
    9: (b'{"conversations": [{"from": "human", "value": 3}]}', "expected text"),
    10: (b'{"conversations": "not json"}', "not JSON"),
    11: (b'{"conversations": [{"from": "gpt", "value": "\xff"}]}', "not UTF-8"),
    12: (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
}


def long_turns(seed=0):
    return transcript("sharegpt", seed=seed, turns=16, result_chars=400)


def make_rows(count=12):
    """Return rows of which every third is too long."""
    return [
        {
            "id": f"row {number}",
            "conversations": SHORT if number % 3 else long_turns(number),
            "n": [None, 1.5],
        }
        for number in range(count)
    ]


def as_lines(rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read_lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(as_lines(make_rows()))
    return path


def test_rows_come_out_in_order_with_their_other_fields_and_fit(source, tmp_path):
    out = tmp_path / "out.jsonl"
    result = compress_files(Batch(source, CONFIG), out)
    rows = read_lines(out)
    compressor = TrajectoryCompressor(CONFIG)
    assert [row["id"] for row in rows] == [row["id"] for row in make_rows()]
    assert all(row["n"] == [None, 1.5] for row in rows)
    assert all(compressor.count_trajectory_tokens(row["conversations"]) <= 1_500 for row in rows)
    assert (result.totals.metrics.compressed, result.totals.metrics.skipped) == (4, 8)
    assert (result.outputs, result.listed, result.totals.written) == ((out,), None, 12)


def test_row_that_fits_comes_out_byte_for_byte(tmp_path):
    line = b'{ "conversations":[{"from":"human","value":"\\u00e9"}] , "x":1e2,"y":"\\ud83d" }\n'
    (tmp_path / "in.jsonl").write_bytes(line)
    compress_files(Batch(tmp_path / "in.jsonl", CONFIG), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == line


def test_half_an_emoji_and_a_huge_number_survive_in_a_row_that_is_rewritten(tmp_path):
    row = {"conversations": long_turns(), "half": "\ud83d", "huge": 2**80}
    (tmp_path / "in.jsonl").write_bytes(as_lines([row]))
    compress_files(Batch(tmp_path / "in.jsonl", CONFIG), tmp_path / "out.jsonl")
    [written] = read_lines(tmp_path / "out.jsonl")
    assert (written["half"], written["huge"]) == ("\ud83d", 2**80)


def test_what_is_no_number_survives_in_a_row_that_is_rewritten(tmp_path):
    turns = json.dumps(long_turns())
    line = f'{{"conversations": {turns}, "a": NaN, "b": -Infinity, "c": 1e400, "d": "é"}}\n'
    (tmp_path / "in.jsonl").write_text(line, encoding="utf-8")
    compress_files(Batch(tmp_path / "in.jsonl", CONFIG), tmp_path / "out.jsonl")
    written = (tmp_path / "out.jsonl").read_text(encoding="utf-8")
    assert written.endswith('"a":NaN,"b":-Infinity,"c":Infinity,"d":"é"}\n')
    assert len(written) < len(line)


def test_bad_lines_are_listed_with_their_numbers_and_stop_nothing(tmp_path):
    good = json.dumps({"conversations": SHORT}).encode()
    lines = [good, *(BAD_LINES[number][0] for number in range(2, 13)), good]
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"\n".join(lines))
    result = compress_files(Batch(source, CONFIG), out)
    listed = {each["line"]: each for each in read_lines(tmp_path / "out.jsonl.rejects.jsonl")}
    assert list(listed) == list(BAD_LINES)
    for number, (_, reason) in BAD_LINES.items():
        assert reason in listed[number]["reason"], number
        assert (listed[number]["file"], listed[number]["status"]) == ("in.jsonl", "rejected")
    assert out.read_bytes() == good + b"\n" + good + b"\n"
    assert result.totals.metrics.rows == 13
    assert result.totals.metrics.rejected == result.totals.listed == 11
    assert result.listed == tmp_path / "out.jsonl.rejects.jsonl"
    assert result.examples[0].line == 2


def test_list_of_an_earlier_run_does_not_outlive_a_run_without_one(source, tmp_path):
    (tmp_path / "out.jsonl.rejects.jsonl").write_text("old")
    compress_files(Batch(source, CONFIG), tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl.rejects.jsonl").exists()


@pytest.mark.slow
def test_two_workers_write_the_bytes_of_one(tmp_path):
    folder = tmp_path / "in"
    (folder / "train").mkdir(parents=True)
    rows = as_lines(make_rows(9))
    (folder / "a.jsonl").write_bytes(rows + b"broken\n" + as_lines([{"conversations": SHORT}] * 1_500))
    (folder / "train" / "b.jsonl.gz").write_bytes(gzip.compress(rows))
    for workers in (1, 2):
        compress_files(Batch(folder, CONFIG), tmp_path / f"out{workers}", engine=LocalEngine(workers))
    for name in ("a.jsonl", "train/b.jsonl.gz"):
        assert (tmp_path / "out1" / name).read_bytes() == (tmp_path / "out2" / name).read_bytes()
    one, two = (tmp_path / f"out{workers}.rejects.jsonl" for workers in (1, 2))
    assert one.read_bytes() == two.read_bytes()
    assert [(each["file"], each["line"]) for each in read_lines(one)] == [("a.jsonl", 10)]
    assert len(gzip.decompress((tmp_path / "out1" / "train" / "b.jsonl.gz").read_bytes()).splitlines()) == 9


@pytest.mark.parametrize(("ending", "unpack"), [(".jsonl.gz", gzip.decompress), (".jsonl.zst", None)])
def test_packed_output_holds_the_rows_of_plain_output(source, tmp_path, ending, unpack):
    plain, packed = tmp_path / "plain.jsonl", tmp_path / f"packed{ending}"
    compress_files(Batch(source, CONFIG), plain)
    compress_files(Batch(source, CONFIG), packed)
    # A reader that stops after the first frame reads it whole.
    unpack = unpack or zstandard.ZstdDecompressor().decompress
    assert unpack(packed.read_bytes()) == plain.read_bytes()


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
def test_empty_input_gives_an_empty_file_of_its_kind(tmp_path, ending):
    (tmp_path / "in.jsonl").touch()
    compress_files(Batch(tmp_path / "in.jsonl", CONFIG), tmp_path / f"out{ending}")
    compress_files(Batch(tmp_path / f"out{ending}", CONFIG), tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == b""


def test_sample_is_what_is_written(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_bytes(as_lines([{"id": number, "conversations": SHORT} for number in range(1_200)]))
    compress_files(Batch(source, CONFIG, read_share("100"), seed=5), tmp_path / "out.jsonl")
    ids = [row["id"] for row in read_lines(tmp_path / "out.jsonl")]
    assert len(ids) == 100
    assert ids == sorted(ids)
    assert ids != list(range(100))


def test_rehearsal_measures_what_a_run_does_and_writes_nothing(source, tmp_path):
    before = sorted(tmp_path.iterdir())
    measured = measure_files(Batch(source, CONFIG)).totals.metrics
    assert sorted(tmp_path.iterdir()) == before
    done = compress_files(Batch(source, CONFIG), tmp_path / "out.jsonl").totals.metrics
    assert measured == done


def test_rehearsal_needs_no_model(source):
    config = replace(CONFIG, summary_model="openai/gpt-5-mini")
    result = measure_files(Batch(source, config))
    assert (result.totals.metrics.compressed, result.totals.bill.calls) == (4, 0)


def test_watcher_sees_the_whole_way(source, tmp_path):
    seen = []
    compress_files(Batch(source, CONFIG), tmp_path / "out.jsonl", watch=seen.append)
    assert seen[-1].part == 1.0
    assert seen[-1].totals.metrics.rows == 12
    assert seen[-1].seconds_left == 0


def test_speakers_and_losses_are_counted(tmp_path):
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    rows = [
        {
            "conversations": [
                *SHORT,
                {"from": "narrator", "value": "Later."},
                {"from": "GPT", "value": "Yes."},
            ]
        },
        {
            "messages": [
                {"role": "user", "content": "Go."},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "done"},
            ]
        },
    ]
    (tmp_path / "in.jsonl").write_bytes(as_lines(rows))
    metrics = measure_files(Batch(tmp_path / "in.jsonl", CONFIG)).totals.metrics
    assert metrics.unknown_speakers == {"narrator": 1}
    assert metrics.losses == {"call id": 1}


def test_place_of_a_bad_byte_is_counted_from_the_start_of_the_line(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"conversations": [{"from": "human", "value": "a\xff"}]}\n')
    compress_files(Batch(tmp_path / "in.jsonl", CONFIG), tmp_path / "out.jsonl")
    [listed] = read_lines(tmp_path / "out.jsonl.rejects.jsonl")
    assert listed["reason"] == "byte 48 is not UTF-8"


def test_files_of_a_folder_that_cannot_be_opened_are_listed_and_the_others_read(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "b.jsonl").write_bytes(as_lines([{"conversations": SHORT}]))
    (folder / "a.jsonl").symlink_to(tmp_path / "nowhere")
    for workers in (1, 2):
        out = tmp_path / f"out{workers}"
        result = compress_files(Batch(folder, CONFIG), out, engine=LocalEngine(workers))
        assert (result.totals.written, result.totals.metrics.rejected) == (1, 1)
        [listed] = read_lines(tmp_path / f"out{workers}.rejects.jsonl")
        assert (listed["file"], listed["line"]) == ("a.jsonl", 1)
        assert listed["reason"] == "the file cannot be opened: No such file or directory"


def test_folder_around_the_input_is_refused_where_a_file_of_it_would_be_replaced(tmp_path):
    (tmp_path / "data" / "data").mkdir(parents=True)
    (tmp_path / "data" / "data" / "x.jsonl").write_bytes(as_lines([{"conversations": SHORT}]))
    with pytest.raises(ConfigError, match="no file of IN would be replaced"):
        compress_files(Batch(tmp_path / "data", CONFIG), tmp_path)


def fail_after(chunks):
    """Return an engine whose disk goes after so many chunks."""

    def engine(task, selection):
        yield from islice(LocalEngine()(task, selection), chunks)
        raise OSError("the disk is gone")

    return engine


def test_failure_leaves_the_old_output_and_work_to_resume(tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(as_lines([{"conversations": SHORT}] * 1_200))
    out.write_text("old")
    with pytest.raises(OSError, match="the disk is gone"):
        compress_files(Batch(source, CONFIG), out, engine=fail_after(1))
    assert out.read_text() == "old"
    with pytest.raises(ConfigError, match="continue with --resume, or remove that folder"):
        compress_files(Batch(source, CONFIG), out)
    compress_files(Batch(source, CONFIG), out, resume=True)
    assert out.read_bytes() == source.read_bytes()
    assert not (tmp_path / "out.jsonl.work").exists()


def test_run_that_failed_before_anything_was_done_is_simply_begun_again(source, tmp_path):
    with pytest.raises(OSError, match="the disk is gone"):
        compress_files(Batch(source, CONFIG), tmp_path / "out.jsonl", engine=fail_after(0))
    result = compress_files(Batch(source, CONFIG), tmp_path / "out.jsonl")
    assert result.totals.written == 12


@pytest.mark.slow
def test_worker_that_dies_ends_the_run_with_a_clear_line_and_work_to_resume(source, tmp_path, monkeypatch):
    fault = "trajectories.worker:kill"
    monkeypatch.setenv("MIDFOLD_FAULT", fault)  # for a worker that starts afresh
    arm(fault)  # for one that is a copy of this process
    with pytest.raises(MidfoldError, match=r"these rows end their worker together.*it was killed by SIGKILL"):
        compress_files(Batch(source, CONFIG), tmp_path / "out.jsonl", engine=LocalEngine(2))
    monkeypatch.delenv("MIDFOLD_FAULT")
    arm(None)
    compress_files(Batch(source, CONFIG), tmp_path / "out.jsonl", resume=True)
    assert len(read_lines(tmp_path / "out.jsonl")) == 12


@pytest.mark.parametrize(
    ("output", "hint"),
    [("in", "outside of IN"), ("in/out", "outside of IN"), ("file", "a folder, for IN is one")],
)
def test_output_that_cannot_be_says_what_could(tmp_path, output, hint):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(as_lines(make_rows(1)))
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=hint):
        compress_files(Batch(tmp_path / "in", CONFIG), tmp_path / output)


@pytest.fixture
def other_disk(tmp_path):
    """A folder on another disk than `tmp_path`."""
    memory = Path("/dev/shm")  # noqa: S108 - a disk, not a place for a file
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second disk")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def test_output_behind_a_link_to_another_disk_is_worked_on_there(source, tmp_path, other_disk):
    folder, link = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    source.rename(folder / "a.jsonl")
    (other_disk / "volume").mkdir()
    link.symlink_to(other_disk / "volume")
    with pytest.raises(OSError, match="the disk is gone"):
        compress_files(Batch(folder, CONFIG), link, engine=fail_after(1))
    assert (other_disk / "volume.work").is_dir()
    compress_files(Batch(folder, CONFIG), link, resume=True)
    assert len(read_lines(link / "a.jsonl")) == 12
    assert [path.name for path in other_disk.iterdir()] == ["volume"]


def test_part_of_the_output_on_another_disk_gets_its_files(source, tmp_path, other_disk):
    folder, out = tmp_path / "in", tmp_path / "out"
    for name in ("here", "there"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.jsonl").write_bytes(source.read_bytes())
    out.mkdir()
    (out / "there").symlink_to(other_disk)
    compress_files(Batch(folder, CONFIG), out)
    assert (other_disk / "a.jsonl").read_bytes() == (out / "here" / "a.jsonl").read_bytes()
    assert [path.name for path in other_disk.iterdir()] == ["a.jsonl"]
    assert not (tmp_path / "out.work").exists()


def test_output_in_a_folder_that_is_not_there_names_it(source, tmp_path):
    with pytest.raises(
        ConfigError, match=r"OUT is .*x\.jsonl'; expected a place in a folder that is there; .*no"
    ):
        compress_files(Batch(source, CONFIG), tmp_path / "no" / "x.jsonl")


def test_file_does_not_go_where_a_folder_is(source, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="a file, for IN is one"):
        compress_files(Batch(source, CONFIG), tmp_path / "folder")


def test_wrong_setting_is_told_before_anything_is_begun(source, tmp_path):
    with pytest.raises(ConfigError, match="tokenizer"):
        compress_files(Batch(source, replace(CONFIG, tokenizer="no such thing")), tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == [source]


def test_every_real_trajectory_fits_or_says_why(data_dir, tmp_path):
    config = CompressionConfig()
    batch = Batch(data_dir / "sharegpt", config, read_share("60"))
    result = compress_files(batch, tmp_path / "out")
    compressor = TrajectoryCompressor(config)
    listed = read_lines(result.listed) if result.listed else []
    over = 0
    for path in result.outputs:
        for line in gzip.decompress(path.read_bytes()).splitlines():
            turns = json.loads(line)["conversations"]
            over += compressor.count_trajectory_tokens(turns) > config.target_max_tokens
    assert over == len(listed)
    assert result.totals.written == 60
