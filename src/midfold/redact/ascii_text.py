"""Text as it is looked at: ASCII, of the same length, so that positions in both are the same.

Both engines see the same single-byte characters. Words for a password or a key in other scripts become signs
that a pattern can ask for; quotes, blanks and stops of other scripts become those of ASCII. Every other
character is a question mark.

Invisible characters may stand inside of names and values. `unwrap` takes them away, and `Places` knows where
every other character was.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LOGIN_WORD = "\x02\x02"
"""The pattern of a word for a password."""
KEY_WORD = "\x03\x03"
"""The pattern of a word for a key or a token."""
_INVISIBLE_SIGN = "\x05"
_INVISIBLE_BYTE = _INVISIBLE_SIGN.encode()
_INVISIBLE_RUN = re.compile(_INVISIBLE_BYTE + b"+")

PASSWORDS = (
    *("密码", "密碼", "口令", "暗証番号", "パスワード", "비밀번호", "패스워드", "암호"),
    *("пароль", "Пароль", "ПАРОЛЬ", "كلمة المرور", "كلمة السر", "סיסמה", "รหัสผ่าน", "κωδικός", "पासवर्ड"),
)
SECRETS = ("密钥", "密鑰", "令牌", "トークン", "토큰", "токен", "Токен")


# A colon of full width, escaped, is read as one.
_ESCAPED_COLONS = (("\\uff1a", "     :"), ("\\uFF1A", "     :"))


def _escaped(word: str) -> tuple[str, str]:
    """Write a word as JSON does in ASCII, in small and in capital digits."""
    small = "".join(f"\\u{ord(char):04x}" for char in word)
    return small, "".join(f"\\u{ord(char):04X}" for char in word)


def _sign(word: str, sign: str) -> str:
    return "?" * (len(word) - len(sign)) + sign


_WORDS = tuple((word, _sign(word, LOGIN_WORD)) for word in PASSWORDS) + tuple(
    (word, _sign(word, KEY_WORD)) for word in SECRETS
)
_ESCAPED_WORDS = dict(_ESCAPED_COLONS) | {
    spelled: _sign(spelled, sign[-2:]) for word, sign in _WORDS for spelled in _escaped(word)
}
# Languages say "is" by a word or a particle behind the name, or by a dash.
_IS = ("就是", "是", "为", "為", "は", "는", "은", "—", "–")
_SPOKEN_SIGNS = tuple(
    (f"{sign[-1]}{word}", f"{sign[-1]}{':':?>{len(word)}}") for sign in (LOGIN_WORD, KEY_WORD) for word in _IS
)
_ESCAPED_IS = tuple(spelled for word in _IS for spelled in _escaped(word))
_ESCAPED_WORD = re.compile(
    f"({'|'.join(map(re.escape, _ESCAPED_WORDS))})({'|'.join(map(re.escape, _ESCAPED_IS))})?"
)
_SPACED_IS = tuple((f" {word} ", f" {':':<{len(word)}} ") for word in ("é", "è", "—", "–", "là", "это"))
_SAME = (
    ("：", ":"),
    ("\N{FULLWIDTH EQUALS SIGN}", "="),
    *((quote, '"') for quote in "“”„「」『』«»"),
    *((blank, " ") for blank in "\u00a0\u2009\u202f\u3000，。、\uff1b！？（）"),
)
REPLACED = (*_SAME, *_WORDS, *_SPOKEN_SIGNS, *_SPACED_IS, *_ESCAPED_WORDS.items())
"""What is written in another way, and how it is looked at."""
INVISIBLE = (
    *("\u00ad", "\u034f", "\u061c", "\u180e", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\ufeff"),
    *(chr(code) for code in (*range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x206A))),
)
# Enough of the letters that any suspicious name has one.
_WIDE_SIGNS = "".join(chr(ord(letter) + 0xFEE0) for letter in "pPtTkKsS")
_WIDE = {code: code - 0xFEE0 for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
_WIDE[0xFF3F] = ord("_")


def ascii_form(text: str) -> bytes:
    """Return `text` as it is looked at; looking for one character first is far quicker than replacing."""
    if not text.isascii():
        text = _replace_all(text, _SAME)
        text = _replace_all(text, ((char, _INVISIBLE_SIGN) for char in INVISIBLE))
        if any(sign in text for sign in _WIDE_SIGNS):
            text = text.translate(_WIDE)
        text = _replace_all(text, _WORDS)
        if LOGIN_WORD in text or KEY_WORD in text:
            text = _replace_all(text, _SPOKEN_SIGNS, at=1)
        text = _replace_all(text, _SPACED_IS, at=1)
    if "\\u" in text:
        text = _ESCAPED_WORD.sub(_sign_of_escaped, text)
    # A vertical tab is white space to one engine only.
    return text.encode("ascii", "replace").replace(b"\v", b" ")


def _sign_of_escaped(match: re.Match[str]) -> str:
    sign = _ESCAPED_WORDS[match[1]]
    return f"{sign}{':':?>{len(match[2])}}" if match[2] else sign


def _replace_all(text: str, pairs: Iterable[tuple[str, str]], *, at: int = 0) -> str:
    for word, same in pairs:
        if word[at] in text:
            text = text.replace(word, same)
    return text


def unwrap(data: bytes) -> bytes:
    """Return a text in ASCII without its invisible characters; `data` itself if it has none."""
    return data.translate(None, _INVISIBLE_BYTE) if _INVISIBLE_BYTE in data else data


@dataclass(frozen=True, slots=True)
class Places:
    """Where the stretches of a text were before it was unwrapped."""

    starts: Sequence[int]
    """where each stretch starts without invisible characters"""
    moved: Sequence[int]
    """how far behind that each stretch was"""

    def first(self, position: int) -> int:
        """Return where the character at `position` was."""
        return position + self.moved[bisect_right(self.starts, position) - 1]

    def stop(self, position: int) -> int:
        """Return the end of the character before `position`."""
        return self.first(position - 1) + 1


def find_places(data: bytes) -> Places:
    """Return where the characters of `unwrap(data)` are in `data`."""
    starts, moved = [0], [0]
    for run in _INVISIBLE_RUN.finditer(data):
        starts.append(run.start() - moved[-1])
        moved.append(run.end() - starts[-1])
    return Places(starts, moved)
