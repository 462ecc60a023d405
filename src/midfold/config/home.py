"""The one folder in which midfold keeps what must outlive a process."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def find_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Return `MIDFOLD_HOME`, or a folder in the user's data directory. Nothing is created."""
    chosen = environment.get("MIDFOLD_HOME")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        data = environment.get("LOCALAPPDATA")
        return Path(data) / "midfold" if data else Path.home() / "AppData" / "Local" / "midfold"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "midfold"
    data = environment.get("XDG_DATA_HOME")
    return Path(data) / "midfold" if data else Path.home() / ".local" / "share" / "midfold"
