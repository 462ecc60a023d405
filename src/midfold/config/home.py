"""The home folder, and what midfold keeps in it: the session store and the output of its tools.

A deleted conversation takes its offloaded output with it. The store and the sink do not know one another, so
it is seen to here, for every command alike.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from midfold.config.schema import Settings
from midfold.errors import ConfigError
from midfold.files import read_bytes

if TYPE_CHECKING:
    from midfold.offload import FileSink
    from midfold.store import Deleted, Store


def find_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return `MIDFOLD_HOME`, or a folder in the user's data directory. Nothing is created.

    Raises `ConfigError` when there is no such user or no home directory.
    """
    chosen = environment.get("MIDFOLD_HOME")
    try:
        return Path(chosen).expanduser() if chosen else _find_data_folder(environment)
    except RuntimeError as error:
        raise ConfigError("MIDFOLD_HOME", chosen, hint=f"a folder ({error})") from error


def _find_data_folder(environment: Mapping[str, str]) -> Path:
    if sys.platform == "win32":
        data = environment.get("LOCALAPPDATA")
        return Path(data) / "midfold" if data else Path.home() / "AppData" / "Local" / "midfold"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "midfold"
    data = environment.get("XDG_DATA_HOME")
    return Path(data) / "midfold" if data else Path.home() / ".local" / "share" / "midfold"


STORE_FILE = "sessions.db"
OUTPUT_FOLDER = "outputs"
EDITS_FOLDER = "edits"
"""Files as they were before an agent edited them, a folder for each conversation."""
_DAY_SECONDS = 86_400.0


def own_store_url(settings: Settings, environment: Mapping[str, str] = os.environ) -> str | Path:
    """Return where sessions are kept: `store.url`, else a file in the home folder."""
    return settings.store.url or find_home(environment) / STORE_FILE


def open_own_store(
    settings: Settings,
    *,
    tenant: str = "",
    synchronous: str = "FULL",
    clock: Callable[[], float] = time.time,
    environment: Mapping[str, str] = os.environ,
) -> "Store":
    """Open the store that the settings name; a file that is missing is made."""
    from midfold.store import open_store

    return open_store(
        own_store_url(settings, environment),
        tenant=tenant,
        redact=settings.store.redact,
        quota_bytes=settings.store.quota_bytes,
        synchronous=synchronous,
        clock=clock,
    )


def open_own_outputs(store: "Store", environment: Mapping[str, str] = os.environ) -> "FileSink":
    """Return the sink of offloaded tool output of the sessions of a store."""
    return open_outputs(find_home(environment), store)


def open_outputs(home: Path, store: "Store") -> "FileSink":
    """Return the sink in a home folder for the sessions of a store; nothing of it need exist.

    Every file says which store keeps its session, as one home may serve several. Output of a store in memory
    is nobody's, and goes when it is old.
    """
    from midfold.offload import FileSink

    return FileSink(home / OUTPUT_FOLDER, store=store.status.store_id)


def delete_session(
    store: "Store", outputs: "FileSink", session_id: str, *, branches: bool = False, tenant: str = ""
) -> "Deleted":
    """Delete a conversation and the offloaded output of its sessions."""
    deleted = store.delete(session_id, branches=branches)
    clear_outputs(outputs, deleted, tenant)
    return deleted


def prune_sessions(
    store: "Store",
    outputs: "FileSink",
    *,
    older_than: float | None,
    keep_bytes: int | None,
    dry_run: bool = False,
    tenant: str = "",
) -> "Deleted":
    """Delete old conversations, see `Store.prune`, and their offloaded output."""
    deleted = store.prune(older_than=older_than, keep_bytes=keep_bytes, dry_run=dry_run)
    if not dry_run:
        clear_outputs(outputs, deleted, tenant)
    return deleted


def oldest_to_keep(settings: Settings, now: float) -> float | None:
    """Return the time before which `store.keep_days` lets conversations go; `None` keeps them all."""
    days = settings.store.keep_days
    return None if days is None else now - days * _DAY_SECONDS


def clear_outputs(outputs: "FileSink", deleted: "Deleted", tenant: str) -> None:
    """Remove the offloaded output of deleted sessions, the versions of files that they edited, and pins that
    an earlier version kept in a file.

    Rows went first, so that what is left by a crash in between is output without a session, which
    `midfold doctor --fix` removes.
    """
    home = outputs.root.parent
    for session_id in deleted.session_ids:
        outputs.session(session_id, tenant=tenant).clear()
        remove_old_pins(home, session_id)
        if session_id.isalnum():
            shutil.rmtree(home / EDITS_FOLDER / session_id, ignore_errors=True)


PINS_FOLDER = "pins"


def read_old_pins(home: Path, conversation_id: str) -> tuple[str, ...]:
    """Return the pins of a conversation that are in a file; none where there is no file, or a broken one."""
    try:
        found = json.loads(read_bytes(_pins_file(home, conversation_id)))
    except (OSError, ValueError):
        return ()
    return tuple(pin for pin in found if isinstance(pin, str)) if isinstance(found, list) else ()


def remove_old_pins(home: Path, conversation_id: str) -> None:
    """Remove the file, and the folder with its last file."""
    with suppress(OSError):
        _pins_file(home, conversation_id).unlink()
        (home / PINS_FOLDER).rmdir()


def _pins_file(home: Path, conversation_id: str) -> Path:
    # An id may be anything that somebody imported.
    name = sha256(conversation_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return home / PINS_FOLDER / f"{name}.json"
