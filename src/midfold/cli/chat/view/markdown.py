"""Markdown of a model as lines for a terminal, also while it is incomplete.

The markup is the model's, so nothing of it may reach the terminal but letters: links are written out, HTML is
text, and what the parser makes of entities is cleaned once more.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from midfold.cli.chat.view.text import clean
from midfold.late_dataclasses import dataclass, field

Line: TypeAlias = list[Segment]

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")
# The terminal's own sixteen colours look right on light and on dark ones.
_CODE_THEME = "ansi_dark"
_THEME = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.code": "cyan",
    }
)
_MOST_CELLS = 100
"""Longer lines of prose are hard to read."""
_WINDOW_LINES = 8
_TABLE = "table_open"


@dataclass(slots=True)
class MarkdownStream:
    """Markdown that grows. Lines that can no longer change are given out once, the others shown until then.

    Of a block that is not complete, the last `window_lines` stay open and those before them are taken to be
    final; a table, whose columns change with every row, stays open as a whole.
    """

    console: Console
    window_lines: int = _WINDOW_LINES
    _source: str = ""
    """the text from the beginning of the open block"""
    _seen: tuple[str, int] = ("", 0)
    """the text that was laid out, and the width of the terminal"""
    _open: list[Line] = field(default_factory=list)
    _given: int = 0
    """lines of the open block that were given out"""
    _is_first: bool = True

    @property
    def is_open(self) -> bool:
        """Whether a text has begun and is not finished."""
        return bool(self._source)

    def feed(self, text: str) -> None:
        """Take more of the text; nothing is laid out yet."""
        self._source += text

    def take(self) -> list[Line]:
        """Return the lines that became final since they were asked for last."""
        seen = (self._source, self.console.width)
        if seen == self._seen or not self._source:
            return []
        *complete, last = _split(self._source)
        final = [line for block in complete for line in self._emit_rest(render(block.source, self.console))]
        self._open = render(last.source, self.console)
        if last.kind != _TABLE:
            ready = max(self._given, len(self._open) - self.window_lines)
            final += self._emit_lines(self._open, ready)
        self._source = last.source
        self._seen = (last.source, seen[1])
        return final

    @property
    def tail(self) -> list[Line]:
        """The newest of the lines that may still change."""
        return self._open[self._given :][-self.window_lines :]

    def finish(self) -> list[Line]:
        """Return all that was not given out; what is fed next is another text."""
        final = self.take() + self._emit_rest(self._open)
        self._source, self._open, self._is_first = "", [], True
        return final

    def _emit_rest(self, lines: Sequence[Line]) -> list[Line]:
        """Give out all of a block; another one follows."""
        given = self._emit_lines(lines, len(lines))
        self._given = 0
        return given

    def _emit_lines(self, lines: Sequence[Line], stop: int) -> list[Line]:
        """Give out lines of a block, an empty one before the first unless it is the first of all."""
        given = list(lines[self._given : stop])
        gap: list[Line] = [[]] if given and self._given == 0 and not self._is_first else []
        self._is_first = self._is_first and not given
        self._given = max(self._given, stop)
        return gap + given


def render(text: str, console: Console) -> list[Line]:
    """Lay markdown out in lines no wider than the console."""
    options = console.options.update(width=min(console.width, _MOST_CELLS), height=None)
    try:
        with console.use_theme(_THEME):
            lines = console.render_lines(_Markdown(text), options, pad=False)
    except Exception:  # noqa: BLE001 - whatever a model writes must be shown, if not as it was meant
        lines = console.render_lines(Text(text), options, pad=False)
    return _trim([_strip(line) for line in lines])


@dataclass(frozen=True, slots=True)
class _Block:
    """A top-level piece of markdown: a paragraph, a list, a table."""

    source: str
    kind: str


def _split(source: str) -> list[_Block]:
    """Take markdown apart into its blocks; there is at least one."""
    found = [token for token in _PARSER.parse(source) if token.level == 0 and token.map]
    if not found:
        return [_Block(source, "")]
    lines = source.split("\n")
    starts = [0, *(token.map[0] for token in found[1:] if token.map), len(lines)]
    pieces = ["\n".join(lines[start:stop]) for start, stop in pairwise(starts)]
    ended = [f"{piece}\n" for piece in pieces[:-1]]
    return [_Block(*pair) for pair in zip([*ended, pieces[-1]], [token.type for token in found], strict=True)]


class _Heading(Heading):
    """A heading at the left, where a reader looks for it."""

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        yield self.text


class _CodeBlock(CodeBlock):
    """Code without a frame: every line that is not code is one less that is."""

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 2))


class _Table(TableElement):
    """A table whose cells wrap: a path that is cut short is of no use."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Markdown(Markdown):
    """Markdown in which HTML is text, and links and images are written out."""

    elements = {  # noqa: RUF012 - as the original has it
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        _TABLE: _Table,
    }

    def __init__(self, markup: str) -> None:
        super().__init__("", code_theme=_CODE_THEME, hyperlinks=False)
        self.markup = markup
        self.parsed = _PARSER.parse(markup)
        for token in self.parsed:
            token.children = [_image_as_text(child) for child in token.children] if token.children else None


def _image_as_text(token: Token) -> Token:
    if token.type != "image":
        return token
    return Token("text", "", 0, content=f"{token.content or 'image'} ({token.attrs.get('src', '')})")


def _strip(line: Sequence[Segment]) -> Line:
    """Leave letters and colours, and no blanks at the end."""
    kept = [
        Segment(clean(segment.text).replace("\t", "    "), _without_link(segment.style))
        for segment in line
        if not segment.control
    ]
    while kept and not kept[-1].text.strip():
        kept.pop()
    return [*kept[:-1], Segment(kept[-1].text.rstrip(), kept[-1].style)] if kept else []


def _without_link(style: Style | None) -> Style | None:
    return style.update_link(None) if style and style.link else style


def _trim(lines: list[Line]) -> list[Line]:
    """Leave out empty lines at both ends."""
    full = [index for index, line in enumerate(lines) if line]
    return lines[full[0] : full[-1] + 1] if full else []
