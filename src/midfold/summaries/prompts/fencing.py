"""Writes a summary into the conversation, and recognises it again.

The notes of a summary stand between two lines that carry a nonce, and nothing in them can look like such a
line, so whatever a summariser was talked into stays inside. What is summarised comes from web pages, files
and tools, and may imitate our fence and marker, roles, tags of chat formats. Such texts keep their words
and lose their shape: brackets become round, role labels and headings are put in parentheses. Look-alike
letters and invisible characters do not hide them.
"""

import re
import unicodedata
from bisect import bisect_right
from functools import cache
from hashlib import blake2b
from hmac import compare_digest

from midfold.late_patterns import compile_late
from midfold.summaries.phrases import other_letters
from midfold.texts import read_text

_PACKAGE = "midfold.summaries.prompts"
SUMMARY_MARKER = "[CONTEXT COMPACTION — REFERENCE ONLY]"
"""The first words of both prefixes, by which a summary is recognised; a test keeps them equal."""
PREFIX, BRIEF_PREFIX = "prefix.md", "prefix_brief.md"
"""The latter says the same in a third of the tokens, where a summary has little room."""
_HEADING = compile_late(r"^## ", re.MULTILINE)
_OPENING = compile_late(r"<<<MIDFOLD (\S+)>>>\n")

_NONCE_BYTES = 8
_MOST_KEY_BYTES = 64
_GAP = "\u200b"
"""Stands for every character that is not seen."""
_INVISIBLE_CATEGORIES = ("Cf", "Mn", "Me")
_INVISIBLE_LETTERS = "\u115f\u1160\u3164\uffa0"
_NOT_ASCII = compile_late(r"[^\x00-\x7f]+")
_LINE_BREAKS = "\x85\u2028\u2029"
_FEW_TWINS = 16
"""Replacing as many characters one by one takes less than looking each letter of a text up."""
_ROUND = {"<": "(", "[": "(", ">": ")", "]": ")"}
# Every branch begins with one of a few characters, which makes the search fast. Removing brackets makes no
# new match, so that text which was neutralised once stays as it is.
_MARKS = r"""
    # our fence
    <[</]{0,8}\s*+/?\s*+(?i:end[\s_-]*+)?(?i:midfold)(?:[^<>\n]{0,200}>{1,8})?
    # tags that no code is likely to need
  | <\s*+/?\s*+(?i:persisted-output|system|sys|s|instructions?|start_of_turn|end_of_turn)
    (?:[-_][\w-]{0,40})?(?=\s|/?>|$)(?:[^<>\n]{0,200}>)?
    # tags that components and comparisons may look like, which are capitalised or never closed
  | <\s*+/?\s*+
    (?:user|human|assistant|developer|tool|function|think|thinking|invoke
      |USER|HUMAN|ASSISTANT|DEVELOPER|TOOL|FUNCTION|THINK|THINKING|INVOKE)
    (?![-_][\w-]{0,40}error>)  # what tools put around an error is worth quoting as it is
    (?:[-_][\w-]{0,40})?(?=\s|/?>)(?=[^>\n]{0,200}>)(?:[^<>\n]{0,200}>)?
    # control tokens
  | <\|[\w-]{1,60}(?:\|>)?
  | \[\s*+/?\s*+(?:INST|SYSTEM|System|(?i:context[\s_]*+(?:compaction|summary)))(?![\w.])
    (?:[^\[\]\n]{0,120}\])?
    # headings of instruction formats
  | \#(?<![(\#]\#)\#+[\ \t]*
    (?i:instructions?\b|(?:system|user|human|assistant|developer|input|response)[\ \t]*(?::|$))
"""
_LABEL = r"""
  | [\n\r\v\f\x1c-\x1e][\ \t>*_]*
    (?:SYSTEM|System|USER|User|HUMAN|Human|ASSISTANT|Assistant|DEVELOPER|Developer)
    (?:[\ \t](?i:message|prompt|instructions?))?[\ \t]*:
"""
"""a label at the start of a line"""
_IMITATION = compile_late(_MARKS + _LABEL, re.VERBOSE | re.MULTILINE)
_IMITATED_MARK = compile_late(_MARKS, re.VERBOSE | re.MULTILINE)
"""the same in a text that names no role, in which lines need no look"""
_ROLES = tuple(
    each
    for role in ("system", "user", "human", "assistant", "developer")
    for each in (role.upper(), role.title())
)
_BEFORE_LABEL = "\n\r\v\f\x1c\x1d\x1e \t>*_" + _GAP


def fence(body: str, nonce: str) -> str:
    """Put `body`, neutralised, between two lines with `nonce`."""
    return _fence_notes(neutralize(body), nonce)


def _fence_notes(notes: str, nonce: str) -> str:
    return f"<<<MIDFOLD {nonce}>>>\n{notes}\n{_closing_line(nonce)}"


def wrap_summary(body: str, nonce: str, *, prefix: str = PREFIX) -> str:
    """Make the whole text of a summary message: prefix, fenced notes, and a line that points past them."""
    return _wrap_notes(neutralize(body), nonce, prefix)


def _wrap_notes(notes: str, nonce: str, prefix: str) -> str:
    return "\n".join([read_paragraph(prefix), _fence_notes(notes, nonce), read_paragraph("closing.md")])


def is_brief(text: str) -> bool:
    """Whether a summary begins with the brief prefix."""
    return text.startswith(read_paragraph(BRIEF_PREFIX))


