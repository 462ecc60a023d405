"""The one folder in which midfold keeps what must outlive a process."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from midfold.errors import ConfigError


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
