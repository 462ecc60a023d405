"""Stub writers of plug-ins: one line for the results of tools that only their own package understands.

A package offers them as entry points of the group `midfold.stubs`, each under the name of its tool.
"""

import os
import sys
from collections.abc import Mapping
from functools import cache

from midfold.messages import ToolCall, ToolResult
from midfold.summaries.tool_calls import BUILT_IN, StubWriter

STUB_GROUP = "midfold.stubs"
"""The entry point group in which packages offer stub writers."""

_FACTS = (".dist-info", ".egg-info")


@cache
def load_stub_writers() -> Mapping[str, StubWriter]:
    """Return all stub writers, looked up once in a process; one that does not load is left out."""
    if not any(map(_offers_stubs, sys.path)):
        return BUILT_IN
    from importlib.metadata import entry_points  # it loads a dozen modules

    found = dict(BUILT_IN)
    for point in entry_points(group=STUB_GROUP):
        try:
            writer = point.load()
        except Exception:  # noqa: BLE001, S112 - anybody's code; the general stub serves its tool
            continue
        if callable(writer):
            found[point.name] = _guard(writer)
    return found


def _offers_stubs(folder: str) -> bool:
    """Whether a package in this folder names the group, by a look at the files that would say so."""
    try:
        facts = [entry for entry in os.scandir(folder or os.curdir) if entry.name.endswith(_FACTS)]
    except OSError:
        return False
    for entry in facts:
        try:
            with open(f"{entry.path}/entry_points.txt", "rb") as file:  # noqa: PTH123 - pathlib takes its time
                points = file.read()
        except OSError:
            continue
        if STUB_GROUP.encode() in points:
            return True
    return False


def _guard(writer: StubWriter) -> StubWriter:
    """Return the writer in a form that always writes: a fold must not fail over one line."""

    def write(call: ToolCall, result: ToolResult) -> str:
        try:
            return str(writer(call, result))
        except Exception:  # noqa: BLE001 - anybody's code
            return f"gave {len(result.text):,} chars"

    return write
