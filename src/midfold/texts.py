"""Texts that ship with the code, such as prompts and word lists: read on first use, then kept."""

from functools import cache
from importlib.resources import files


@cache
def read_text(package: str, name: str) -> str:
    """Return the text file `name` of a package without the line break at its end."""
    return files(package).joinpath(name).read_text("utf-8").rstrip("\n")
