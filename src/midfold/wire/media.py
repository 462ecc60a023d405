"""The ways providers carry media, read as one: data, a URL, the id of a file, or the words of a text file.

`Media.source` holds any of the four. Data and words come with a type; a URL begins like one; the rest is the
id of a file that one provider keeps.
"""

import binascii
from base64 import b64decode, b64encode

from midfold.messages import Media

_UNKNOWN_TYPE = "application/octet-stream"
_TYPES_BY_BASE64_START = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi0": "application/pdf",
}


def media_from_url(kind: str, url: str, *, detail: str = "") -> Media:
    """Read a URL or a file id; of a data URL, the type and the data alone."""
    if not url.startswith("data:"):
        return Media(kind, "", url, detail)
    header, _, data = url.removeprefix("data:").partition(",")
    mime = header.partition(";")[0] or _UNKNOWN_TYPE
    if mime.startswith("text/") and header.endswith(";base64"):
        return _read_text_file(kind, mime, data)
    return Media(kind, mime, data, detail)


def media_from_data(kind: str, data: str) -> Media:
    """Read data that is bare base64, whose first bytes show the type, or a data URL."""
    if data.startswith(("data:", "http://", "https://")):
        return media_from_url(kind, data)
    types = (mime for start, mime in _TYPES_BY_BASE64_START.items() if data.startswith(start))
    return Media(kind, next(types, _UNKNOWN_TYPE), data)


def _read_text_file(kind: str, mime: str, data: str) -> Media:
    try:
        return Media(kind, mime, b64decode(data).decode("utf-8"))
    except (binascii.Error, UnicodeDecodeError):
        return Media(kind, _UNKNOWN_TYPE, data)


def is_url(media: Media) -> bool:
    return media.source.startswith(("http://", "https://"))


def is_file_id(media: Media) -> bool:
    """Whether this is a name that only the provider which keeps the file can read."""
    return not media.mime and not is_url(media)


def is_text(media: Media) -> bool:
    """Whether `source` is words, not base64."""
    return media.mime.startswith("text/") and not is_url(media)


def url_of(media: Media) -> str:
    """Write media as a URL, a data URL where the data is at hand."""
    if is_url(media):
        return media.source
    data = (
        b64encode(media.source.encode("utf-8", "replace")).decode("ascii") if is_text(media) else media.source
    )
    return f"data:{media.mime};base64,{data}"


def stub(media: Media) -> str:
    """Say in words what stood here."""
    if not media.mime or is_url(media):
        return f"[{media.kind} {media.mime or 'by reference'}]"
    size = len(media.source) if is_text(media) else len(media.source) * 3 // 4
    return f"[{media.kind} {media.mime}, {size:,} bytes]"
