"""Nothing that a model or a tool says steers the terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.cli.chat.view.text import Cleaner, clean

HOSTILE = {
    "colour": "\x1b[31mred\x1b[0m",
    "eight-bit colour": "\x9b31mred",
    "screen": "\x1b[2J\x1b[H",
    "cursor": "\x1b[10A\x1b[5G",
    "alternate screen": "\x1b[?1049h",
    "title": "\x1b]0;title\x07",
    "title, other end": "\x1b]2;title\x1b\\",
    "link": "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "device string": "\x1bPq#0;2;0;0;0\x1b\\",
    "device status": "\x1b[6n\x1b[c",
    "reset": "\x1bc",
    "character set": "\x1b(0",
    "private message": "\x1b^secret\x1b\\",
    "bell and backspace": "\x07\x08\x08\x08",
    "carriage return": "harmless\revil",
    "direction": "\u202eevil\u2066\u2069",
    "tags": "\U000e0041\U000e0042",
    "half a character": "\ud800",
    "line separators": "a\u2028b\u2029",
    "unfinished": "\x1b]0;never ended",
    "alone": "\x1b",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_nothing_steers_the_terminal(text):
    shown = clean(f"before {text} after\n")
    assert shown.startswith("before ")
    assert shown.endswith("fter\n")  # a lone escape takes what follows for its own
    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1mbold\x1b[0m", "bold"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\", "here"),
        ("a\tb\r\nc", "a\tb\nc"),
        ("中文 👩‍🚀 é", "中文 👩‍🚀 é"),
    ],
)
def test_what_is_meant_to_be_read_stays(text, shown):
    assert clean(text) == shown


@given(st.lists(st.sampled_from([*HOSTILE.values(), "words ", "\n", "é"])), st.integers(1, 9))
def test_pieces_are_cleaned_like_the_whole(parts, size):
    text = "".join(parts)
    cleaner = Cleaner()
    pieces = [cleaner.feed(text[start : start + size]) for start in range(0, len(text), size)]
    shown = "".join(pieces) + cleaner.finish()
    assert all(character.isprintable() or character in "\n\t" for character in shown)
    assert shown == clean(text)


def test_text_is_not_held_back_for_ever():
    cleaner = Cleaner()
    assert len(cleaner.feed("\x1b]0;" + "x" * 2_000)) > 1_000
