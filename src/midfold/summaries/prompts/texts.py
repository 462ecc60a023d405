"""Reads the texts beside this file, on first use, and fills in their blanks."""

import re
from functools import cache
from importlib.resources import files

_BLANK = re.compile(r"\{\{(\w+)\}\}")


@cache
def read(name: str) -> str:
    """Return the text file `name` without the line break at its end."""
    return files(__package__).joinpath(name).read_text("utf-8").rstrip("\n")


@cache
def read_paragraph(name: str) -> str:
    """Return a text file as one line, however it is wrapped."""
    return " ".join(read(name).split())


@cache
def read_lines(name: str) -> tuple[str, ...]:
    """Return a text file line by line."""
    return tuple(read(name).split("\n"))


def fill(name: str, **values: str) -> str:
    """Put `values` into the blanks of a text; what looks like a blank inside a value stays as it is."""
    return _BLANK.sub(lambda blank: values[blank[1]], read(name))
