"""The one place that asks whether a text holds a credential."""

from midfold.redact import find_secrets


def secret_kinds(text: str) -> list[str]:
    """Return the kind of each credential in a text, in order."""
    return [secret.kind for secret in find_secrets(text)]


def holds_secret(text: str) -> bool:
    """Whether a text must not survive as it is."""
    return bool(find_secrets(text))
