"""The files of the dashboard, and the headers that keep what it shows from doing anything."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from midfold.late_dataclasses import dataclass, field

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script';"
    " trusted-types 'none'"
)
SAFE_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file as it is sent."""

    content_type: str
    data: bytes = field(repr=False)


@cache
def read_pages() -> Mapping[str, PageFile]:
    """Return all files by the path that they are served at; nothing else of the disk can be asked for."""
    found: dict[str, PageFile] = {}
    for entry in files("midfold.gateway").joinpath("static").iterdir():
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        if kind is not None:
            found[f"/static/{entry.name}"] = PageFile(kind, entry.read_bytes())
    if "/static/index.html" in found:
        found["/"] = found.pop("/static/index.html")
    return found
