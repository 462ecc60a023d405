"""Tool output that was put aside: what no session knows, and what sessions know and is gone."""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from midfold.cli.checkup.findings import Finding, Level, fine
from midfold.cli.when import tell_size
from midfold.errors import StoreError
from midfold.offload import FileSink
from midfold.offload.names import REFERENCE, name_folder
from midfold.offload.sinks.records import SUFFIX
from midfold.offload.sinks.usage import KeptFile, Place, walk
from midfold.store.rescue import find_in_bodies, read_facts

_AREA = "outputs"
_MARK = "persisted-output reference="
_IN_BODY = re.compile(rf"{_MARK}\\?\"({REFERENCE})")
# A session that is kept in memory alone may be writing there; after a day it is not.
_UNKNOWN_SECONDS = 86_400.0


def check_outputs(root: Path, store: Path) -> Iterator[Finding]:
    """Compare the files of the sink with the sessions of the store."""
    files = list(walk(root))
    yield fine(_AREA, f"{len(files):,} files, {tell_size(sum(file.size for file in files))}")
    try:
        known = _known_places(store) if store.exists() else set()
        mentioned = find_in_bodies(store, _MARK, _IN_BODY) if store.exists() else set()
    except StoreError:
        return  # the store has findings of its own
    yield from _check_unknown(root, [file for file in files if file.place not in known])
    gone = mentioned - {file.name.removesuffix(SUFFIX) for file in files}
    if gone:
        text = f"{len(gone):,} outputs that messages mention are gone; they are kept for 30 days"
        yield Finding(_AREA, Level.WARN, text)


def _known_places(store: Path) -> set[Place]:
    return {
        Place(name_folder("tenant", tenant), name_folder("session", session))
        for tenant, session in read_facts(store, time.time()).sessions
    }


def _check_unknown(root: Path, files: Sequence[KeptFile]) -> Iterator[Finding]:
    now = time.time()
    newest = {file.place: file.modified_seconds for file in sorted(files, key=lambda f: f.modified_seconds)}
    places = {place for place, at in newest.items() if now - at > _UNKNOWN_SECONDS}
    if places:
        size = tell_size(sum(file.size for file in files if file.place in places))
        yield Finding(
            _AREA,
            Level.WARN,
            f"{size} of {len(places):,} sessions that are no longer there",
            "midfold doctor --fix removes it",
            lambda: _remove(root, places),
        )


def _remove(root: Path, places: set[Place]) -> str:
    sink = FileSink(root)
    for place in places:
        folder = root / place.tenant / place.session
        for path in folder.iterdir():
            path.unlink()
        sink.remove_folder(place)
    return f"removed the output of {len(places):,} sessions that are no longer there"
