"""Configuration made fit to be shown: keys and passwords never reach a screen, a log or an error."""

import re
from collections.abc import Mapping, Sequence

from midfold.late_patterns import compile_late


class Description(str):
    """Words that stand in for a value, shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


HIDDEN = Description("set (hidden)")

_WORD = compile_late(r"[A-Z]*[a-z]+|[A-Z]+")
_CREDENTIAL = compile_late(
    r"(keys?|token|secrets?|passwords?|passwd|passphrase|credentials?|authorization|bearer|cookie)$"
)
# These say where a credential is kept, not what it is.
_PLACES = ("env", "file", "path")
_LOGIN_IN_URL = compile_late(r"(?<=://)\S*@")
_CREDENTIAL_IN_URL = compile_late(r"([?&][^=&\s]*(?:pass|secret|token|key)[^=&\s]*=)[^&\s]+", re.IGNORECASE)


def is_secret(names: Sequence[str]) -> bool:
    """Whether these names announce a credential. `tokens` does, `max_tokens` does not."""
    return any(_names_credential(name) for name in names)


def masked(names: Sequence[str], value: object) -> object:
    """Return `value` with everything hidden that its names, or a URL in it, mark as a credential."""
    if value is not None and is_secret(names):
        return HIDDEN
    if isinstance(value, str):
        return _CREDENTIAL_IN_URL.sub(r"\1***", _LOGIN_IN_URL.sub("***@", value))
    if isinstance(value, Mapping):
        return {name: masked((*names, str(name)), item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(names, item) for item in value]
    return value


def _names_credential(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    if words == ["tokens"]:
        return True
    return any(_CREDENTIAL.search(word) for word in words) and words[-1] not in _PLACES
