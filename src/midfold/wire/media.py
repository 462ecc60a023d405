"""Data URLs and bare base64: the two ways providers carry media, read as one."""

from midfold.messages import Media


def media_from_url(kind: str, url: str, *, detail: str = "") -> Media:
    """Read a URL; of a data URL, the type and the data alone."""
    if not url.startswith("data:"):
        return Media(kind, "", url, detail)
    header, _, data = url.partition(",")
    return Media(kind, header[5:].partition(";")[0], data, detail)


def is_reference(media: Media) -> bool:
    """Tell a URL or a provider's file id from data carried in the message."""
    return not media.mime or media.source.startswith(("http://", "https://"))


def url_of(media: Media) -> str:
    """Spell media as a URL, a data URL where the data is at hand."""
    return media.source if is_reference(media) else f"data:{media.mime};base64,{media.source}"


def stub(media: Media) -> str:
    """Say in words what stood here."""
    size = "" if is_reference(media) else f", {len(media.source) * 3 // 4:,} bytes"
    return f"[{media.kind} {media.mime or 'by reference'}{size}]"
