"""Finds credentials by the name they are given: in settings, code, JSON, YAML, options, queries, sentences.

The screen asks for a suspicious name, a sign of assignment and the beginning of a value; most of what a name
such as `token` is set to in code never gets further. What does is read here, and judged by `secrets`.
"""

import re
from itertools import groupby

from midfold.redact.patterns import (
    KEY_WORD,
    LOGIN_WORD,
    MAX_VALUE_CHARS,
    Detection,
    Secret,
    is_name,
    is_password,
    is_random,
)


def _one_of(words: str) -> str:
    """Choose between words by their first letter: a choice of few is quick where there is no automaton."""
    groups = groupby(sorted(words.split()), key=lambda word: word[0])
    choices = [f"{letter}(?:{'|'.join(word[1:] for word in group)})" for letter, group in groups]
    return f"(?:{'|'.join(choices)})"


_KEYS = (
    "access account admin api app application auth cipher client consumer crypto deploy encryption function "
    "hmac jwt license licence master preshared private root secret secret_?access server service session "
    "shared sharedaccess signing storage subscription webhook write"
)
_PASSWORDS = (
    rf"password passwd passphrase passcode passwort contrase.a senha pwd _pass -pass _pw {LOGIN_WORD}"
)
_SECRETS = rf"secret {KEY_WORD} token credentials? phpsessid jsessionid sessionid="
_SETTINGS = r"(?-i:[A-Z0-9]_(?:KEY|PAT|AUTH|SALT))"
_NAME = rf"(?:{_one_of(f'{_PASSWORDS} {_SECRETS}')}|{_one_of(_KEYS)}[ _-]?key|{_SETTINGS})"
_SUFFIX = (
    r"(?:[_-]?(?:[0-9]{1,3}|prod|production|dev|development|staging|test|live|old|new|value|primary|"
    r"secondary|b64|base64|base|hex|main|backup|default|data|plain))?"
)
_CLOSING = r"\*{0,2}\\{0,3}[\"'`]?\]?\*{0,2}[ \t]{0,8}"
_TYPE = r"[ \t]{0,2}[a-z:]{0,8}(?:str|string|bytes)\??[ \t]{0,2}(?:\| ?none ?)?"
_SIGN = rf"(?:=>|:{_TYPE}=|:=|={{1,3}}|:|%3d|\\u003[ad]|>|is\b|was\b)\*{{0,2}}[ \t]{{0,8}}"
_PAIR_SIGN = r"\\{0,3}[\"'],[ \t]{0,4}"
_OPTION = r"--(?:[a-z0-9]{1,20}-){0,3}"
_QUERY = (
    r"(?:[?&;]|u0026)(?:key|sig|signature|auth|jwt|sid|pass|hmac|appid|code|"
    r"x-(?:amz|goog)-(?:signature|credential))="
)
_LEAD = (
    rf"(?:{_QUERY}|{_OPTION}(?:{_NAME}|pass)[ \t]{{1,4}}|{_NAME}{_SUFFIX}(?:{_CLOSING}{_SIGN}|{_PAIR_SIGN}))"
)
_OPENING = r"[bruf@]{0,2}\\{0,3}[\"'`]"

# How a value begins. In quotes it may be a word that is closed again. Out of quotes, what has neither digit
# nor sign is a word, unless nothing but a value can stand there.
_QUOTED_SIGN = r"(?:[^a-z\"'`\s=:\\]|[=:][^\"'`\s]| [^\"'`\r\n\f]{4})"
_BARE_SIGN = r"[0-9!@#%^*+/~?-]"
_BEGINNING = (
    rf"(?:{_OPENING}(?:[a-z]{{5,64}}(?:[\"'`\\\r\n\f]|$)|[a-z]{{4,64}}{_QUOTED_SIGN}|"
    rf"[a-z]{{0,3}}{_QUOTED_SIGN}[^\"'`\r\n\f]{{1}})|"
    rf"[a-z]{{20}}|[a-z_.:,;&$]{{4,64}}{_BARE_SIGN}|[a-z_.:,;&$]{{0,3}}{_BARE_SIGN}[^\s\"'`]{{1}})"
)
_BARE_WORD = r"(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|_PWD|SECRET|TOKEN|_KEY)[A-Z0-9_]{0,12}=[A-Za-z]{5}"

