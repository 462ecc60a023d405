"""Names for offloaded output: nothing that a tool, a client or a model wrote can steer where a file goes."""

import re
from hashlib import sha256

from midfold.late_patterns import compile_late
from midfold.redact import find_secrets

REFERENCE = r"\b[a-z0-9_]{1,24}-[0-9a-f]{32}\b"
"""The form of a reference, to be searched for in text."""
_IS_REFERENCE = compile_late(r"[a-z0-9_]{1,24}-[0-9a-f]{32}", re.ASCII)
_PREFIX_CHARS = 24
_NO_PREFIX = "output"
_HASH_CHARS = 32
_UNSAFE = compile_late(r"[^a-z0-9]+")


def is_reference(text: str) -> bool:
    """Whether a text is a reference, not anything else, a path above all."""
    return _IS_REFERENCE.fullmatch(text) is not None


def name_owner(tenant: str, session: str) -> str:
    """Return the name of a session in file names and records."""
    return digest_of(tenant, session)


def name_folder(kind: str, name: str) -> str:
    """Return the name of the folder of a tenant or a session, which reveals nothing of theirs."""
    return f"{kind}-{digest_of(name)[:_HASH_CHARS]}"


def is_folder_of(kind: str, name: str) -> bool:
    """Whether this is the name of such a folder."""
    return re.fullmatch(rf"{kind}-[0-9a-f]{{{_HASH_CHARS}}}", name, re.ASCII) is not None


def name_output(owner: str, key: str, tool: str, digest: str) -> str:
    """Return the reference of a text with this digest: other sessions, calls and texts have others.

    What would pass for a credential, as `key-` and a hash does, would not survive where it is mentioned.
    """
    hashed = digest_of(owner, key, tool, digest)[:_HASH_CHARS]
    reference = f"{_prefix(tool) or _NO_PREFIX}-{hashed}"
    return f"{_NO_PREFIX}-{hashed}" if find_secrets(reference) else reference


def digest_of(*texts: str) -> str:
    """Return the SHA-256 of texts, each behind its length, so that no two lists can look like one."""
    hashed = sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        hashed.update(b"%d:" % len(data))
        hashed.update(data)
    return hashed.hexdigest()


def _prefix(name: str) -> str:
    """Return the harmless part of a name, for people who look at the files."""
    return _UNSAFE.sub("_", name[:200].lower())[:_PREFIX_CHARS].strip("_")
