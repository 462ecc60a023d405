"""What wire items hold at one moment, so that code that changes them in place can be caught at it."""

from collections.abc import Iterable
from operator import is_


class Snapshot:
    """The values of every object and list inside of some items; the values themselves are shared."""

    def __init__(self, items: Iterable[object]) -> None:
        self._dicts: list[tuple[dict[object, object], dict[object, object]]] = []
        self._lists: list[tuple[list[object], list[object]]] = []
        waiting = list(items)
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                self._dicts.append((value, dict(value)))
                waiting += value.values()
            elif isinstance(value, list):
                self._lists.append((value, list(value)))
                waiting += value

    def restore(self) -> bool:
        """Put back what was changed since; return whether anything was."""
        changed_dicts = [(now, was) for now, was in self._dicts if not _is_same(now, was)]
        for now, was in changed_dicts:
            now.clear()
            now.update(was)
        changed_lists = [(now, was) for now, was in self._lists if not _hold_same(now, was)]
        for now_list, was_list in changed_lists:
            now_list[:] = was_list
        return bool(changed_dicts or changed_lists)


def _is_same(now: dict[object, object], was: dict[object, object]) -> bool:
    return list(now) == list(was) and all(map(is_, now.values(), was.values()))


def _hold_same(now: list[object], was: list[object]) -> bool:
    return len(now) == len(was) and all(map(is_, now, was))
