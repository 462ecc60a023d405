"""The window as a bar."""

from midfold.cli.render.context import context_bar, section_grid
from midfold.engines.context_breakdown import ContextBreakdown, Section, SectionShare

CONTEXT = ContextBreakdown(
    tokens=40_000,
    context_length=100_000,
    threshold_tokens=60_000,
    sections=(
        SectionShare(Section.TOOLS, 10_000),
        SectionShare(Section.SYSTEM, 5_000, 1),
        SectionShare(Section.SUMMARY, 10_000, 1),
        SectionShare(Section.TAIL, 15_000, 20),
    ),
    tools=(),
)


def test_the_bar_shows_what_is_full_what_is_free_and_where_a_fold_is_due():
    assert context_bar(CONTEXT, 20).plain == "████████░░░░|░░░░░░░"


def test_each_section_has_a_colour_of_its_own():
    spans = [(span.end - span.start, span.style) for span in context_bar(CONTEXT, 20).spans]
    assert spans == [(2, "blue"), (1, "cyan"), (2, "magenta"), (3, "bright_green"), (12, "bright_black")]


def test_a_request_that_does_not_fit_fills_the_bar():
    full = ContextBreakdown(200_000, 100_000, 60_000, (SectionShare(Section.TAIL, 200_000),), ())
    assert context_bar(full, 10).plain == "█" * 10


def test_an_empty_request_is_an_empty_bar():
    assert context_bar(ContextBreakdown(0, None, None, (), ()), 10).plain == "░" * 10


def test_the_table_adds_up():
    lines = [line.plain for line in section_grid(CONTEXT).lines(60)]
    assert lines[0].split() == ["section", "tokens", "share", "messages"]
    assert [line.split()[-1] for line in lines[1:]] == ["25.0%", "1", "1", "20"]
