"""The form in which text is looked at: ASCII, of the same length, a question mark for every other character.

Positions are the same in both, and both engines see the same single-byte characters. The words for a password
or a key in languages that are not written in Latin letters become signs that a pattern can ask for.
"""

LOGIN_WORD = "\x02\x02{1,5}"
"""The pattern of a word for a password."""
KEY_WORD = "\x03\x03{1,5}"
"""The pattern of a word for a key or a token."""
PASSWORDS = ("密码", "密碼", "口令", "パスワード", "비밀번호", "пароль", "Пароль")
SECRETS = ("密钥", "密鑰", "令牌", "トークン", "토큰", "токен", "Токен")
_SAME = (
    ("：", ":"),
    ("\N{FULLWIDTH EQUALS SIGN}", "="),
    *((word, "\x02" * len(word)) for word in PASSWORDS),
    *((word, "\x03" * len(word)) for word in SECRETS),
)


def ascii_form(text: str) -> bytes:
    """Return the ASCII form of `text`."""
    if not text.isascii():
        for word, same in _SAME:
            if word[0] in text:  # looking for one character is far quicker than for two
                text = text.replace(word, same)
    # A vertical tab is white space to one engine only.
    return text.encode("ascii", "replace").replace(b"\v", b" ")
