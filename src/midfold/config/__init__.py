"""Where midfold keeps its things, and how a person sets it up."""

from midfold.config.home import find_home
from midfold.config.load import (
    FILE_NAMES,
    PREFIX,
    CheckedSettings,
    check_settings,
    load_settings,
    read_settings_file,
)
from midfold.config.old_pins import read_old_pins, remove_old_pins
from midfold.config.schema import DEFAULT, SETTINGS, CacheTtl, Entry, Setting, Settings
from midfold.config.secrets import Described, masked
from midfold.config.stores import (
    OUTPUT_FOLDER,
    STORE_FILE,
    delete_session,
    oldest_to_keep,
    open_outputs,
    open_own_outputs,
    open_own_store,
    own_store_url,
    prune_sessions,
)

__all__ = [
    "DEFAULT",
    "FILE_NAMES",
    "OUTPUT_FOLDER",
    "PREFIX",
    "SETTINGS",
    "STORE_FILE",
    "CacheTtl",
    "CheckedSettings",
    "Described",
    "Entry",
    "Setting",
    "Settings",
    "check_settings",
    "delete_session",
    "find_home",
    "load_settings",
    "masked",
    "oldest_to_keep",
    "open_outputs",
    "open_own_outputs",
    "open_own_store",
    "own_store_url",
    "prune_sessions",
    "read_old_pins",
    "read_settings_file",
    "remove_old_pins",
]
