"""Text as it is looked at: ASCII, of the same length, so that positions in both are the same.

Both engines see the same single-byte characters. Words for a password or a key in other scripts become signs
that a pattern can ask for; quotes, blanks and stops of other scripts become those of ASCII. Every other
character is a question mark.

Invisible characters may stand inside of names and values. `unwrap` takes them away, and `Places` knows where
every other character was.
"""

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain, groupby

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late

LOGIN_WORD = "\x02\x02"
"""The pattern of a word for a password."""
KEY_WORD = "\x03\x03"
"""The pattern of a word for a key or a token."""
_INVISIBLE_SIGN = "\x05"
_INVISIBLE_BYTE = _INVISIBLE_SIGN.encode()
_INVISIBLE_RUN = compile_late(_INVISIBLE_BYTE + b"+")

PASSWORDS = (
    *("密码", "密碼", "口令", "暗証番号", "パスワード", "비밀번호", "패스워드", "암호"),
    *(
        "пароль",
        "Пароль",
        "ПАРОЛЬ",
        "كلمة المرور",
        "كلمة السر",
        "סיסמה",
        "รหัสผ่าน",
        "κωδικός",
        "Κωδικός",
        "पासवर्ड",
    ),
)
SECRETS = (
    *("密钥", "密鑰", "令牌", "トークン", "アクセスキー", "シークレットキー", "토큰"),
    *("токен доступа", "Токен доступа", "токен", "Токен", "ключ доступа", "Ключ доступа"),
    # Of a key to an API, as much as tells it from other keys.
    *("Iキー", "I キー", "I키", "I 키", "I-ключ", "ключ API", "Ключ API"),
)


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
    spelled: _sign(spelled, sign[-2:])
    for word, sign in _WORDS
    for once in _escaped(word)
    for spelled in (once, once.replace("\\", "\\\\"))  # in a string of JSON within another
}
_ESCAPED_SIGNS = {spelled.encode("ascii"): sign.encode("ascii") for spelled, sign in _ESCAPED_WORDS.items()}
# Languages say "is" by a word or a particle behind the name, or by a dash.
_IS = ("就是", "是", "为", "為", "は", "는", "은", "—", "–")
_SPOKEN_SIGNS = tuple(
    (f"{sign[-1]}{word}", f"{sign[-1]}{':':?>{len(word)}}") for sign in (LOGIN_WORD, KEY_WORD) for word in _IS
)
_ESCAPED_IS = tuple(spelled for word in _IS for spelled in _escaped(word))


def _one_of(words: Iterable[str]) -> str:
    """Choose between escaped words by how they begin: a choice of few is quick."""
    groups = groupby(sorted(words), key=lambda word: word[: word.index("u") + 3])
    return "|".join(
        f"{re.escape(begins)}(?:{'|'.join(re.escape(word[len(begins) :]) for word in group)})"
        for begins, group in groups
    )