def seal_summary(body: str, key: bytes, *, prefix: str = PREFIX) -> str:
    """Make the whole text of a summary whose nonce only the owner of `key` can give to these very notes.

    Without a key the nonce is a checksum: notes that were changed are told from those that were not.
    """
    notes = neutralize(body)
    return _wrap_notes(notes, _sign(notes, key), prefix)


def seal_notes(body: str, key: bytes) -> str:
    """Fence notes as `seal_summary` does, for a message with a first line of its own."""
    notes = neutralize(body)
    return _fence_notes(notes, _sign(notes, key))


def is_sealed(text: str, key: bytes) -> bool:
    """Whether a text is a summary with the nonce that `key` gives to its notes."""
    body = find_body(text)
    opening = _OPENING.search(text)
    if body is None or opening is None or not text.startswith(SUMMARY_MARKER):
        return False
    return compare_digest(opening[1].encode(), _sign(body, key).encode())


def has_fence(text: str) -> bool:
    """Whether a text is a summary as we write it, whatever its nonce."""
    return (
        text.startswith(SUMMARY_MARKER) and _OPENING.search(text) is not None and find_body(text) is not None
    )


def _sign(notes: str, key: bytes) -> str:
    said = notes.encode("utf-8", "surrogatepass")
    return blake2b(said, key=key[:_MOST_KEY_BYTES], digest_size=_NONCE_BYTES, person=b"summary").hexdigest()


def find_body(text: str) -> str | None:
    """Return the notes of a summary, ours or one with an older prefix; `None` for any other text.

    Text after the end of the notes was put there by somebody, and would be lost if the whole were taken for a
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
        # A summary with this marker has a fence or headings; without them the text only speaks of it.
        return None
    # A marker may be followed by an explanation on its line; one with a colon introduces the notes.
    explains = not prefix.endswith(":") and first_line != prefix and rest.lstrip().startswith("## ")
    return _without_ending((rest if explains else text[len(prefix) :]).strip())


@cache
def known_prefixes() -> tuple[str, ...]:
    """Return what summaries start with, ours and those of older versions and other systems, longest first."""
    return tuple(sorted({SUMMARY_MARKER, *_read_lines("legacy/prefixes.md")}, key=len, reverse=True))


def _closing_line(nonce: str) -> str:
    return f"<<<END MIDFOLD {nonce}>>>"


def _is_ending(text: str) -> bool:
    endings = (read_paragraph("closing.md"), *_read_lines("legacy/endings.md"))
    return not text or ("\n" not in text and text.startswith(endings))


def _without_ending(body: str) -> str | None:
    """Cut off the line that ends an unfenced summary; `None` when more follows it."""
    for ending in _read_lines("legacy/endings.md"):
        notes, found, after = f"\n{body}".partition(f"\n{ending}")
        if found:
            return None if "\n" in after else notes.strip()
    return body


def neutralize(text: str) -> str:
    """Return `text` without anything that could be taken for structure; doing it again changes nothing."""
    text = f"\n{text}"  # so that every line follows a break
    shape, gaps = text, []
    if not text.isascii():
        shape = _show(text)
        # Where the gaps are once those before them are gone.
        found_gaps = re.finditer(_GAP, shape) if _GAP in shape else ()
        gaps = [found.start() - before for before, found in enumerate(found_gaps)]
    pieces = []
    done = 0
    plain = shape.replace(_GAP, "") if gaps else shape
    imitation = _IMITATION if any(map(plain.__contains__, _ROLES)) else _IMITATED_MARK
    for found in imitation.finditer(plain):
        start = found.start() + bisect_right(gaps, found.start())
        stop = found.end() + bisect_right(gaps, found.end() - 1)
        pieces += [text[done:start], _defuse(text[start:stop], shape[start:stop])]
        done = stop
    return "".join([*pieces, text[done:]])[1:]


def _show(text: str) -> str:
    """Write a text as it looks, with one ASCII character where there is one, so that positions stay."""
    shapes = _shapes()
    looks = {letter: shapes[ord(letter)] for letter in other_letters(text)}
    twins = {letter: look for letter, look in looks.items() if look != letter}
    if len(twins) > _FEW_TWINS:
        return _NOT_ASCII.sub(lambda found: found[0].translate(shapes), text)
    for letter, look in twins.items():
        text = text.replace(letter, look)
    return text


def _defuse(written: str, shape: str) -> str:
    """Write an imitation with round brackets, or in parentheses where it has none."""
    if shape[0] in _ROUND:
        return "".join([_ROUND.get(seen, letter) for letter, seen in zip(written, shape, strict=True)])
    lead = len(shape) - len(shape.lstrip(_BEFORE_LABEL))
    return f"{written[:lead]}({written[lead:]})"


class _Shapes(dict[int, str]):
    """The look of each character."""

    def __missing__(self, code: int) -> str:
        self[code] = shape = _look_at(chr(code))
        return shape


@cache
def _shapes() -> _Shapes:
    lines = [line.split(" ", 1) for line in _read_lines("lookalikes.txt")]
    return _Shapes({ord(twin): letter for letter, twins in lines for twin in twins})


def _look_at(character: str) -> str:
    if character in _LINE_BREAKS:
        return "\n"
    if unicodedata.category(character) in _INVISIBLE_CATEGORIES or character in _INVISIBLE_LETTERS:
        return _GAP
    plain = unicodedata.normalize("NFKD", character)[0]
    return plain if plain.isascii() else character


@cache
def read_paragraph(name: str) -> str:
    """Return a text of this folder as one line, however it is wrapped."""
    return " ".join(read_text(_PACKAGE, name).split())


@cache
def _read_lines(name: str) -> tuple[str, ...]:
    return tuple(read_text(_PACKAGE, name).split("\n"))
