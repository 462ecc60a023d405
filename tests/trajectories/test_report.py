"""What a run leaves for people: figures as JSON, histograms as drawings and as bitmaps that agree."""

import json
import struct
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

import pytest

from midfold.testing import transcript
from midfold.trajectories import AggregateMetrics, Batch, CompressionConfig, TrajectoryMetrics, measure_files
from midfold.trajectories.bitmap import _glyphs, draw_png
from midfold.trajectories.charts import HEIGHT, WIDTH, Box, Chart, Ink, Label, Mark, Series, lay_out
from midfold.trajectories.drawing import draw_svg
from midfold.trajectories.report import as_values, make_charts, write_report

SHORT = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]
SVG = "{http://www.w3.org/2000/svg}"


def metrics(before, after):
    return TrajectoryMetrics(before, 40, after, 10, 2, 32, 30, was_compressed=after < before)


@pytest.fixture
def aggregate():
    total = AggregateMetrics()
    for size in (900, 4_000, 15_000, 40_000, 41_000):
        total.add(metrics(size, min(size, 15_000)))
    return total


def chart(counts, **options):
    series = [Series("rows", counts, Ink.AFTER)]
    return Chart("Title", "axis", list(range(len(counts) + 1)), series, str, **options)


def read_png(data):
    """Return width, height, and the pixels as palette numbers, a row each."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(kind + body),)
        chunks[kind] = body
        at += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    raw = zlib.decompress(chunks[b"IDAT"])
    return width, height, [raw[row * (width + 1) + 1 : (row + 1) * (width + 1)] for row in range(height)]


def test_report_holds_no_credential_of_an_address(tmp_path):
    (tmp_path / "in.jsonl").write_text(json.dumps({"conversations": SHORT}) + "\n")
    address = "https://bob:s3cretPw99@host/v1?api_key=abc123def"
    batch = Batch(tmp_path / "in.jsonl", CompressionConfig(model="openai/gpt-5-mini", base_url=address))
    write_report(tmp_path / "report", batch, measure_files(batch))
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["settings"]["base_url"] == "https://***@host/v1?api_key=***"


def test_bars_are_as_high_as_their_counts():
    bars = [shape for shape in lay_out(chart([0, 2, 8, 4, 0])) if isinstance(shape, Box) and shape.title]
    heights = [bar.height for bar in bars]
    assert heights[1] == 4 * heights[0] == 2 * heights[2]
    assert len({bar.y + bar.height for bar in bars}) == 1


def test_chart_is_trimmed_to_where_there_are_rows():
    labels = [shape.words for shape in lay_out(chart([0] * 50 + [3] + [0] * 50)) if isinstance(shape, Label)]
    assert {"49", "50", "51", "52"} <= set(labels)
    assert "10" not in labels


def test_mark_stands_between_the_edges_around_its_value():
    shapes = lay_out(chart([1, 1, 1, 1], mark=Mark(1.5, "half")))
    [line] = [shape for shape in shapes if isinstance(shape, Box) and shape.ink is Ink.MARK]
    bars = [shape for shape in shapes if isinstance(shape, Box) and shape.title]
    assert bars[1].x < line.x < bars[1].x + bars[1].width


@pytest.mark.parametrize("counts", [[0, 0, 0], [1], [10**9, 1]])
def test_everything_stays_on_the_canvas(counts):
    for shape in lay_out(chart(counts)):
        assert 0 <= shape.x <= WIDTH
        assert 0 <= shape.y <= HEIGHT


def test_drawing_is_wellformed_and_escapes_what_it_is_given():
    drawing = draw_svg([Label(1, 2, "<script>&")], 'a "title"')
    root = ElementTree.fromstring(drawing)  # noqa: S314 - our own
    assert root.find(f"{SVG}text").text == "<script>&"
    assert root.get("aria-label") == 'a "title"'


def test_bitmap_has_the_boxes_where_they_belong():
    width, height, rows = read_png(draw_png([Box(10, 20, 5, 4, Ink.MARK)]))
    assert (width, height) == (2 * WIDTH, 2 * HEIGHT)
    painted = {(x, y) for y, row in enumerate(rows) for x, number in enumerate(row) if number}
    assert painted == {(x, y) for x in range(20, 30) for y in range(40, 48)}


def test_bitmap_has_a_letter_for_every_one_that_is_used(aggregate):
    words = [
        shape.words
        for _, each in make_charts(aggregate, 15_250)
        for shape in lay_out(each)
        if isinstance(shape, Label)
    ]
    assert {letter for word in words for letter in word} - {" "} <= set(_glyphs())


def test_tokens_are_shown_before_and_after_with_the_target(aggregate):
    charts = dict(make_charts(aggregate, 15_250))
    assert list(charts) == ["tokens", "ratio", "turns"]
    before, after = charts["tokens"].series
    assert (sum(before.counts), sum(after.counts)) == (5, 5)
    labels = [shape.words for shape in lay_out(charts["tokens"]) if isinstance(shape, Label)]
    assert {"before", "after", "target 15,250", "1k", "16k", "32k"} <= set(labels)
    assert sum(charts["ratio"].series[0].counts) == 2


def test_report_of_a_run_is_a_folder_of_json_drawings_and_bitmaps(tmp_path):
    rows = [{"conversations": transcript("sharegpt", turns=16, result_chars=400)}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, [*rows, None])))
    batch = Batch(tmp_path / "in.jsonl", CompressionConfig(target_max_tokens=1_500))
    written = write_report(tmp_path / "deep" / "report", batch, measure_files(batch))
    assert sorted(path.name for path in written) == [
        "ratio.png",
        "ratio.svg",
        "report.json",
        "tokens.png",
        "tokens.svg",
        "turns.png",
        "turns.svg",
    ]
    assert all(path.stat().st_size > 500 for path in written)
    report = json.loads(Path(written[0]).read_text())
    assert (report["rows"], report["compressed"], report["rejected"]) == (2, 1, 1)
    assert report["settings"]["target_max_tokens"] == 1_500
    assert AggregateMetrics.from_dict(report).compressed == 1


def test_names_that_scripts_rely_on_are_there(tmp_path):
    (tmp_path / "in.jsonl").write_text("null")
    values = as_values(measure_files(Batch(tmp_path / "in.jsonl")))
    names = (
        "rows compressed skipped kept over_limit rejected written listed files outputs rejects bill seconds"
    )
    assert set(names.split()) <= set(values)
    assert set(values["bill"]) == {"calls", "input_tokens", "output_tokens", "dollars", "unpriced_calls"}
