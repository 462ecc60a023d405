"""Guards around engines of other authors: what they raise, change in place, and take as keywords."""

import inspect
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Mapping
from operator import is_

from midfold.redact import redact
from midfold.summaries.tool_calls import one_line

RAISED = (Exception, SystemExit, CancelledError)
"""An engine that exits, or is cancelled by a loop of its own, must not end the loop of its host."""

_HIDDEN = "***"
_ERROR_CHARS = 300


def describe_error(error: BaseException, *, hide: str = "") -> str:
    """Name an error of another author's code in one line; its words may quote credentials."""
    words = str(error).replace(hide, _HIDDEN) if hide else str(error)
    return one_line(redact(f"{type(error).__name__}: {words}"), _ERROR_CHARS)


def fit_keywords(function: Callable[..., object], keywords: Mapping[str, object]) -> dict[str, object]:
    """Return the keywords that a function takes: hosts of this family differ in what they pass."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return dict(keywords)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict(keywords)
    names = {parameter.name for parameter in parameters}
    return {name: value for name, value in keywords.items() if name in names}


class ItemSnapshot:
    """The content of wire items at one moment, so that code that changes them in place is caught at it.

    It has the values of every object and list inside of them; the values themselves are shared.
    """

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
