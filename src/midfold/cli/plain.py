"""Text from outside made safe for a terminal, and our own marks for terminals that cannot show them."""

import codecs
import re
from io import TextIOWrapper

# Control characters, escape sequences with them, and the marks that turn the direction of text.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# As wide as what they stand for, so that columns stay columns.
_TWINS = {"█": "#", "░": ".", "■": "*", "·": "-", "…": "~", "→": ">", "–": "-"}
_HANDLER = "midfold.twins"


def printable(text: str, most: int = 60) -> str:
    """Return `text` as one line without anything that could steer a terminal, cut to `most` characters."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", cut)


def soften(stream: object) -> None:
    """Let an output stream print everything: what its encoding lacks becomes an ASCII twin or `?`.

    Redirected output on Windows and a C locale have such encodings. Streams that are none of Python's own
    stay as they are.
    """
    if isinstance(stream, TextIOWrapper):
        codecs.register_error(_HANDLER, _spell_lost)
        stream.reconfigure(errors=_HANDLER)


def _spell_lost(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_TWINS.get(character, "?") for character in lost), error.end
