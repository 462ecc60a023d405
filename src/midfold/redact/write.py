"""Writes text with placeholders where its credentials were."""

from collections.abc import Iterable, Iterator

from midfold.redact.find import Finder, default_finder
from midfold.redact.placeholders import placeholder
from midfold.redact.results import Findings, Part, Secret

# What stands next to a placeholder may be read otherwise than next to a secret, so redacted text is looked at
# again. More than one more round takes text made for it, and that must not make us go round for ever.
_MAX_ROUNDS = 8


def redact(text: str, *, key: bytes = b"", finder: Finder | None = None) -> str:
    """Return `text` with a typed placeholder for each credential, or `text` itself if it has none.

    With a `key` of up to 64 bytes a placeholder carries four hex digits of a keyed digest: the same
    credential has the same placeholder wherever that key is used, and nobody without it can test a guess.
    Redacting the result again changes nothing.
    """
    finder = finder or default_finder()
    for _ in range(_MAX_ROUNDS):
        parts = finder.find_parts(text)
        if not parts:
            break
        text = "".join(_write(text, parts, key))
    return text


def _write(text: str, parts: Iterable[Part], key: bytes) -> Iterator[str]:
    """Yield the text with its parts written; one that comes again is written once."""
    written: dict[tuple[Findings, str], str] = {}
    position = 0
    for part in parts:
        yield text[position : part.start]
        shown = (part.findings, text[part.start : part.stop])
        if shown not in written:
            written[shown] = "".join(pieces(shown[1], part.findings.secrets, key))
        yield written[shown]
        position = part.stop
    yield text[position:]


def pieces(text: str, secrets: Iterable[Secret], key: bytes) -> Iterator[str]:
    """Yield the text between the secrets and a placeholder for each, in order."""
    position = 0
    for secret in secrets:
        yield text[position : secret.start]
        yield placeholder(secret.kind, text[secret.start : secret.stop], key)
        position = secret.stop
    yield text[position:]
