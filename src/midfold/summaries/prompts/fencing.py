"""How a summary is written into the conversation, and how it is known again.

The notes of a summary stand between two lines that carry a nonce, and nothing in them can look like such a
line, so whatever a summariser was talked into stays inside.
"""

import re
from functools import cache

from midfold.summaries.prompts.lookalikes import neutralize
from midfold.summaries.prompts.texts import read_lines, read_paragraph

SUMMARY_MARKER = "[CONTEXT COMPACTION — REFERENCE ONLY]"
_HEADING = re.compile(r"^## ", re.MULTILINE)
_OPENING = re.compile(r"<<<MIDFOLD (\S+)>>>\n")


def fence(body: str, nonce: str) -> str:
    """Put `body`, neutralised, between two lines with `nonce`."""
    return f"<<<MIDFOLD {nonce}>>>\n{neutralize(body)}\n{_closing_line(nonce)}"


def wrap_summary(body: str, nonce: str) -> str:
    """Make the whole text of a summary message: prefix, fenced notes, and a line that points past them."""
    return "\n".join([read_paragraph("prefix.md"), fence(body, nonce), read_paragraph("closing.md")])


def find_body(text: str) -> str | None:
    """Return the notes of a summary, ours or one with an older prefix; `None` for any other text.

    Text after the end of the notes was put there by somebody who is not heard if the whole is taken for a
    summary, so such text is none.
    """
    prefix = next((prefix for prefix in known_prefixes() if text.startswith(prefix)), None)
    if prefix is None:
        return None
    first_line, _, rest = text.partition("\n")
    opening = _OPENING.match(rest)
    if opening is not None:
        body, closing, after = rest[opening.end() - 1 :].partition(f"\n{_closing_line(opening[1])}")
        return body[1:] if closing and _is_ending(after.strip()) else None
    if prefix == SUMMARY_MARKER and _HEADING.search(text) is None:
        # Whoever writes this marker writes a fence or headings; without them somebody only speaks of it.
        return None
    # A marker may be followed by an explanation on its line; one with a colon introduces the notes.
    explains = not prefix.endswith(":") and first_line != prefix and rest.lstrip().startswith("## ")
    return _without_ending((rest if explains else text[len(prefix) :]).strip())


@cache
def known_prefixes() -> tuple[str, ...]:
    """Return what summaries start with, ours and those of older versions and other systems, longest first."""
    return tuple(sorted({SUMMARY_MARKER, *read_lines("legacy/prefixes.md")}, key=len, reverse=True))


def _closing_line(nonce: str) -> str:
    return f"<<<END MIDFOLD {nonce}>>>"


def _is_ending(text: str) -> bool:
    endings = (read_paragraph("closing.md"), *read_lines("legacy/endings.md"))
    return not text or ("\n" not in text and text.startswith(endings))


def _without_ending(body: str) -> str | None:
    """Cut off the line that ends an unfenced summary; `None` when more follows it."""
    for ending in read_lines("legacy/endings.md"):
        notes, found, after = f"\n{body}".partition(f"\n{ending}")
        if found:
            return None if "\n" in after else notes.strip()
    return body
