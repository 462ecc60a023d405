"""Plots: as high as their figures, and everything on the page."""

from xml.etree import ElementTree

import pytest

from midfold.charts import (
    Dot,
    HistogramChart,
    HistogramSeries,
    LineSeries,
    Marker,
    draw_bars,
    draw_dots,
    draw_histogram,
    draw_lines,
)

SVG = "{http://www.w3.org/2000/svg}"


def histogram(counts, **options):
    series = [HistogramSeries("rows", counts)]
    chart = HistogramChart("Title", "axis", "rows", list(range(len(counts) + 1)), series, str, **options)
    return ElementTree.fromstring(draw_histogram(chart))  # noqa: S314 - our own


def bars(drawn):
    return [bar for bar in drawn.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]


def number(shape, name):
    return float(shape.get(name))


def words(drawn):
    return [text.text for text in drawn.iter(f"{SVG}text")]


def test_bars_of_a_histogram_are_as_high_as_their_counts():
    found = bars(histogram([0, 2, 8, 4, 0]))
    heights = [number(bar, "height") for bar in found]
    assert heights[1] == pytest.approx(4 * heights[0], abs=0.5) == pytest.approx(2 * heights[2], abs=0.5)
    assert {round(number(bar, "y") + number(bar, "height")) for bar in found} == {338}


def test_a_histogram_is_trimmed_to_where_there_are_rows():
    labels = words(histogram([0] * 50 + [3] + [0] * 50))
    assert {"49", "50", "51", "52"} <= set(labels)
    assert "10" not in labels


def test_a_marker_stands_between_the_edges_around_its_value_and_its_name_above_all_bars():
    drawn = histogram([1, 1, 1, 1], marker=Marker(1.5, "half"))
    [line] = [shape for shape in drawn.iter(f"{SVG}rect") if shape.get("class") == "mark"]
    [name] = [text for text in drawn.iter(f"{SVG}text") if text.text == "half"]
    second = bars(drawn)[1]
    assert number(second, "x") < number(line, "x") < number(second, "x") + number(second, "width")
    assert number(name, "y") < min(number(bar, "y") for bar in bars(drawn))


@pytest.mark.parametrize("counts", [[0, 0, 0], [1], [10**9, 1]])
def test_everything_stays_on_the_page(counts):
    drawn = histogram(counts, marker=Marker(0.5, "target"))
    for shape in (*drawn.iter(f"{SVG}rect"), *drawn.iter(f"{SVG}text")):
        assert 0 <= float(shape.get("x", 0)) <= 760
        assert 0 <= float(shape.get("y", 0)) <= 400


def test_a_bar_says_its_part_and_a_gap_leaves_a_line_open():
    assert "kept: 25.0%" in draw_bars(["paths"], [LineSeries("kept", [0.25])])
    drawn = draw_lines(["1 fold", "2 folds", "5 folds"], [LineSeries("kept", [1.0, None, 0.5])])
    assert drawn.count("<circle") == 2


def test_dots_lie_on_a_scale_of_powers_of_ten():
    drawn = draw_dots([Dot(0, 1_000, 0.9, "small"), Dot(1, 20_000, 0.5, "large")])
    assert ">1,000<" in drawn
    assert ">10,000<" in drawn
    assert draw_dots([]) == ""
