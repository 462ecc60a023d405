"""Where midfold keeps its things, and how a person sets it up."""

from midfold.config.home import (
    EDITS_FOLDER,
    OUTPUT_FOLDER,
    STORE_FILE,
    delete_session,
    find_home,
    oldest_to_keep,
    open_outputs,
    open_own_outputs,
    open_own_store,
    own_store_url,
    prune_sessions,
    read_old_pins,
    remove_old_pins,
)
from midfold.config.masking import Description, masked
from midfold.config.schema import (
    DEFAULT,
    SETTINGS,
    CacheTtl,
    GatewaySettings,
    ReportedUsage,
    Settings,
    SettingValue,
)
from midfold.config.sources import (
    FILE_NAMES,
    PREFIX,
    CheckedSettings,
    check_settings,
    load_settings,
    read_settings_file,
)
from midfold.settings import Setting

__all__ = [
    "DEFAULT",
    "EDITS_FOLDER",
    "FILE_NAMES",
    "OUTPUT_FOLDER",
    "PREFIX",
    "SETTINGS",
    "STORE_FILE",
    "CacheTtl",
    "CheckedSettings",
    "Description",
    "GatewaySettings",
    "ReportedUsage",
    "Setting",
    "SettingValue",
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
