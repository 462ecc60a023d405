"""Redacts text that arrives in pieces, between any two of which a credential may be cut.

No rule looks across a line break but that for private keys. So whole lines are let go as they come, except
where a key may be under way. A line that does not end is let go in parts, and what comes before a part is
remembered, so that a name is still known when its value comes.
"""

import re
from collections.abc import Iterator, Sequence

from midfold.redact import blocks
from midfold.redact.ascii_form import ascii_form
from midfold.redact.find import Finder, default_finder
from midfold.redact.placeholders import hide_placeholders
from midfold.redact.results import Secret
from midfold.redact.write import pieces, redact

MAX_HELD_CHARS = 65_536
"""How much is held back at most; no line of ordinary text and no private key is longer."""

# More than any rule looks at to find a credential, before and behind.
_CONTEXT_CHARS = 8_192
# A credential with this much behind it has ended.
_ENDED_CHARS = 256
_AFTER_TOKEN = re.compile(r"[\s\"'`]")
_AFTER_KEY = re.compile(r"[^A-Za-z0-9+/=\s\\\"'`,;|>#*?:-]")


class StreamRedactor:
    """Redacts a text given piece by piece; what `feed` and `close` return, joined, is the redacted text.

    The result is exactly `redact` of the whole text as long as no line and no private key is longer than
    `MAX_HELD_CHARS`. Beyond that it hides at least what `redact` would hide: a line is then let go in parts,
    and a credential that fills what is held is hidden together with what follows, up to the first character
    that cannot belong to it. No more than `MAX_HELD_CHARS`, some context and one piece are in memory.
    """

    def __init__(self, *, key: bytes = b"", finder: Finder | None = None) -> None:
        self._key = key
        self._finder = finder or default_finder()
        self._after_skipped: re.Pattern[str] | None = None
        self._hold("", context="")

    def feed(self, piece: str) -> str:
        """Take in a piece and return what can be let go."""
        piece = self._skip(piece)
        self._held.append(piece)
        self._held_chars += len(piece)
        is_full = self._held_chars >= MAX_HELD_CHARS
        if is_full or ("\n" in piece and self._held_chars >= self._next_try_chars):
            return self._let_go()
        return ""

    def close(self) -> str:
        """Return the rest; afterwards another text may be fed."""
        text = self._context + "".join(self._held)
        rest = self._write(text, self._finder.find(text), len(text))
        self._after_skipped = None
        self._hold("", context="")
        return rest

    def _let_go(self) -> str:
        text = self._context + "".join(self._held)
        secrets = self._finder.find(text)
        cut = _line_cut(text, secrets)
        if len(text) - max(cut, len(self._context)) >= MAX_HELD_CHARS:
            return self._let_part_go(text, secrets)
        if cut <= len(self._context):
            self._hold(text[len(self._context) :], context=self._context)
            return ""
        written = self._write(text, secrets, cut)
        self._hold(text[cut:], context="")
        return written

    def _let_part_go(self, text: str, secrets: Sequence[Secret]) -> str:
        """Let go all but the newest context, or all, if a credential reaches through that to the end."""
        cut = len(text) - _CONTEXT_CHARS
        across = next((secret for secret in secrets if secret.start < cut < secret.stop), None)
        if across:
            cut = across.stop
            if len(text) - across.stop < _ENDED_CHARS:
                self._after_skipped = _AFTER_KEY if across.kind == blocks.KIND else _AFTER_TOKEN
        written = self._write(text, secrets, cut)
        self._hold(self._skip(text[cut:]), context=text[cut - _CONTEXT_CHARS : cut])
        return written

    def _write(self, text: str, secrets: Sequence[Secret], cut: int) -> str:
        """Write text[:cut] without the context, which was written before."""
        start = len(self._context)
        inside = list(_moved(secrets, start, cut))
        if not inside:
            return text[start:cut]
        written = "".join(pieces(text[start:cut], inside, self._key))
        return redact(written, key=self._key, finder=self._finder)

    def _hold(self, text: str, *, context: str) -> None:
        self._held = [text]
        self._held_chars = len(text)
        self._context = context
        # Lines are held for a key's sake: looking again at each would cost the square of the key's length.
        self._next_try_chars = 2 * len(text) if "\n" in text else 0

    def _skip(self, piece: str) -> str:
        """Drop what still belongs to a credential that was too long to be held."""
        if self._after_skipped is None:
            return piece
        after = self._after_skipped.search(piece)
        if after is None:
            return ""
        self._after_skipped = None
        return piece[after.start() :]


def _moved(secrets: Sequence[Secret], start: int, stop: int) -> Iterator[Secret]:
    """Yield the secrets of text[start:stop], counted from there."""
    for secret in secrets:
        if start < secret.stop <= stop:
            yield Secret(secret.kind, max(secret.start, start) - start, secret.stop - start)


def _line_cut(text: str, secrets: Sequence[Secret]) -> int:
    """Return the end of the last line before which no private key can be under way."""
    cut = _line_start(text, len(text))
    data = hide_placeholders(ascii_form(text[:cut]))
    key = _open_key(text, data, secrets)
    cut = _line_start(text, blocks.key_lines_before(data, cut) if key is None else key)
    for secret in reversed(secrets):
        if secret.start < cut < secret.stop:
            cut = _line_start(text, secret.start)
    return cut


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _open_key(text: str, data: bytes, secrets: Sequence[Secret]) -> int | None:
    """Return where the first key begins of which more may come."""
    recent = blocks.first_lines(data, max(0, len(text) - blocks.MAX_HEADER_CHARS))
    starts = [line for line in recent if not _is_in_key(line, secrets)]
    last = next((secret for secret in reversed(secrets) if secret.kind == blocks.KIND), None)
    if last and not _has_ended(text, last):
        starts.append(last.start)
    return min(starts, default=None)


def _is_in_key(position: int, secrets: Sequence[Secret]) -> bool:
    before = next((secret for secret in reversed(secrets) if secret.start <= position), None)
    return before is not None and position < before.stop and before.kind == blocks.KIND


def _has_ended(text: str, key: Secret) -> bool:
    return text[key.stop - 1] == "-" or len(text) - key.stop >= _ENDED_CHARS
