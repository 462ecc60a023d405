"""URLs of stores: which file one names, and the store that is there."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote

from midfold.errors import ConfigError
from midfold.store.base import Store
from midfold.store.values import OWN, BeforeContinue


def open_store(
    url: str | Path,
    *,
    tenant: str = OWN,
    redact: bool = True,
    quota_bytes: int | None = None,
    synchronous: str = "FULL",
    clock: Callable[[], float] = time.time,
    before_continue: Sequence[BeforeContinue] = (),
) -> Store:
    """Open the store at `url`: `sqlite:///folder/sessions.db`, a path, or `sqlite::memory:`.

    With `synchronous="NORMAL"` the last commits may be lost with the power, never with the process. Raises
    `ConfigError` for a URL that names no store, and `StoreError`s for one that cannot be opened.
    """
    from midfold.store.sqlite.database import Database  # loads SQLite
    from midfold.store.sqlite.store import SqliteStore

    if synchronous not in ("FULL", "NORMAL"):
        raise ConfigError("store.synchronous", synchronous, hint="FULL or NORMAL")
    return SqliteStore(
        Database(read_path(url), synchronous=synchronous),
        tenant=tenant,
        redact=redact,
        quota_bytes=quota_bytes,
        clock=clock,
        before_continue=before_continue,
    )


def read_path(url: str | Path) -> Path:
    """Return the file that a URL names; raises `ConfigError` where it names none."""
    if isinstance(url, Path):
        return url
    scheme, colon, rest = url.partition(":")
    if not colon or len(scheme) == 1:  # a plain path, or one with a drive letter
        return _checked(url, url)
    if scheme != "sqlite":
        raise ConfigError("store.url", f"{scheme}:...", hint="a URL such as sqlite:///folder/sessions.db")
    path = unquote(rest.removeprefix("//"))
    # Some write a fourth slash before an absolute path.
    return _checked(url, f"/{path.lstrip('/')}" if path.startswith("/") else path)


def _checked(url: str, path: str) -> Path:
    if not path or path == "/" or "\0" in path:
        raise ConfigError("store.url", url, hint="a URL such as sqlite:///folder/sessions.db")
    return Path(path).expanduser()
