"""Tables at any width."""

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from midfold.cli.render.grid import Grid

FIGURES = st.integers(0, 10**9).map("{:,}".format)
NAMES = st.text(
    st.characters(min_codepoint=32, exclude_categories=("Cc", "Cf", "Cs", "Mn", "Me")), max_size=40
)
ROWS = st.lists(st.tuples(NAMES, FIGURES, FIGURES, FIGURES, NAMES), min_size=1, max_size=5)


def grid(rows):
    cells = [[Text(cell) for cell in row] for row in rows]
    return Grid(("who", "tokens", "calls", "in results", "holds"), cells, words=(0, 4))


@given(ROWS, st.integers(20, 120))
def test_no_line_is_wider_than_asked_and_no_figure_is_cut(rows, width):
    heading, *lines = grid(rows).lines(width)
    assert all(line.cell_len <= width for line in (heading, *lines))
    shown = [
        place for place, word in enumerate(("tokens", "calls", "in results"), 1) if word in heading.plain
    ]
    for row, line in zip(rows, lines, strict=True):
        assert all(row[place] in line.plain for place in shown)


def test_words_give_way_before_a_column_does():
    table = grid([("a tool with a long name", "12,345", "6", "7,890", "words and words and words")])
    assert [line.plain for line in table.lines(60)] == [
        "who                    tokens  calls  in results  holds",
        "a tool with a long n…  12,345      6       7,890  words and…",
    ]
    assert [line.plain for line in table.lines(26)] == [
        "who          tokens  calls",
        "a tool wit…  12,345      6",
    ]


def test_the_name_and_the_first_figure_always_stay():
    table = grid([("a tool with a long name", "12,345", "6", "7,890", "")])
    assert [line.plain for line in table.lines(12)] == ["who   tokens", "a t…  12,345"]


def test_a_row_may_be_short():
    assert grid([("3 more", "12,345")]).lines(80)[1].plain == "3 more                12,345"
