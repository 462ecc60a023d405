"""Reads the texts that are put into trajectories, on first use. They are one line each, however wrapped."""

from functools import cache
from importlib.resources import files


@cache
def read_text(name: str) -> str:
    """Return the text file `name` of this package as one line."""
    return " ".join(files("midfold.trajectories").joinpath("texts", name).read_text("utf-8").split())
