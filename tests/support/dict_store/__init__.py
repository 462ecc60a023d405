"""A store of dictionaries: small enough to read, and it keeps every promise of `check_store`.

It is an example for those who write a store, and a quick one for tests. Everything goes with the process.
"""

from support.dict_store.shelf import Shelf
from support.dict_store.store import DictStore

__all__ = ["DictStore", "Shelf"]