SCREEN = rf"(?i:{_LEAD}{_BEGINNING})|{_BARE_WORD}".encode()

_LEAD_PATTERN = re.compile(rf"(?i)(?P<lead>{_LEAD})(?P<quote>{_OPENING})?".encode())
# Names that end like a credential's and are none.
_NOT_SECRET = re.compile(
    rb"(?:page|next|continuation|cursor|sync|bos|eos|pad|unk|sep|cls|mask|stop|special)[_-]?token|"
    rb"(?:public|publishable|primary|foreign|cache|sort|partition|unique)[_-]?key",
    re.IGNORECASE,
)
_NOT_SECRET_CHARS = 16
_IS_PASSWORD = re.compile(rf"(?i){_one_of(_PASSWORDS)}|pass\b".encode())
_PAIR = re.compile(_PAIR_SIGN.encode() + rb"$")
_ENVIRONMENT = re.compile(rb"[A-Z0-9_]+=")
# A comma, a semicolon or an ampersand ends a value only where another assignment follows.
_BARE = re.compile(
    rb"(?:[^\s\"'`\\,;&|<>(){}\[\]]|[,;&](?![\w.%%-]{0,60}[=:]|[\s,;&]|$)|\\[^nrt\"'`\s]){1,%d}+"
    % MAX_VALUE_CHARS
)
_QUOTED = {
    quote: re.compile(rb"(?:[^\\\r\n\f%b]|\\[^\r\n\f]){1,%d}+" % (quote, MAX_VALUE_CHARS))
    for quote in (b'"', b"'", b"`")
}
_IN_ESCAPED_QUOTES = re.compile(rb"[^\\\"'`\r\n\f]{1,%d}+" % MAX_VALUE_CHARS)
_TRAILING = b".,;:?)]}>"
_CALLS = (b"(", b"[", b"{")


def read_assignment(data: bytes, start: int) -> Detection:
    """Read the assignment that the screen found at `start`."""
    lead = _LEAD_PATTERN.match(data, start)
    if lead is None:
        return Detection((), start + 1)
    quote = lead["quote"] or b""
    value = _value_pattern(quote).match(data, lead.end())
    if value is None:
        return Detection((), lead.end())
    found = value[0] if quote else value[0].rstrip(_TRAILING)
    stop = value.start() + len(found)
    if not _is_credential(lead, found, data[stop : stop + 1]):
        return Detection((), value.end())
    if _NOT_SECRET.search(data, max(0, start - _NOT_SECRET_CHARS), lead.end()):
        return Detection((), value.end())
    return Detection((Secret(_kind(lead["lead"]), value.start(), stop),), stop)


def _value_pattern(quote: bytes) -> re.Pattern[bytes]:
    if not quote:
        return _BARE
    return _IN_ESCAPED_QUOTES if b"\\" in quote else _QUOTED[quote[-1:]]


def _is_credential(lead: re.Match[bytes], value: bytes, following: bytes) -> bool:
    is_quoted = bool(lead["quote"])
    if not is_quoted and following in _CALLS:
        return False
    if not _IS_PASSWORD.search(lead["lead"]):
        return is_random(value)
    if _PAIR.search(lead["lead"]):  # as likely a list of names
        return not is_name(value) and is_password(value, is_quoted=True)
    is_all_value = is_quoted or _ENVIRONMENT.fullmatch(lead["lead"]) is not None
    return is_password(value, is_quoted=is_all_value)


def _kind(lead: bytes) -> str:
    """Name the credential by what it was called."""
    if _IS_PASSWORD.search(lead):
        return "password"
    name = lead.lower()
    return next((word for word in ("token", "secret", "credential") if word.encode() in name), "api-key")
