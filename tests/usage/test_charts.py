"""The chart of a period: well-formed, whatever it is about."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from midfold.tokens import CanonicalUsage
from midfold.tokens.breakdown import ToolShare
from midfold.usage import Group, Insights, add_up, count_calls, make_call
from midfold.usage.charts import draw_insights

SVG = "{http://www.w3.org/2000/svg}"


def read(svg):
    return ElementTree.fromstring(svg)  # noqa: S314 - our own


def insights(day_tokens, model="claude-sonnet-4-5", tool="read_file"):
    days = []
    for number, tokens in enumerate(day_tokens):
        raw = CanonicalUsage(tokens, tokens // 10, tokens * 4, tokens // 2)
        days.append(
            Group(f"2026-03-{number + 1:02}", add_up(count_calls([make_call(raw, model)] if tokens else [])))
        )
    total = add_up(count_calls([make_call(CanonicalUsage(sum(day_tokens)), model)]))
    tools = (ToolShare(tool, 3, 100, 2_000, 900),)
    return Insights(0.0, 1.0, 2, total, tuple(days), (Group(model, total),), (), (), tools, 2)


def test_there_is_a_bar_for_each_bucket_of_each_day():
    drawn = read(draw_insights(insights([100, 0, 5_000])))
    titles = [title.text for title in drawn.iter(f"{SVG}title")]
    assert "2026-03-03: 20,000 from the cache" in titles
    assert sum("2026-03-01: " in (title or "") for title in titles) == 5  # four buckets and the hit rate
    assert not any("2026-03-02" in (title or "") for title in titles)


@pytest.mark.parametrize("tokens", [0, 1, 7, 999, 12_345, 10**9])
def test_bars_stay_inside_the_page(tokens):
    drawn = read(draw_insights(insights([tokens])))
    for bar in drawn.iter(f"{SVG}rect"):
        assert float(bar.get("y", 0)) >= 0
        assert float(bar.get("x", 0)) + float(bar.get("width", 0)) <= 860


def test_names_from_outside_are_text_and_nothing_else():
    drawn = draw_insights(insights([100], model="<script>alert(1)</script>", tool="a\x1b[31m\x00&b"))
    assert "<script>" not in drawn
    assert "\x1b" not in drawn
    read(drawn)


def test_the_chart_says_of_how_many_conversations_its_tools_are():
    whole = insights([100])
    assert "tokens by tool, about" in draw_insights(whole)
    assert "tokens by tool, newest 1 conversations" in draw_insights(replace(whole, tools_of=1))
