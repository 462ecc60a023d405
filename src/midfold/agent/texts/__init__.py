"""What the model is told at the start of a session, as files beside this one."""

from functools import cache
from importlib.resources import files


@cache
def read(name: str) -> str:
    """Return a text, on first use from its file, without the line break at its end."""
    return files(__package__).joinpath(name).read_text("utf-8").rstrip("\n")
