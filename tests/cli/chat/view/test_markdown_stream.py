"""Markdown that is shown while it comes."""

import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from midfold.cli.chat.view.markdown import MarkdownStream, render

ANSWER = """# What I found

The lamp is **green**, see `lamp.py` and [the manual](http://example.com/lamp).

- first
- second
  - below it

3. three
4. four

```python
def light(lamp):
    return lamp.on()
```

| lamp | state |
|------|-------|
| 1 | lit |
| twenty-two | out |

> It must not go out.

That is <b>all</b>.
"""


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=60, force_terminal=True, color_system="standard")


def as_text(lines):
    return "\n".join("".join(segment.text for segment in line) for line in lines)


def stream(console, pieces):
    growing = MarkdownStream(console)
    lines = []
    for piece in pieces:
        growing.feed(piece)
        lines += growing.take()
    return as_text(lines + growing.finish())


def test_answer_is_laid_out(console):
    assert stream(console, [ANSWER]) == (
        "What I found\n\n"
        "The lamp is green, see lamp.py and the manual\n(http://example.com/lamp).\n\n"
        " • first\n • second\n    • below it\n\n"
        " 3 three\n 4 four\n\n"
        "  def light(lamp):\n      return lamp.on()\n\n"
        " lamp        state\n ─────────────────\n 1           lit\n twenty-two  out\n\n"
        "▌ It must not go out.\n\n"
        "That is <b>all</b>."
    )


@pytest.mark.parametrize("seed", range(12))
def test_pieces_give_what_the_whole_gives(console, seed):
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(len(ANSWER)), 40))
    pieces = [ANSWER[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(ANSWER)], strict=True)]
    assert stream(console, pieces) == stream(console, [ANSWER])


def test_complete_blocks_are_given_out_and_the_open_one_is_shown(console):
    growing = MarkdownStream(console)
    growing.feed("First block.\n\nSecond bl")
    assert as_text(growing.take()) == "First block."
    assert as_text(growing.tail) == "Second bl"
    growing.feed("ock.")
    assert growing.take() == []
    assert as_text(growing.finish()) == "\nSecond block."


def test_long_block_does_not_wait_for_its_end(console):
    growing = MarkdownStream(console, window_lines=3)
    growing.feed("```\n" + "".join(f"line {number}\n" for number in range(10)))
    given = growing.take()
    assert as_text(given).split() == [word for number in range(7) for word in ("line", str(number))]
    assert len(growing.tail) == 3
    growing.feed("line 10\n```\n\nDone.")
    rest = as_text(growing.take() + growing.finish())
    assert rest.split() == ["line", "7", "line", "8", "line", "9", "line", "10", "Done."]


def test_unfinished_code_is_shown_as_code(console):
    assert as_text(render("```python\nprint(1", console)) == "  print(1"


@pytest.mark.parametrize(
    "markup",
    [
        "[click](javascript:alert(1))",
        "![x](http://evil.example/a.png)",
        "<script>alert(1)</script>",
        "&#27;]0;title&#7; &#x9b;31m &#8238;evil &#13;over",
        "[a](http://e.example/&#27;]0;t&#7;)",
        "`\u202eevil`",
        "| a |\n|---|\n| \u2066x |",
    ],
)
def test_markup_cannot_steer_the_terminal(console, markup):
    for line in render(markup, console):
        for segment in line:
            assert segment.text.isprintable()
            assert not (segment.style and segment.style.link)


@given(st.text(st.sampled_from("ab \n\t#*_`~|-+>[]()!<&;123.:\\é\x1b\u202e"), max_size=200))
def test_any_text_can_be_shown(text):
    console = Console(file=io.StringIO(), width=30)
    growing = MarkdownStream(console)
    for character in text:
        growing.feed(character)
    lines = growing.take() + growing.finish()
    assert all(segment.text.isprintable() for line in lines for segment in line)
    assert all(sum(segment.cell_length for segment in line) <= 30 for line in lines)


def test_cells_of_a_table_wrap_and_lose_nothing():
    path = "src/midfold/cli/chat/view/markdown.py"
    source = f"| file | what |\n|---|---|\n| {path} | renders markdown as it streams, block by block |\n"
    printed = ["".join(segment.text for segment in line) for line in render(source, Console(width=40))]
    assert "…" not in "".join(printed)
    assert path in "".join(line[:20].strip() for line in printed)
