"""Finds context engines by name: built-ins, entry points, a plug-in directory, or `module:Class`.

Nothing is loaded before it is asked for, and a plug-in that does not load names itself in the error.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from midfold.engines.base import ContextEngine
from midfold.engines.compressor import ContextCompressor
from midfold.errors import EngineNotFound
from midfold.files import refuse_store_file
from midfold.late_dataclasses import dataclass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "midfold.engines"
"""The entry point group in which packages offer engines."""
PLUGIN_FOLDER = Path("plugins") / "context_engine"
"""Where engines live under midfold's home: one folder a name, with an `__init__.py` that has the class."""

_BUILT_IN = ("compressor", "lcm")


@dataclass(frozen=True, slots=True)
class Offer:
    """An engine that can be chosen, and where it comes from."""

    name: str
    source: str


def list_engines(home: Path | None = None) -> list[Offer]:
    """List every engine by name without loading any."""
    offers = {name: Offer(name, "built in") for name in _BUILT_IN}
    for name, point in _entry_points().items():
        offers.setdefault(name, Offer(name, f"entry point {point.value}"))
    for name, path in _plugin_folders(home).items():
        offers.setdefault(name, Offer(name, str(path)))
    return [offers[name] for name in sorted(offers)]


def find_engine(name: str, home: Path | None = None) -> type[ContextEngine]:
    """Return the engine class called `name`, or raise `EngineNotFound` with the names there are."""
    if name in _BUILT_IN:
        return _load_built_in(name)
    try:
        found = _load(name, home)
    except Exception as error:
        raise _not_found(name, home, f"it does not load: {type(error).__name__}: {error}") from error
    if found is None:
        raise _not_found(name, home)
    if not (isinstance(found, type) and issubclass(found, ContextEngine)):
        raise _not_found(name, home, "it is not a ContextEngine class")
    return found


def _load_built_in(name: str) -> type[ContextEngine]:
    if name == "compressor":
        return ContextCompressor
    from midfold.engines.lossless import LosslessEngine  # most programs never use it

    return LosslessEngine


def _load(name: str, home: Path | None) -> object:
    if ":" in name:
        module, _, attribute = name.partition(":")
        return getattr(import_module(module), attribute, None)
    if name in _entry_points():
        loaded: object = _entry_points()[name].load()
        return loaded
    folder = _plugin_folders(home).get(name)
    return _load_folder(name, folder) if folder else None


def _load_folder(name: str, folder: Path) -> object:
    """Import a plug-in's `__init__.py` and return the engine class it defines."""
    module_name = f"midfold_plugin_{name.replace('-', '_')}"
    refuse_store_file(folder / "__init__.py")
    spec = spec_from_file_location(module_name, folder / "__init__.py")
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    classes = (value for value in vars(module).values() if isinstance(value, type))
    return next((c for c in classes if issubclass(c, ContextEngine) and c.__module__ == module_name), None)


def _entry_points() -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # it loads a dozen modules, and most engines are built in

    return {point.name: point for point in entry_points(group=GROUP)}


def _plugin_folders(home: Path | None) -> dict[str, Path]:
    folder = home / PLUGIN_FOLDER if home else None
    if folder is None or not folder.is_dir():
        return {}
    return {path.name: path for path in sorted(folder.iterdir()) if (path / "__init__.py").is_file()}


def _not_found(name: str, home: Path | None, reason: str = "") -> EngineNotFound:
    return EngineNotFound(name, [offer.name for offer in list_engines(home)], reason)
