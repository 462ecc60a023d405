"""Writes text with placeholders where its credentials were."""

from collections.abc import Iterable, Iterator

from midfold.compression.redact.find import Finder, default_finder
from midfold.compression.redact.placeholders import placeholder
from midfold.compression.redact.results import Secret

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
        secrets = finder.find(text)
        if not secrets:
            break
        text = "".join(pieces(text, secrets, key))
    return text


def pieces(text: str, secrets: Iterable[Secret], key: bytes) -> Iterator[str]:
    """Yield the text between the secrets and a placeholder for each, in order."""
    position = 0
    for secret in secrets:
        yield text[position : secret.start]
        yield placeholder(secret.kind, text[secret.start : secret.stop], key)
        position = secret.stop
    yield text[position:]
