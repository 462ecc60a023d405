"""Where midfold keeps its things, and how a person sets it up."""

from midfold.config.home import find_home

__all__ = ["find_home"]
