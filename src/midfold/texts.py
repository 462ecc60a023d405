"""Files that ship with the code, such as prompts and word lists: read on first use, texts are then kept.

The loader of a package reads them. `importlib.resources` does, too, but loads archives and temporary files.
"""

from functools import cache
from pkgutil import get_data


@cache
def read_text(package: str, name: str) -> str:
    """Return the text file `name` of a package without the line break at its end."""
    return read_bytes(package, name).decode("utf-8").replace("\r\n", "\n").rstrip("\n")


def read_bytes(package: str, name: str) -> bytes:
    """Return the file `name` of a package as it is."""
    data = get_data(package, name)
    if data is None:
        raise FileNotFoundError(f"{package} has no file {name}")
    return data
