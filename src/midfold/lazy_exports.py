"""Names of a package that are loaded when they are first asked for.

A package's door declares all of its names, and most programs walk through for a few of them.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for `package`; `homes` are its modules, each with the names in it."""
    home_of = {home: home for home in homes}
    home_of |= {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{home}")
        value = module if name == home else getattr(module, name)
        setattr(modules[package], name, value)  # looked up once
        return value

    return load