_ESCAPED_WORD = compile_late(f"({_one_of(_ESCAPED_WORDS)})({_one_of(_ESCAPED_IS)})?".encode("ascii"))
_SPACED_IS = tuple((f" {word} ", f" {':':<{len(word)}} ") for word in ("é", "è", "—", "–", "là", "это"))
# French leaves a blank inside of its quotes.
_AIRY_QUOTES = tuple(pair for blank in " \u00a0\u202f" for pair in ((f"«{blank}", ' "'), (f"{blank}»", '" ')))
_SAME = (
    ("：", ":"),
    ("\N{FULLWIDTH EQUALS SIGN}", "="),
    *((quote, '"') for quote in "“”„「」『』«»"),
    *((blank, " ") for blank in "\u00a0\u2009\u202f\u3000，。、\uff1b！？（）"),
)
REPLACED = (*_AIRY_QUOTES, *_SAME, *_WORDS, *_SPOKEN_SIGNS, *_SPACED_IS, *_ESCAPED_WORDS.items())
"""Characters that are written in another way, and their ASCII form."""
INVISIBLE = (
    *("\u00ad", "\u034f", "\u061c", "\u180e", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\ufeff"),
    *(chr(code) for code in (*range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x206A))),
)
# Enough of the letters that any suspicious name has one.
_WIDE_SIGNS = "".join(chr(ord(letter) + 0xFEE0) for letter in "pPtTkKsS")
_WIDE = {code: code - 0xFEE0 for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
_WIDE[0xFF3F] = ord("_")


def _distinct(chars: Iterable[str]) -> str:
    return "".join(dict.fromkeys(char for char in chars if not char.isascii()))


# Characters that matter have a byte of their own for a while, so that one quick pass over the text is enough
# to see which of them are there. Of a word for a password its first two letters of its script are looked for.
_PAIR_OF = {word: "".join(char for char in word if not char.isascii())[:2] for word, _ in _WORDS}
_PAIRS = tuple(dict.fromkeys(_PAIR_OF.values()))
_SPECIAL = _distinct(
    chain(
        *(word for word, _ in _SAME),
        *INVISIBLE,
        *_WIDE_SIGNS,
        *_PAIRS,
        *_IS,
        *(word for word, _ in _SPACED_IS),
    )
)
_ASCII_CHARS = 128
_ASCII = bytes(range(_ASCII_CHARS))
FREE_BYTES = 256 - _ASCII_CHARS - len(_SPECIAL)
"""How many more characters may matter."""
_NOTHING = "\ufffe"
_ENCODING = codecs.charmap_build("".join((*map(chr, range(_ASCII_CHARS)), _SPECIAL, _NOTHING * FREE_BYTES)))


def _encode(text: str) -> bytes:
    """Return a byte for each character; those that do not matter are question marks."""
    return codecs.charmap_encode(text, "replace", _ENCODING)[0]


def _bytes_table(pairs: Iterable[tuple[str, str]]) -> bytes:
    pairs = list(pairs)
    old, same = "".join(char for char, _ in pairs), "".join(char for _, char in pairs)
    return bytes.maketrans(_encode(old), same.encode("ascii"))


_SAME_TABLE = _bytes_table((*_SAME, *((char, _INVISIBLE_SIGN) for char in INVISIBLE)))
# A vertical tab is white space to one engine only.
_LAST_TABLE = _bytes_table((*((char, "?") for char in _SPECIAL), ("\v", " ")))
_WIDE_BYTES = tuple(_encode(sign) for sign in _WIDE_SIGNS)
_WORDS_BY_PAIR = {
    _encode(pair): tuple((word, sign) for word, sign in _WORDS if _PAIR_OF[word] == pair) for pair in _PAIRS
}


@dataclass(frozen=True, slots=True)
class _Replacement:
    """Text that is read in another form, and the character that gives it away."""

    word: bytes
    same: bytes
    mark: bytes


def _replacements(pairs: Iterable[tuple[str, str]]) -> tuple[_Replacement, ...]:
    return tuple(
        _Replacement(_encode(word), same.encode("ascii"), _encode(_distinct(word)[0])) for word, same in pairs
    )


_SPOKEN_BYTES = _replacements(_SPOKEN_SIGNS)
_SPACED_BYTES = _replacements(_SPACED_IS)
_AIRY_BYTES = _replacements(_AIRY_QUOTES)
_SIGN_BYTES = (LOGIN_WORD.encode("ascii"), KEY_WORD.encode("ascii"))
# One byte first and outside of any group: that is what is quickly looked for.
_SPOKEN = tuple(
    compile_late(rb"%b(?:%b)" % (sign[:1], b"|".join(re.escape(_encode(word)) for word in _IS)))
    for sign in _SIGN_BYTES
)
_BLANKS = tuple(pair for pair in _SAME if pair[1] == " ")


def ascii_form(text: str) -> bytes:
    """Return `text` as it is looked at."""
    data = text.encode("ascii").replace(b"\v", b" ") if text.isascii() else _read_other_scripts(text)
    return _ESCAPED_WORD.sub(_sign_of_escaped, data) if b"\\u" in data else data


def _read_other_scripts(text: str) -> bytes:
    data = _encode(text)
    special = data.translate(None, _ASCII)
    if any(sign in special for sign in _WIDE_BYTES):
        text = text.translate(_WIDE)
        data = _encode(text)
    signed = _sign_words(text, special)
    if signed is not text:
        data = _encode(signed)
    data = _replace_marked(data, special, _AIRY_BYTES).translate(_SAME_TABLE)
    if any(sign in data for sign in _SIGN_BYTES) and any(found.search(data) for found in _SPOKEN):
        data = _replace_marked(data, special, _SPOKEN_BYTES)
    return _replace_marked(data, special, _SPACED_BYTES).translate(_LAST_TABLE)


def _replace_marked(data: bytes, special: bytes, replacements: Iterable[_Replacement]) -> bytes:
    """Replace what may be there: each is a pass over the text, and one for its mark is far quicker."""
    for each in replacements:
        if each.mark in special:
            data = data.replace(each.word, each.same)
    return data


def _sign_words(text: str, special: bytes) -> str:
    """Return `text` with its words for passwords and keys replaced by signs, or `text` itself without any."""
    words = [word for pair, words in _WORDS_BY_PAIR.items() if pair in special for word in words]
    if any(" " in word for word, _ in words):
        text = _replace_all(text, _BLANKS)
    return _replace_all(text, words)


def _sign_of_escaped(match: re.Match[bytes]) -> bytes:
    sign = _ESCAPED_SIGNS[match[1]]
    return sign + b":".rjust(len(match[2]), b"?") if match[2] else sign


def _replace_all(text: str, pairs: Iterable[tuple[str, str]]) -> str:
    for word, same in pairs:
        text = text.replace(word, same)
    return text


def unwrap(text: str, data: bytes) -> bytes:
    """Return `text` in ASCII without its invisible characters; if it has none, `data`, which is all of it."""
    if _INVISIBLE_BYTE not in data:
        return data
    return ascii_form(_replace_all(text, ((char, "") for char in (*INVISIBLE, _INVISIBLE_SIGN))))


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
