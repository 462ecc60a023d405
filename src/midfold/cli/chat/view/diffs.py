"""A diff in rows for a terminal: what comes is green, what goes is red, nothing in it is hidden."""

from collections.abc import Iterator

from rich.text import Text

from midfold.cli.chat.view.text import reveal, wrap_line

_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_TAB = "→   "


def diff_rows(diff: str) -> list[Text]:
    """Return the rows of a change as `describe_change` writes it: a headline, and lines with a sign."""
    headline, _, rest = diff.partition("\n")
    first = list(wrap_line(Text(reveal(headline), style="bold")))
    return [*first, *(row for line in rest.split("\n") for row in _show(line))] if rest else first


def _show(line: str) -> Iterator[Text]:
    style = _STYLES.get(line[:1], "")
    yield from wrap_line(Text(reveal(line.replace("\t", _TAB)), style=style))
