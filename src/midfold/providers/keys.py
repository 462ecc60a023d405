"""Keys of providers: where they come from, and that they are shown nowhere.

They come from the environment, from a file or from the caller's own code; never from a command line, which
every user of a machine can read.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Never

from midfold.errors import ConfigError
from midfold.files import open_to_read
from midfold.late_patterns import compile_late

MASK = "***"

# Visible ASCII: anything else cannot stand in a header, or would start another one.
_USABLE = compile_late(r"[!-~]+")
_MAX_KEY_CHARS = 16_384


class ApiKey:
    """A key. Only `reveal()` returns its text: no repr, formatting or pickle does. `name` is for errors."""

    __slots__ = ("_text",)

    def __init__(self, text: str, *, name: str = "key") -> None:
        cleaned = text.strip()
        if not _USABLE.fullmatch(cleaned) or len(cleaned) > _MAX_KEY_CHARS:
            raise ConfigError(name, self, hint="visible characters without spaces, as the provider issued it")
        self._text = cleaned

    def reveal(self) -> str:
        """Return the key itself."""
        return self._text

    def mask(self, text: str) -> str:
        """Return `text` without the key in it."""
        return text.replace(self._text, MASK)

    def mask_bytes(self, data: bytes) -> bytes:
        """Return `data` without the key in it."""
        return data.replace(self._text.encode(), MASK.encode())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ApiKey) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"ApiKey({MASK})"

    def __reduce__(self) -> Never:
        raise TypeError("a key is not to be pickled")


class SecretHeaders(Mapping[str, str]):
    """Headers of which one may hold a key. They are read like any mapping; a repr has their names alone.

    They stand in the frames of every call that is under way, and reports of errors may show those.
    """

    __slots__ = ("_headers",)

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = dict(headers)

    def __getitem__(self, name: str) -> str:
        return self._headers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)

    def __repr__(self) -> str:
        return f"SecretHeaders({', '.join(self)})"


def read_key_file(path: Path | str) -> ApiKey:
    """Read a key from a file that holds nothing else; raises `ConfigError`."""
    try:
        with (
            open_to_read(Path(path).expanduser()) as handle,
            os.fdopen(handle, encoding="utf-8", closefd=False) as file,
        ):
            return ApiKey(file.read(_MAX_KEY_CHARS + 2), name=str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise ConfigError("key_file", str(path), hint=f"a readable file with a key ({reason})") from None


def key_from_environment(name: str, environ: Mapping[str, str]) -> ApiKey | None:
    """Return the key in the variable `name`, or `None` where it is unset or empty."""
    text = environ.get(name, "").strip()
    return ApiKey(text, name=name) if text else None
