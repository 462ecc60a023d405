"""Finds credentials in addresses: `scheme://user:password@host`, and a token in the user's place."""

import re

from midfold.redact.results import Reading, Secret
from midfold.redact.values import is_random

_USER_ENDS = r"\s/?#@:\"'`<>\\(){}"
_ENDS = r"\s/\"'`<>\\"
_USER = rf"[^{_USER_ENDS}]{{0,128}}"
_PASSWORD = rf"[^{_ENDS}]{{1,256}}"
_TOKEN = rf"[^{_USER_ENDS}]{{16,256}}"

SCREEN = rf"://(?:{_USER}:{_PASSWORD}|{_TOKEN})@".encode()

_CREDENTIALS = re.compile(rf"://(?:{_USER}:(?P<password>{_PASSWORD})|(?P<token>{_TOKEN}))@".encode())
_STAND_IN = re.compile(rb"[$<{*\[]|\.\.\.|^%s|^(?:pass|password|passwd|pwd|secret|[x?]+)$", re.IGNORECASE)


def read_url(data: bytes, start: int) -> Reading:
    """Read the address whose `://` the screen found at `start`."""
    found = _CREDENTIALS.match(data, start)
    if found is None:
        return Reading((), start + 1)
    name = "password" if found["password"] else "token"
    first, stop = found.span(name)
    value = found[name]
    is_credential = not _STAND_IN.search(value) if name == "password" else is_random(value)
    return Reading((Secret(f"url-{name}", first, stop),) if is_credential else (), found.end())
