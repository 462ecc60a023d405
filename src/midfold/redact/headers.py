"""Finds credentials by the form of a line or an address: HTTP headers, cookies, `curl -u`, `.netrc`, URLs."""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator

from midfold.late_patterns import compile_late
from midfold.redact.forms import Form, make_readers, make_screen, read_form
from midfold.redact.patterns import MAX_VALUE_CHARS, Detection, Secret, is_argument, is_password, is_random

_HEADER_NAME = compile_late(rb"(?i:x(?:-[a-z]+[0-9]{0,4}){1,5})")
_CALL = compile_late(rb"[A-Za-z_][\w.]*[(\[]")


def _is_header_value(value: bytes) -> bool:
    if _HEADER_NAME.fullmatch(value) or _CALL.match(value):  # the next in a list of names, or code
        return False
    return is_random(value, min_chars=8) or _is_pair_in_base64(value)


def _is_bearer_token(value: bytes) -> bool:
    return is_random(value, min_chars=16)


def _is_pair_in_base64(value: bytes) -> bool:
    """Whether this is `user:password` in base64."""
    try:
        decoded = b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except NotBase64:
        return False
    return b":" in decoded and decoded.isascii()


def _is_typed_password(value: bytes) -> bool:
    return is_password(value, is_quoted=False)


def _is_given_password(value: bytes) -> bool:
    return is_password(value, is_quoted=True)


# A word begins here, or an escaped line break ends.
_START = r"(?:\b|\\[nrt])"
_QUOTE = r"\\{0,3}[\"'`]?"
_SET = rf"{_QUOTE}[ \t]{{0,4}}(?:=>|[:=,])[ \t]{{0,4}}{_QUOTE}"
_RUN = r"[^\s\"'`\\,;<>]"
_BASE64 = r"[A-Za-z0-9+/]"
_FORMS = (
    Form(
        "authorization",
        rf"{_START}(?i:authorization{_SET}(?:[a-z][a-z0-9-]{{1,20}}[ \t]{{1,4}})?)",
        rf"(?:{_RUN}{{16}}|[A-Za-z]{{0,15}}[0-9+/=_.~-]{_RUN}{{7}})",
        _RUN + rf"{{8,{MAX_VALUE_CHARS}}}",
        _is_header_value,
    ),
    Form(
        "bearer-token",
        rf"{_START}(?:[Bb]earer|BEARER)(?:[ \t]{{1,4}}|%20)",
        r"[\w.~+/=-]{16}",
        r"[\w.~+/=-]{16,}",
        _is_bearer_token,
    ),
    Form(
        "basic-auth",
        rf"{_START}(?i:basic[ \t]{{1,4}}|_?auth{_SET})",
        _BASE64 + r"{8}",
        _BASE64 + rf"{{8,{MAX_VALUE_CHARS}}}={{0,2}}",
        _is_pair_in_base64,
    ),
    Form(
        "password",
        r"(?:(?m:^)|\\n|[ \t\"'`])(?:-u|--user|--proxy-user)[ =]{0,2}[\"'][^\s:\"'`]{1,80}:",
        r"[^\s\"'`]{2}",
        r"[^\"'`\r\n\f]{4,200}(?=[\"'])",
        is_argument,
    ),
    Form(
        "password",
        r"(?:(?m:^)|\\n|[ \t\"'`])(?:-u|--user|--proxy-user)[ =]{0,2}[\"'`]?[^\s:\"'`]{1,80}:",
        r"[^\s\"'`]{5}",
        r"[^\s\"'`]{5,256}",
        _is_given_password,
    ),
    Form(
        "password",
        r"(?:\b(?:login|user)[ \t]{1,8}[^\s]{1,80}[ \t]{1,8}|(?:(?m:^)|\\n)[ \t]{0,8})password[ \t]{1,8}",
        r"[^\s]{5}",
        r"[^\s]{5,256}",
        _is_typed_password,
    ),
)
_COOKIES = rf"{_START}(?i:cookie{_SET})"

SCREEN = rf"{make_screen(_FORMS)}|{_COOKIES}[\w.-]{{1,80}}=".encode()

_READERS = make_readers(_FORMS)
_COOKIE_LINE = compile_late(rf"{_COOKIES}(?P<value>[^\r\n\f\"'`\\]{{1,{MAX_VALUE_CHARS}}})".encode())
_COOKIE = compile_late(rb"[\w.-]{1,80}=(?P<value>[^;\s]{8,})")
MIN_COOKIE_CHARS = 12
"""Shorter cookies are preferences."""


def read_header(data: bytes, start: int) -> Detection:
    """Read what the screen found at `start`."""
    line = _COOKIE_LINE.match(data, start)
    if line:
        return Detection(tuple(_read_cookies(data, line.start("value"), line.end())), line.end())
    return read_form(_READERS, data, start)


def _read_cookies(data: bytes, start: int, stop: int) -> Iterator[Secret]:
    for cookie in _COOKIE.finditer(data, start, stop):
        if is_random(cookie["value"], min_chars=MIN_COOKIE_CHARS):
            yield Secret("cookie", *cookie.span("value"))


# `scheme://user:password@host`, and a token in the user's place.
_USER_ENDS = r"\s/?#@:\"'`<>\\(){}"
_ENDS = r"\s/\"'`<>\\"
_USER = rf"[^{_USER_ENDS}]{{0,128}}"
_PASSWORD = rf"[^{_ENDS}]{{1,256}}"
_TOKEN = rf"[^{_USER_ENDS}]{{16,256}}"

URL_SCREEN = rf"://(?:{_USER}:{_PASSWORD}|{_TOKEN})@".encode()

_CREDENTIALS = compile_late(rf"://(?:{_USER}:(?P<password>{_PASSWORD})|(?P<token>{_TOKEN}))@".encode())
_URL_STAND_IN = compile_late(
    rb"[$<{*\[]|\.\.\.|^%s|^(?:pass|password|passwd|pwd|secret|[x?]+)$", re.IGNORECASE
)


def read_url(data: bytes, start: int) -> Detection:
    """Read the address whose `://` the screen found at `start`."""
    found = _CREDENTIALS.match(data, start)
    if found is None:
        return Detection((), start + 1)
    name = "password" if found["password"] else "token"
    first, stop = found.span(name)
    value = found[name]
    is_credential = not _URL_STAND_IN.search(value) if name == "password" else is_random(value)
    return Detection((Secret(f"url-{name}", first, stop),) if is_credential else (), found.end())
