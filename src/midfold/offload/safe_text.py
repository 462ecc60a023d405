"""The door that every text passes on its way to a sink, so that no credential is written anywhere."""

from collections.abc import Callable

from midfold.late_patterns import compile_late
from midfold.offload.outputs import split
from midfold.redact import redact as hide_credentials

_HALF_CHARACTERS = compile_late("[\ud800-\udfff]")


class SafeText(str):
    """A text that passed the door. Only `sanitize` makes one; a part of one is an ordinary text again.

    `chunks` is its UTF-8, cut as files are. To encode a text shows whether it has half characters, how large
    it is and what a file says; for a long one it is worth doing once.
    """

    __slots__ = ("chunks",)
    chunks: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """The size of the text in bytes."""
        return sum(map(len, self.chunks))


def sanitize(text: str, redact: Callable[[str], str] = hide_credentials) -> SafeText:
    """Replace credentials by placeholders, and by visible signs what no file or database can hold."""
    if isinstance(text, SafeText):
        return text
    clean = redact(text)
    try:
        return _encode(clean)
    except UnicodeEncodeError:
        return _encode(_HALF_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", clean))


def _encode(text: str) -> SafeText:
    chunks = tuple(piece.encode() for piece in split(text))
    if any(b"\0" in chunk for chunk in chunks):
        return _encode(text.replace("\0", "\N{SYMBOL FOR NULL}"))
    safe = SafeText(text)
    safe.chunks = chunks
    return safe
