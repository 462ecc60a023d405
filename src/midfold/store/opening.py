"""Opens a store by its URL, and looks after its file where it cannot be opened.

Nobody else outside of `store.sqlite` knows SQLite. It is loaded by whoever first needs it.
"""

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote

from midfold.errors import ConfigError
from midfold.store.base import OWN, BeforeContinue, EngineVersion, Replaced, Store, StoreFacts


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
    from midfold.store.sqlite.database import Database
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


def parts_of(path: Path) -> list[Path]:
    """Return the file of a store and those that belong to it, as far as they exist."""
    from midfold.store.sqlite import rescue

    return rescue.parts_of(path)


def find_kept(path: Path) -> list[Path]:
    """Return the damaged files that were put aside for the store at `path`."""
    from midfold.store.sqlite import rescue

    return rescue.find_kept(path)


def read_facts(path: Path, now: float) -> StoreFacts:
    """Read what is in a store file; raises `StoreError`s for one that cannot be read."""
    from midfold.store.sqlite import rescue

    return rescue.read_facts(path, now)


def find_in_bodies(path: Path, words: str, pattern: re.Pattern[str]) -> set[str]:
    """Return what `pattern` finds in the stored messages that hold `words`."""
    from midfold.store.sqlite import rescue

    return rescue.find_in_bodies(path, words, pattern)


def replace_damaged(path: Path) -> Replaced:
    """Save what can be read of a damaged store into a new one that takes its place; nobody may use it.

    The damaged file is kept beside it.
    """
    from midfold.store.sqlite import rescue

    return rescue.replace_damaged(path)


def finish_replacing(path: Path) -> None:
    """Put a rescued store in its place where that was cut off."""
    from midfold.store.sqlite import replacing

    replacing.finish_replacing(path)


def engine_version() -> EngineVersion:
    """Return the version of SQLite that stores run on here."""
    from midfold.store.sqlite.driver import SAFE_VERSION, sqlite_version

    found = sqlite_version()
    return EngineVersion(
        ".".join(map(str, found)), ".".join(map(str, SAFE_VERSION)), is_safe=found >= SAFE_VERSION
    )
