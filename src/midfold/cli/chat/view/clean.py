"""Words of a model or a tool, made safe for a terminal: nothing in them may move, colour or rename it."""

import re

# Escape sequences by their grammar, so that nothing of them is left behind as text. None spans a line.
_CSI = r"\[[0-?]*[ -/]*[@-~]"
_STRING = r"[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
_SHORT = r"[ -/]*[0-OQ-WYZ`-~]"
_SEQUENCE = re.compile(rf"\x1b(?:{_CSI}|{_STRING}|{_SHORT})|\x9b[0-?]*[ -/]*[@-~]")
# What may still become a sequence when more comes.
_UNFINISHED = re.compile(r"\x1b(?:[\[][0-?]*[ -/]*|[\]PX^_][^\x07\x9c\n]*|[ -/]*)?$|\x9b[0-?]*[ -/]*$|\r$")
# Other controls than tab and newline, marks that turn the direction of text, tags and halves of characters.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
# A sequence that is longer than any real one is held back no further.
_MOST_HELD_CHARS = 512


def clean(text: str) -> str:
    """Return text of any length and number of lines without anything that could steer a terminal."""
    return _UNPRINTABLE.sub("", _SEQUENCE.sub("", text.replace("\r\n", "\n")))


class Cleaner:
    """Cleans text that comes in pieces: a sequence that one of them cuts is held back for the next."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown so far."""
        text = self._held + piece
        found = _UNFINISHED.search(text, max(0, len(text) - _MOST_HELD_CHARS))
        cut = found.start() if found else len(text)
        self._held = text[cut:]
        return clean(text[:cut])

    def finish(self) -> str:
        """Return what is left; nothing follows it."""
        rest, self._held = self._held, ""
        return clean(rest)
