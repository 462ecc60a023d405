"""Where midfold keeps its things, and how a person sets it up."""

from midfold.config.home import find_home
from midfold.config.load import CheckedSettings, check_settings, load_settings
from midfold.config.schema import SETTINGS, Entry, Setting, Settings

__all__ = [
    "SETTINGS",
    "CheckedSettings",
    "Entry",
    "Setting",
    "Settings",
    "check_settings",
    "find_home",
    "load_settings",
]
