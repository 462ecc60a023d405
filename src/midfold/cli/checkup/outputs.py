"""Offloaded tool output: files that no session knows, and references whose files are gone.

Output is removed only if it names this store for its own, the store is there and sound, its session is not in
it any more, and no message mentions it.
"""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from midfold.cli.checkup.findings import Finding, Severity, fine
from midfold.cli.render.format import count_of, format_size
from midfold.errors import StoreError
from midfold.offload import REFERENCE, FileSink, name_folder
from midfold.offload.sinks import SUFFIX, OffloadedFile, SessionFolder, is_temporary, walk
from midfold.store import StoreFacts, find_in_bodies, read_facts

_AREA = "outputs"
_MARK = "persisted-output reference="
_IN_BODY = re.compile(rf"{_MARK}\\?\"({REFERENCE})")
# However a message writes a reference, this is in it.
_ENDING = re.compile(r"-([0-9a-f]{32})")
# Output may be kept before its session is written; after a day that has happened, or never will.
_UNKNOWN_SECONDS = 86_400.0
# Nothing is being written for so long: its writer is gone.
_LEFT_SECONDS = 3_600.0


def check_outputs(root: Path, store: Path, *, is_sound: bool) -> Iterator[Finding]:
    """Compare the files of the sink with the sessions of the store, unless that is damaged."""
    files = list(walk(root))
    size = format_size(sum(file.size for file in files))
    yield fine(_AREA, f"{count_of(len(files), 'file')}, {size}")
    yield from _check_left_over(root, files)
    if not is_sound or not store.exists():
        return
    try:
        facts = read_facts(store, time.time())
        mentioned = find_in_bodies(store, _MARK, _IN_BODY)
        forgotten = _find_forgotten(root, files, facts)
        # Reading every message takes long, and is seldom called for.
        endings = find_in_bodies(store, "-", _ENDING) if forgotten else set()
    except StoreError:
        return  # the store has findings of its own
    yield from _check_forgotten(root, [file for file in forgotten if _ending_of(file) not in endings])
    gone = mentioned - {file.name.removesuffix(SUFFIX) for file in files}
    if gone:
        yield Finding(
            _AREA, Severity.WARN, f"messages mention {count_of(len(gone), 'output')} no longer kept"
        )


def _check_left_over(root: Path, files: Sequence[OffloadedFile]) -> Iterator[Finding]:
    left = [file for file in files if is_temporary(file.name) and _is_older(file, _LEFT_SECONDS)]
    if left:
        yield Finding(
            _AREA,
            Severity.WARN,
            f"{count_of(len(left), 'file')} that a process left half written when it was killed",
            "midfold doctor --fix removes them",
            lambda: f"removed {_remove(root, left)}, half written",
        )


def _find_forgotten(root: Path, files: Sequence[OffloadedFile], facts: StoreFacts) -> list[OffloadedFile]:
    known = {
        SessionFolder(name_folder("tenant", tenant), name_folder("session", session))
        for tenant, session in facts.sessions
    }
    sink = FileSink(root)
    return [
        file
        for file in files
        if file.folder not in known
        and _is_older(file, _UNKNOWN_SECONDS)
        and sink.store_of(file) == facts.store_id
    ]


def _check_forgotten(root: Path, files: Sequence[OffloadedFile]) -> Iterator[Finding]:
    if files:
        size = format_size(sum(file.size for file in files))
        sessions = count_of(len({file.folder for file in files}), "session")
        yield Finding(
            _AREA,
            Severity.WARN,
            f"{size} of {sessions} no longer in the store",
            "midfold doctor --fix removes it",
            lambda: f"removed {_remove(root, files)} of sessions that are no longer in the store",
        )


def _is_older(file: OffloadedFile, seconds: float) -> bool:
    return time.time() - file.modified_seconds > seconds


def _ending_of(file: OffloadedFile) -> str:
    return file.name.removesuffix(SUFFIX).rpartition("-")[2]


def _remove(root: Path, files: Sequence[OffloadedFile]) -> str:
    sink = FileSink(root)
    gone = [file for file in files if sink.remove(file)]
    for folder in {file.folder for file in gone}:
        sink.remove_folder(folder)
    return count_of(len(gone), "file")
