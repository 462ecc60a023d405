"""Reads SDK objects as the dicts they stand for.

Callers append a client's reply object to their list as it is; nothing here imports an SDK to understand it.
"""

from collections.abc import Mapping

_PLAIN = (dict, list, str)


def plain(value: object) -> object:
    """Return `value` as a dict or list where it stands for one; anything else comes back as it is."""
    if value is None or isinstance(value, _PLAIN):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        dumped: object = dump(exclude_unset=True)
        return dumped
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return list(value)
    return value
